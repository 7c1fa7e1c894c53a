/* What the header of a sampled process's ledger says of the process and the machine. */
#ifndef TREADLE_SAMPLE_HEADER_H
#define TREADLE_SAMPLE_HEADER_H

#include "native/ledger/ledger.h"

#include <sys/types.h>

/* Fills in the header of a new ledger. `start_ticks`: of a process that is gone, as its segment
 * says; else 0. */
void sample_header__begin(struct ledger *ledger, pid_t pid, uint64_t start_ticks,
                          uint64_t every_ns);

/* The process's own totals now, which are 0 at the beginning. */
void sample_header__read_totals(struct ledger *ledger, uint64_t now_ns);

#endif
