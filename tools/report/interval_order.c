#include "tools/report/interval_order.h"

#include "tools/report/memory.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#define METRIC_OF(row, id) ((row)->value[(unsigned)COLUMN_KERNEL + METRIC_##id])
#define NEEDS(id)          COLUMN_BIT((unsigned)COLUMN_KERNEL + METRIC_##id)

static uint64_t cpu_of(const struct interval_row *row)
{
    return row->value[COLUMN_CPU];
}

static uint64_t waiting_of(const struct interval_row *row)
{
    return row->waiting_ns;
}

static uint64_t calls_of(const struct interval_row *row)
{
    return row->value[COLUMN_CALLS];
}

static uint64_t delay_of(const struct interval_row *row)
{
    return METRIC_OF(row, RUN_QUEUE_DELAY);
}

static uint64_t mounts_of(const struct interval_row *row)
{
    return row->mounts;
}

static uint64_t pinned_of(const struct interval_row *row)
{
    return row->pinned;
}

static uint64_t parked_of(const struct interval_row *row)
{
    return row->parked_ns;
}

uint64_t interval_row__switches(const struct interval_row *row)
{
    return METRIC_OF(row, VOLUNTARY_SWITCHES) + METRIC_OF(row, INVOLUNTARY_SWITCHES);
}

uint64_t interval_row__faults(const struct interval_row *row)
{
    return METRIC_OF(row, MINOR_FAULTS) + METRIC_OF(row, MAJOR_FAULTS);
}

const struct interval_sort interval_sorts[] = {
    {"cpu", 0, cpu_of, false},
    {"waiting", 0, waiting_of, false},
    {"calls", 0, calls_of, false},
    {"switches", NEEDS(VOLUNTARY_SWITCHES), interval_row__switches, false},
    {"faults", NEEDS(MINOR_FAULTS), interval_row__faults, false},
    {"delay", NEEDS(RUN_QUEUE_DELAY), delay_of, false},
    {"mounts", 0, mounts_of, false},
    {"pinned", 0, pinned_of, false},
    {"parked", 0, parked_of, false},
    {"start", 0, NULL, true},
    {"name", 0, NULL, false},
};
const size_t interval_sort_count = sizeof(interval_sorts) / sizeof(interval_sorts[0]);

struct sorting {
    const struct interval *interval;
    const struct interval_sort *sort;
};

static int compare_threads(const struct sorting *sorting, const struct report_thread *x,
                           const struct report_thread *y)
{
    if (sorting->sort->by_start)
        return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
    return text__compare(x->name, y->name);
}

static int compare(const void *a, const void *b, void *context)
{
    const struct sorting *sorting = context;
    uint32_t first = *(const uint32_t *)a, second = *(const uint32_t *)b;
    const struct interval_row *x = &sorting->interval->row[first];
    const struct interval_row *y = &sorting->interval->row[second];
    int order;

    if (sorting->sort->value) {
        uint64_t of_x = sorting->sort->value(x), of_y = sorting->sort->value(y);

        order = of_x > of_y ? -1 : of_x < of_y;
    } else {
        order = compare_threads(sorting, interval__thread(sorting->interval, x),
                                interval__thread(sorting->interval, y));
    }
    return order ? order : (first > second) - (first < second);
}

/* A name without * or ? may be any part of one. */
static bool matches(const char *glob, const char *name)
{
    return strpbrk(glob, "*?[") ? fnmatch(glob, name, 0) == 0 : strstr(name, glob) != NULL;
}

uint32_t *interval_order__of(const struct interval *interval, const char *glob,
                             const struct interval_sort *sort, uint32_t *count)
{
    struct sorting sorting = {interval, sort};
    uint32_t *order = memory__zeroed(interval->rows, sizeof(*order));

    *count = 0;
    for (uint32_t i = 0; i < interval->rows; i++)
        if (!glob || matches(glob, interval__thread(interval, &interval->row[i])->name.bytes))
            order[(*count)++] = i;
    if (*count)
        qsort_r(order, *count, sizeof(*order), compare, &sorting);
    return order;
}
