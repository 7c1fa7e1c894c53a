/*
 * Folding of threads: when many threads come and go, an ended thread is added to the row of its
 * group, and its records are reused, so that the ledger does not grow with the number of threads.
 * Totals are the same before and after. A group is the threads of one kind whose names are equal
 * once each run of digits is replaced by one `#`. Each kernel thread has groups of its own, so that
 * nothing is shared; a snapshot merges equal groups into one row.
 *
 * Ended threads keep rows of their own while there are few of them and memory is plentiful: at most
 * THREADS_KEPT threads, and no further ones once a KEPT_PART of max-mem is in use. Once a
 * GIVEN_UP_PART is in use, the kept threads are folded, too. With fold=none all threads keep their
 * rows. Folding waits in three cases: samples of the thread are not merged yet, because merging
 * needs the thread's nodes where they are; there is no room in a group; the ledger is being copied.
 *
 * A kill in the middle of a folding leaves each number in one of the two rows, see
 * thread_transfer.h.
 *
 * Called on the kernel thread that ran the thread last, except thread_fold__tidy. Nothing here
 * locks or blocks, or allocates memory outside the ledger.
 */
#ifndef TREADLE_THREAD_FOLD_H
#define TREADLE_THREAD_FOLD_H

#include "native/tree/call_tree.h"

#include <stdbool.h>
#include <stdint.h>

#define THREADS_KEPT    4096u
#define KEPT_PART       8u
#define GIVEN_UP_PART   4u
#define FOLD_GROUPS     64u  /* of a kernel thread; further names go to a group of their kind */
#define FOLD_NAME_BYTES 256u /* of a group; longer names are cut */

struct fold_group {
    uint64_t hash; /* of name and kind */
    ledger_ref thread;
};

struct thread_folder {
    struct fold_group groups[FOLD_GROUPS];
    uint32_t group_count;
    /* The last ended thread that was not folded, or none. Its kernel thread may still use the
     * record, so other threads see the record only after the next thread has ended there. */
    ledger_ref last;
    bool last_is_kept; /* the thread keeps its row; else it waits to be folded */
};

/* Adds an ended thread, which no kernel thread runs, to its group, and frees its records. Returns
 * the group's ref; none: the thread keeps its row for now. */
ledger_ref thread_fold__fold(struct thread_folder *folder, struct call_tree *tree,
                             ledger_ref thread);

/* Folds threads that waited and no longer need to, and, where memory is short, threads that kept
 * rows of their own. Only for the thread that merges samples. */
void thread_fold__tidy(struct thread_folder *folder, struct call_tree *tree);

/* The name that this thread and its like have as a group; returns its length. Any thread. */
size_t thread_fold__group_name(const struct ledger *ledger, const struct ledger_thread *member,
                               char name[FOLD_NAME_BYTES]);

/* In a copy: merges groups of the same name and kind. */
void thread_fold__join_groups(struct ledger *copy);

#endif
