/* From raw samples to sampled nodes: aligns the frames of a sample with the exact tree, by finding
 * the frame that is the current exact node's, and merges what lies above it into the tree. On the
 * profiler's own thread only. */
#ifndef TREADLE_SAMPLE_NODES_H
#define TREADLE_SAMPLE_NODES_H

#include "native/preload/program_samples.h"

void sample_nodes__add(struct program_samples *samples, const struct sample *sample);

#endif
