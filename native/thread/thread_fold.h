/*
 * Folding: when many threads come and go, one that is over is added to the row of its group, and
 * its records are used again, so that the ledger does not grow with their number. Totals are the
 * same before and after. The group is the thread's name with each run of digits as one `#`, of
 * threads of one kind; each kernel thread has groups of its own, so that nothing is shared, and a
 * snapshot makes one row of them.
 *
 * Threads that are over keep rows of their own while there are few of them and memory is not needed
 * elsewhere: THREADS_KEPT of them at most, and none any more once a KEPT_PART of max-mem is in use.
 * Once a GIVEN_UP_PART is, those that were kept are folded after all. With fold=none all keep their
 * rows. One of which samples are on their way still is folded when they are merged: whoever merges
 * them needs its nodes where they are. So is one for which there is no room in a group, or that is
 * over while the ledger is copied.
 *
 * Called on the kernel thread that ran the thread last, but for thread_fold__tidy; nothing here
 * allocates (but in the ledger), locks or blocks.
 */
#ifndef TREADLE_THREAD_FOLD_H
#define TREADLE_THREAD_FOLD_H

#include "native/tree/call_tree.h"

#include <stdbool.h>
#include <stdint.h>

#define THREADS_KEPT    4096u
#define KEPT_PART       8u
#define GIVEN_UP_PART   4u
#define FOLD_GROUPS     64u /* of a kernel thread; what has other names is in a group of its kind */
#define FOLD_NAME_BYTES 256u /* of a group; longer names are cut */

struct fold_group {
    uint64_t hash; /* of name and kind */
    ledger_ref thread;
};

struct thread_folder {
    struct fold_group groups[FOLD_GROUPS];
    uint32_t group_count;
    /* The thread that was over last and was not folded, or none. Its kernel thread may use its
     * record still; so others see it when the next thread is over there. */
    ledger_ref last;
    bool last_is_kept; /* it has a row of its own; else it waits */
};

/* Adds the thread, which is over and which nobody runs, to its group, and frees its records. The
 * group's ref; none: the thread keeps its row for now. */
ledger_ref thread_fold__fold(struct thread_folder *folder, struct call_tree *tree,
                             ledger_ref thread);

/* Folds threads that had to wait and need not any more, and where memory is short those that have
 * rows of their own. For whoever merges samples, and nobody else. */
void thread_fold__tidy(struct thread_folder *folder, struct call_tree *tree);

/* In a copy: groups of the same name and kind become one. */
void thread_fold__join_groups(struct ledger *copy);

#endif
