/*
 * An interval: what happened between two readings of one live ledger, by thread and for the
 * process. All of it is differences, none of it below 0.
 *
 * A thread is recognised by its identity, not by its record, since records are used again. If a
 * thread was folded into its group meanwhile, what it had at the earlier reading is subtracted from
 * the group's growth, so that the group's row has what was consumed within the interval and no
 * more. A kernel thread's row that turned out to be a Java thread's continues in that thread's row.
 *
 * The readings are copied while threads run. A thread that seems to have consumed more than the
 * interval is long was read while it was folded: its row is cut to the interval, and counted.
 */
#ifndef TREADLE_REPORT_INTERVAL_H
#define TREADLE_REPORT_INTERVAL_H

#include "tools/report/report_model.h"

/* Read from outside, a running thread's clock lags by up to a tick of the kernel: one reading may
 * lack what the next one has. */
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
    int64_t difference_ppm; /* cpu_ns less charged_ns, in millionths of cpu_ns; 0 if that is 0 */
    uint64_t calls;
    uint32_t running; /* threads at its end */
    uint64_t started;
    uint64_t ended;
    uint32_t cut;  /* rows that were cut to the interval */
    uint32_t rows; /* threads that run or ran in it */
    struct interval_row *row;
};

/* NULL unless both are readings of one ledger, the earlier one first. Both must outlive the
 * interval. */
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
