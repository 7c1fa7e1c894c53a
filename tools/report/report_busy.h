/*
 * How many processors the process kept busy over time, as the ledger has it (struct
 * ledger_busy_history).
 */
#ifndef TREADLE_REPORT_BUSY_H
#define TREADLE_REPORT_BUSY_H

#include "tools/report/report_model.h"

struct report_busy {
    uint64_t first_ns; /* of the ledger's clock: where the first slot begins */
    uint64_t slot_ns;
    uint32_t count;                  /* 0: nothing is known */
    uint64_t ppm[LEDGER_BUSY_SLOTS]; /* of a processor; of the last slot, of the part of it that is
                                        over */
};

/* Of an interval: the slots from its beginning on. */
struct report_busy report_busy__of(const struct report_model *model);

/* The busiest slot. */
uint64_t report_busy__most_ppm(const struct report_busy *busy);

#endif
