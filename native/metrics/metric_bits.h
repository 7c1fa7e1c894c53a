/* Sets of metrics, a bit each: 1 << enum ledger_metric. */
#ifndef TREADLE_METRIC_BITS_H
#define TREADLE_METRIC_BITS_H

#include <stdbool.h>
#include <stdint.h>

/* Takes the lowest bit out of the set. False: the set is empty. */
static inline bool metric_bits__take(uint64_t *bits, unsigned *metric)
{
    if (!*bits)
        return false;
    *metric = (unsigned)__builtin_ctzll(*bits);
    *bits &= *bits - 1;
    return true;
}

#endif
