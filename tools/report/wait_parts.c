#include "tools/report/wait_parts.h"

#define KERNEL(id) ((enum report_column)((unsigned)COLUMN_KERNEL + METRIC_##id))
#define NOWHERE    COLUMN_COUNT

#define PART_COLUMNS 2u

/* Where a part comes from: the sum of columns of the threads. */
static const struct {
    const char *key;
    enum report_column columns[PART_COLUMNS];
} parts[WAIT_PARTS] = {
    [PART_CPU] = {"cpu_ns", {COLUMN_CPU, NOWHERE}},
    [PART_RUNNABLE] = {"runnable_ns", {KERNEL(RUN_QUEUE_DELAY), NOWHERE}},
    [PART_MONITOR] = {"monitor_ns", {KERNEL(MONITOR_WAIT), NOWHERE}},
    [PART_OBJECT_WAIT] = {"object_wait_ns", {KERNEL(OBJECT_WAIT), NOWHERE}},
    [PART_PARK] = {"park_ns", {KERNEL(PARK), NOWHERE}},
    [PART_SLEEP] = {"sleep_ns", {KERNEL(SLEEP), NOWHERE}},
    [PART_IO] = {"io_ns", {KERNEL(IO_WAIT), NOWHERE}},
    [PART_FAULT] = {"fault_ns", {KERNEL(SWAP_IN_DELAY), KERNEL(THRASHING_DELAY)}},
    [PART_SAFEPOINT] = {"safepoint_ns", {KERNEL(SAFEPOINT), NOWHERE}},
    [PART_UNMOUNTED] = {"unmounted_ns", {KERNEL(UNMOUNTED), NOWHERE}},
    [PART_UNKNOWN] = {"unknown_ns", {NOWHERE, NOWHERE}},
};

/* What is measured between two events comes before what is known as a sum only. */
static const enum wait_part in_order[] = {
    PART_CPU, PART_MONITOR,   PART_OBJECT_WAIT, PART_PARK,  PART_SLEEP,
    PART_IO,  PART_SAFEPOINT, PART_UNMOUNTED,   PART_FAULT, PART_RUNNABLE};

static uint64_t sum_of(const struct thread_row *row, enum wait_part part)
{
    uint64_t ns = 0;

    for (size_t i = 0; i < PART_COLUMNS && parts[part].columns[i] != NOWHERE; i++)
        ns += row->value[parts[part].columns[i]];
    return ns;
}

struct wait_parts wait_parts__of(const struct thread_row *row)
{
    struct wait_parts found = {{0}};
    uint64_t left_ns = row->value[COLUMN_WALL];

    for (size_t i = 0; i < sizeof(in_order) / sizeof(in_order[0]); i++) {
        uint64_t ns = sum_of(row, in_order[i]);

        found.ns[in_order[i]] = ns < left_ns ? ns : left_ns;
        left_ns -= found.ns[in_order[i]];
    }
    found.ns[PART_UNKNOWN] = left_ns;
    return found;
}

uint64_t wait_parts__columns(void)
{
    uint64_t columns = COLUMN_BIT(COLUMN_WALL);

    for (unsigned part = 0; part < WAIT_PARTS; part++)
        for (size_t i = 0; i < PART_COLUMNS && parts[part].columns[i] != NOWHERE; i++)
            columns |= COLUMN_BIT(parts[part].columns[i]);
    return columns;
}

const char *wait_part__key(enum wait_part part)
{
    return parts[part].key;
}

const char *wait_part__source(enum wait_part part)
{
    switch (part) {
    case PART_CPU:
    case PART_RUNNABLE:
    case PART_FAULT:
        return "kernel";
    case PART_SAFEPOINT:
    case PART_UNMOUNTED:
        return "inferred";
    case PART_UNKNOWN:
        return "rest";
    default:
        return "events";
    }
}

const char *wait_part__word(unsigned metric)
{
    static const char *const words[METRIC_COUNT] = {
        [METRIC_MONITOR_WAIT] = "monitor",
        [METRIC_OBJECT_WAIT] = "object_wait",
        [METRIC_PARK] = "park",
        [METRIC_SLEEP] = "sleep",
        [METRIC_IO_WAIT] = "io",
        [METRIC_UNMOUNTED] = "unmounted",
    };

    return metric < METRIC_COUNT ? words[metric] : NULL;
}

bool wait_part__is_known(const struct ledger_header *header, enum wait_part part)
{
    uint64_t known = report_columns__of_threads(header);

    return part == PART_UNKNOWN ||
           (parts[part].columns[0] != NOWHERE && (known & COLUMN_BIT(parts[part].columns[0])) != 0);
}
