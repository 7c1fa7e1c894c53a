/*
 * Where a command's output goes.
 */
#ifndef TREADLE_OUTPUT_PLACE_H
#define TREADLE_OUTPUT_PLACE_H

#include <stdbool.h>

/* True if `output` is another file than the ledger that it is made from. False after a line that
 * says so; `hint` says what to do instead. */
bool output_place__is_no_ledger(const char *output, const char *ledger, const char *hint);

#endif
