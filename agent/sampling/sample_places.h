/*
 * Places: where in its code the top frame of a sample stood. Of an interpreted frame that is a
 * bytecode of the method, of a compiled one an offset in a piece of machine code, of a native one
 * an offset in the function. A piece of machine code is copied to the ledger when a sample meets it
 * first. Keeps no state of its own; on the thread that merges samples only.
 */
#ifndef TREADLE_SAMPLE_PLACES_H
#define TREADLE_SAMPLE_PLACES_H

#include "agent/sampling/frame_names.h"
#include "native/sampling/sample_buffers.h"

/* Counts a sample, and the frames of that sample, at the place of the top frame; nothing if no
 * frame above the kernel's is known, or the ledger is full. */
void sample_places__count(const struct frame_names *names, const struct named_frames *frames,
                          const struct sample *sample);

#endif
