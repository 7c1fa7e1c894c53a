/*
 * How the time of a tree's exact nodes is divided: sampled frames below a node get the time that
 * samples saw, and a row "(not sampled)" gets the time that no sample saw.
 *
 * A sample stands for a known time (see struct ledger_node), so what a thread consumed less what
 * its samples stand for is known, too. It is given to those nodes that have more time than samples
 * would, in proportion, where that is more than chance explains: a part is within its 95 % interval
 * of 1.96 sqrt(n p (1 - p)) samples, and one sample more for the beginning and the end. The rest is
 * shared out in proportion to the samples. The sum stays what was measured, to the nanosecond.
 *
 * CPU time goes by CPU samples, wall time by wall samples. Where there are no wall samples, a
 * frame's wall time is its CPU time and the waiting stays with the exact node.
 */
#ifndef TREADLE_REPORT_SAMPLE_SHARES_H
#define TREADLE_REPORT_SAMPLE_SHARES_H

#include "tools/report/loader.h"

/* The exact node on top of the path is complete, all that was sampled below it stands behind its
 * exact children. False: it has more samples than 64 bits can count, and shares nothing. */
bool sample_shares__note(struct loader *loader, uint32_t exact, uint32_t first_sampled);

/* The thread's tree is complete: shares out what was noted. seen_wall_ns: what its wall samples
 * stand for; 0: not known, then all. */
void sample_shares__settle(struct loader *loader, uint32_t thread, uint64_t seen_wall_ns);

/* An exact node has all of its time again, and other samples: shares it out anew. Its row of what
 * no sample saw, if it has one, gets what it has more than its CPU samples stand for. */
void sample_shares__settle_again(struct report_model *model, uint32_t exact, uint32_t first_sampled,
                                 uint32_t end);

#endif
