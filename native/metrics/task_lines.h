/* Metrics in files of /proc that are lines of "key: number", as io and status are. */
#ifndef TREADLE_TASK_LINES_H
#define TREADLE_TASK_LINES_H

#include "native/ledger/ledger_format.h"

#include <stdint.h>

/* Reads those metrics of `bits` that the text contains into value[]. Returns the bits that were
 * found. Does not allocate; async-signal-safe. */
uint64_t task_lines__parse(const char *text, uint64_t bits, uint64_t value[LEDGER_METRIC_SLOTS]);

#endif
