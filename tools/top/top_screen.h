/*
 * The screen of `treadle top`: a terminal in full, keys, and the terminal as it was when it ends,
 * whatever ended it.
 */
#ifndef TREADLE_TOP_SCREEN_H
#define TREADLE_TOP_SCREEN_H

#include "tools/report/interval_order.h"
#include "tools/top/top_readings.h"

#include <stdint.h>

struct top_request {
    const char *path; /* of the live ledger */
    const char *threads;
    const struct interval_sort *sort;
    uint64_t interval_ns;
    uint32_t count; /* intervals; 0: no end */
    bool once;
    bool json;
};

/* Shows intervals until the user, the request or a signal ends it. `readings` has the first one.
 * The exit status; a signal that ends it ends the process. */
int top_screen__run(const struct top_request *request, struct top_readings *readings);

#endif
