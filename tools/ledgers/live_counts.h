/* Calls that a running process only counts are in its own memory, and in its ledger from its next
 * look at them on: within half a second. */
#ifndef TREADLE_LIVE_COUNTS_H
#define TREADLE_LIVE_COUNTS_H

/* snapshot__copy of a ledger in which all calls are that were counted up to now, which is waited
 * for, and noted in the copy. A process that does not run in the next seconds leaves them out. */
int live_counts__copy(int source_fd, int target_fd);

#endif
