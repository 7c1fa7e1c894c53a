#include "native/sampling/sample_time.h"

#include "native/hash_table.h"
#include "native/tree/sample_tree.h"

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#define TURNS_BEFORE_SWEEP 1024u

struct wall_turn {
    pid_t tid;
    uint64_t when_ns;
    UT_hash_handle hh;
};

void sample_time__start(struct sample_time *time, uint64_t now_ns)
{
    __atomic_store_n(&time->since_ns, now_ns, __ATOMIC_RELAXED);
}

/* Removes the turns of kernel threads that are gone, so that there are never many more than
 * threads. */
static void sweep(struct sample_time *time)
{
    struct wall_turn *turn, *next;

    /* NOLINTBEGIN(clang-analyzer-unix.Malloc): what is freed has been taken out of the table */
    HASH_ITER (hh, time->turns, turn, next)
        if (tgkill(getpid(), turn->tid, 0) != 0) {
            HASH_DEL(time->turns, turn);
            free(turn);
        }
    time->swept = HASH_COUNT(time->turns);
    /* NOLINTEND(clang-analyzer-unix.Malloc) */
}

/* NULL: no memory. */
static struct wall_turn *turn_of(struct sample_time *time, pid_t tid)
{
    struct wall_turn *turn;

    HASH_FIND_INT(time->turns, &tid, turn);
    if (turn)
        return turn;
    if (HASH_COUNT(time->turns) > TURNS_BEFORE_SWEEP + 2 * time->swept)
        sweep(time);
    turn = calloc(1, sizeof(*turn));
    if (!turn)
        return NULL;
    turn->tid = tid;
    HASH_ADD_INT(time->turns, tid, turn);
    if (turn->hh.tbl)
        return turn;
    free(turn);
    return NULL;
}

static uint64_t wall_ns(struct sample_time *time, const struct sample *sample,
                        const struct ledger_thread *thread)
{
    uint64_t since_ns = __atomic_load_n(&time->since_ns, __ATOMIC_RELAXED);
    struct wall_turn *turn = turn_of(time, sample->tid);

    if (!turn)
        return 0;
    if (thread->start_ns > since_ns)
        since_ns = thread->start_ns;
    if (turn->when_ns > since_ns)
        since_ns = turn->when_ns;
    if (sample->when_ns <= since_ns)
        return 0;
    turn->when_ns = sample->when_ns;
    return sample->when_ns - since_ns;
}

void sample_time__count(struct sample_time *time, const struct sample *sample,
                        struct ledger_thread *thread, struct ledger_node *top)
{
    if (sample->flags & SAMPLE_IS_WALL) {
        sample_tree__add(&top->wall_samples, 1);
        sample_tree__add(&thread->seen_wall_ns, wall_ns(time, sample, thread));
    } else {
        sample_tree__add(&top->cpu_samples, 1);
        sample_tree__add(&top->seen_ns, sample->seen_ns);
    }
}

void sample_time__release(struct sample_time *time)
{
    struct wall_turn *turn, *next;

    /* NOLINTBEGIN(clang-analyzer-unix.Malloc): what is freed has been taken out of the table */
    HASH_ITER (hh, time->turns, turn, next) {
        HASH_DEL(time->turns, turn);
        free(turn);
    }
    /* NOLINTEND(clang-analyzer-unix.Malloc) */
}
