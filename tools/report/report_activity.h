/*
 * The activity profile of a model: the logical frames alone, of all selected threads together or of
 * one of them, with the time in each state. What stands between logical frames, as nodes of other
 * kinds, counts for the nearest logical frame above it.
 */
#ifndef TREADLE_REPORT_ACTIVITY_H
#define TREADLE_REPORT_ACTIVITY_H

#include "tools/report/report_model.h"

enum activity_part {
    PART_OF_CPU,
    PART_OF_RUNNABLE,
    PART_OF_LOCK,
    PART_OF_IO,
    PART_OF_SLEEP,
    PART_OF_UNKNOWN, /* the rest */
    ACTIVITY_PARTS,
};

/* The parts add up to the wall time. */
struct activity_times {
    uint64_t samples;
    uint64_t wall_ns;
    uint64_t part_ns[ACTIVITY_PARTS];
};

struct activity_row {
    uint32_t parent; /* index; REPORT_NONE: the first row */
    uint32_t depth;
    uint32_t method;
    uint64_t calls; /* pushes, if the process had the agent */
    struct activity_times base;
    struct activity_times cum;
    uint32_t first_child; /* links of the building, as is the next; then in the rows' order */
    uint32_t next_sibling;
};

struct report_activity {
    struct activity_row *rows; /* in tree order, siblings by cum wall time; the first: the whole */
    uint32_t count;
    uint32_t threads; /* that have logical frames: the others count for nothing */
};

/* Of the selected threads. */
struct report_activity *report_activity__new(const struct report_model *model,
                                             const bool *selected);
void report_activity__free(struct report_activity *activity);

/* True if the thread has logical frames. */
bool report_activity__has(const struct report_model *model, uint32_t thread);

/* "cpu_ns", "lock_ns", …: keys in JSON and CSV. */
const char *activity_part__key(enum activity_part part);

#endif
