/*
 * What the wall time of a row of threads consists of. The parts add up to the wall time exactly.
 *
 * CPU time is the kernel's figure. Monitors, Object.wait, park, sleep and I/O are measured between
 * the begin and the end of each wait; the time from the wake-up until the thread runs is in them.
 * Two are inferred for waits without a reason: safepoint, as long as the JVM had stopped its
 * threads meanwhile and the thread was not ready to run, and unmounted, in which a virtual thread
 * had no carrier. Of what is left, fault and then runnable are as much as the kernel says that the
 * threads waited for pages and for a processor altogether, if the ledger has that. The rest is
 * unknown, and so is what is not known.
 */
#ifndef TREADLE_WAIT_PARTS_H
#define TREADLE_WAIT_PARTS_H

#include "tools/report/thread_rows.h"

#include <stdbool.h>
#include <stdint.h>

enum wait_part {
    PART_CPU,
    PART_RUNNABLE,
    PART_MONITOR,
    PART_OBJECT_WAIT,
    PART_PARK,
    PART_SLEEP,
    PART_IO,
    PART_FAULT, /* pages from the swap, or read anew because memory is short */
    PART_SAFEPOINT,
    PART_UNMOUNTED,
    PART_UNKNOWN,
    WAIT_PARTS,
};

struct wait_parts {
    uint64_t ns[WAIT_PARTS];
};

struct wait_parts wait_parts__of(const struct thread_row *row);

/* COLUMN_BITs of what the parts are worked out from. */
uint64_t wait_parts__columns(void);

/* The key in JSON and CSV: "object_wait_ns". */
const char *wait_part__key(enum wait_part part);

/* What a thread waits for, by the metric of the reason: "monitor", "object_wait", "park", "sleep",
 * "io", "unmounted"; NULL for none of these. */
const char *wait_part__word(unsigned metric);

/* Whose figure the part is: "kernel"; "events", measured between the begin and the end of each
 * wait; "inferred", for waits without an event; "rest". */
const char *wait_part__source(enum wait_part part);

/* True if the ledger has what the part is worked out from. */
bool wait_part__is_known(const struct ledger_header *header, enum wait_part part);

#endif
