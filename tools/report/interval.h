/*
 * An interval: what happened between two readings of one live ledger, by thread and for the
 * process. All of it is differences, none of it below 0.
 *
 * A thread is known again by what it is, not by where it stands: records are used again. One that
 * was folded into its group meanwhile is taken off the group's growth as it stood before, so that
 * the group's row has what was consumed within the interval and no more. A kernel thread's row that
 * turned out to be a Java thread's goes on in that thread's row.
 *
 * The readings are copied while threads run. What cannot be (a thread that consumed more than the
 * interval is long) is a thread caught while it was folded: it is cut to what can be, and counted.
 */
#ifndef TREADLE_REPORT_INTERVAL_H
#define TREADLE_REPORT_INTERVAL_H

#include "tools/report/report_model.h"

/* From outside, the clock of a thread that runs lags by up to a tick: one reading may lack what the
 * next has. */
#define INTERVAL_CLOCK_LAG_NS UINT64_C(10000000)

struct interval_row {
    uint32_t now;     /* index of the thread in the later reading */
    uint32_t before;  /* in the earlier one, or REPORT_NONE: it began since */
    bool ended;       /* since; of a group: always */
    uint64_t wall_ns; /* how long of the interval it was there; of a group: 0 */
    uint64_t waiting_ns;
    uint64_t mounts; /* of virtual threads, as are the next two */
    uint64_t pinned;
    uint64_t parked_ns;
    uint64_t value[COLUMN_COUNT]; /* as report_thread__value; wall is wall_ns */
};

struct interval {
    const struct report_model *before;
    const struct report_model *now;
    uint64_t wall_ns;     /* between the two */
    uint64_t profiled_ns; /* of it; 0: profiling is stopped */
    uint64_t cpu_ns;      /* of the process, as the kernel says */
    uint64_t user_ns;
    uint64_t system_ns;
    uint64_t charged_ns;    /* the sum of the rows */
    int64_t difference_ppm; /* of cpu_ns, which it falls short of by so much; 0 if that is 0 */
    uint64_t calls;
    uint32_t running; /* threads at its end */
    uint64_t started;
    uint64_t ended;
    uint32_t cut;  /* rows that were cut to what can be */
    uint32_t rows; /* threads that run or ran in it */
    struct interval_row *row;
};

/* NULL if the two are not of one ledger, the earlier one first. Both must outlive the interval. */
struct interval *interval__new(const struct report_model *before, const struct report_model *now);
void interval__free(struct interval *interval);

static inline const struct report_thread *interval__thread(const struct interval *interval,
                                                           const struct interval_row *row)
{
    return &interval->now->threads[row->now];
}

/* True if both are the same thread, in either reading. Groups are the same if name and kind are. */
bool report_thread__is_same(const struct report_thread *a, const struct report_thread *b);

/* A number a second, over the whole interval, rounded. */
uint64_t interval__per_second(const struct interval *interval, uint64_t count);

/* CPU as thousandths of one processor. Of one thread at most 1000. */
uint64_t interval_row__permille(const struct interval *interval, const struct interval_row *row);

#endif
