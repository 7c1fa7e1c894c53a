/*
 * How the time of a tree's exact nodes is divided: sampled frames below a node get the time that
 * samples saw, and a row "(not sampled)" gets the time that no sample saw.
 *
 * A sample stands for a known time (see struct ledger_node), so the time of a thread that no sample
 * stands for is known, too. That time is given to the nodes that have more time than their samples
 * stand for, in proportion, where the excess is more than chance explains: more than the 95 %
 * interval of 1.96 sqrt(n p (1 - p)) samples, and one sample for the beginning and the end. The
 * rest is divided in proportion to the samples. The sum stays what was measured, to the nanosecond.
 *
 * CPU time goes by CPU samples, wall time by wall samples. Where there are no wall samples, a
 * frame's wall time is its CPU time and the waiting stays with the exact node.
 */
#ifndef TREADLE_REPORT_SAMPLE_SHARES_H
#define TREADLE_REPORT_SAMPLE_SHARES_H

#include "tools/report/loader.h"

/* To be called when the exact node on top of the path is complete, and all sampled frames below it
 * stand behind its exact children. False: it has more samples than 64 bits can count, and its time
 * is not divided. */
bool sample_shares__note(struct loader *loader, uint32_t exact, uint32_t first_sampled);

/* To be called when the thread's tree is complete: divides the time of all noted nodes.
 * seen_wall_ns: the wall time that its wall samples stand for; 0: not known, and taken as all. */
void sample_shares__settle(struct loader *loader, uint32_t thread, uint64_t seen_wall_ns);

/* Divides an exact node's time anew, after the node got all of its time back and has other samples.
 * Its row of what no sample saw, if it has one, gets the time that its CPU samples do not stand
 * for. */
void sample_shares__settle_again(struct report_model *model, uint32_t exact, uint32_t first_sampled,
                                 uint32_t end);

#endif
