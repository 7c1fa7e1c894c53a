/*
 * Folding: when many threads come and go, one that is over is added to the row of its group, and
 * its records are used again, so that the ledger does not grow with their number. Totals are the
 * same before and after. The group is the thread's name with each run of digits as one `#`, of
 * threads of one kind; each kernel thread has groups of its own, so that nothing is shared, and a
 * snapshot makes one row of them.
 *
 * The first THREADS_KEPT threads that end keep rows of their own, and so do all with fold=none, and
 * those for which there is no room in a group. Called on the kernel thread that ran the thread
 * last; nothing here allocates (but in the ledger), locks or blocks.
 */
#ifndef TREADLE_THREAD_FOLD_H
#define TREADLE_THREAD_FOLD_H

#include "native/call_tree.h"

#include <stdbool.h>
#include <stdint.h>

#define THREADS_KEPT    4096u
#define FOLD_GROUPS     64u
#define FOLD_WAITING    64u
#define FOLD_NAME_BYTES 256u /* of a group; longer names are cut */

struct fold_group {
    uint64_t hash; /* of name and kind */
    ledger_ref thread;
};

struct thread_folder {
    struct fold_group groups[FOLD_GROUPS];
    uint32_t group_count;
    /* Threads that are over and of which samples are still to be merged: folded later. More than
     * these keep rows of their own. */
    ledger_ref waiting[FOLD_WAITING];
    uint32_t waiting_count;
};

/* Adds the thread, which is over and which nobody runs, to its group, and frees its records. The
 * group's ref; none: the thread keeps its row. */
ledger_ref thread_fold__fold(struct thread_folder *folder, struct call_tree *tree,
                             ledger_ref thread);

/* In a copy: groups of the same name and kind become one. */
void thread_fold__join_groups(struct ledger *copy);

#endif
