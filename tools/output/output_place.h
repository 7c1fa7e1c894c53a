/*
 * Where a command's output goes.
 */
#ifndef TREADLE_OUTPUT_PLACE_H
#define TREADLE_OUTPUT_PLACE_H

#include <stdbool.h>

/* Whether `output` is another file than the ledger that it is made from. False after a line that
 * says so, `hint` being what to do. */
bool output_place__is_no_ledger(const char *output, const char *ledger, const char *hint);

#endif
