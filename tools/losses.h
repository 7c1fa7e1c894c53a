/*
 * What a ledger has not got, in sentences: for the balance, and for every view's head.
 */
#ifndef TREADLE_LOSSES_H
#define TREADLE_LOSSES_H

#include "tools/report/report_balance.h"

#define LOSSES_MAX (REPORT_LOSSES + 3u)

struct loss {
    const char *word; /* "lost", "full" */
    char text[384];   /* "12 345 calls not recorded, their cost is charged to the caller" */
};

/* How many there are. */
unsigned losses__of(const struct report_model *model, struct loss losses[LOSSES_MAX]);

#endif
