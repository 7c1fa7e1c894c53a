/* The ledger's format: how long the calls of the methods of latency= took. See ledger_format.h. */
#ifndef TREADLE_LEDGER_LATENCIES_H
#define TREADLE_LEDGER_LATENCIES_H

#include "native/ledger/ledger_chunk.h"

#include <stdint.h>

enum ledger_latency_clock {
    LATENCY_ELAPSED, /* waiting included; of a virtual thread: the time unmounted, too */
    LATENCY_CPU,
    LATENCY_CLOCKS,
};

/*
 * Buckets, as in [G. Tene: HdrHistogram]: each power of two is divided into 16 linear parts. A part
 * is at most 1/16 as wide as its values are large, so its middle is at most 1/32 (3.1 %) off. Up to
 * 512 ns parts are 16 ns wide, so their middle is at most 8 ns off. The last bucket also has
 * everything beyond: calls of more than 4.5 minutes.
 */
#define LATENCY_PARTS_SHIFT 4u
#define LATENCY_PARTS       (1u << LATENCY_PARTS_SHIFT)
#define LATENCY_UNIT_SHIFT  4u /* ns to units of 16 ns, the width of the first parts */
#define LATENCY_POWERS      30u
#define LATENCY_BUCKETS     (LATENCY_PARTS * (LATENCY_POWERS + 1))

/* The calls of one method that are over, on one clock. Written by all threads, with atomic
 * additions. One record fills a chunk. */
struct ledger_latency {
    ledger_ref method; /* none: the record is not filled in */
    uint32_t clock;    /* enum ledger_latency_clock */
    ledger_ref cpu;    /* private to writers; of LATENCY_ELAPSED: the method's other record */
    uint32_t reserved;
    uint64_t sum_ns;
    uint64_t max_ns;
    uint64_t steps;   /* calls that ended after another one … */
    uint64_t step_ns; /* … and the sum of the differences between the two */
    uint64_t last_ns; /* of the call that ended last, plus 1; 0: none has */
    uint64_t reserved_end;
    uint64_t buckets[LATENCY_BUCKETS];
};

_Static_assert(sizeof(struct ledger_latency) == LEDGER_CHUNK_BYTES - LEDGER_CELL_BYTES,
               "what a chunk has room for");

static inline uint32_t latency__bucket(uint64_t ns)
{
    uint64_t units = ns >> LATENCY_UNIT_SHIFT;
    uint32_t shift, bucket;

    if (units < LATENCY_PARTS)
        return (uint32_t)units;
    shift = 63u - (uint32_t)__builtin_clzll(units) - LATENCY_PARTS_SHIFT;
    bucket = (shift << LATENCY_PARTS_SHIFT) + (uint32_t)(units >> shift);
    return bucket < LATENCY_BUCKETS ? bucket : LATENCY_BUCKETS - 1;
}

/* The least value of a bucket, or the end of the last one. */
static inline uint64_t latency__floor_ns(uint32_t bucket)
{
    uint32_t shift = bucket < LATENCY_PARTS ? 0 : (bucket >> LATENCY_PARTS_SHIFT) - 1;
    uint64_t units = bucket - ((uint64_t)shift << LATENCY_PARTS_SHIFT);

    return units << shift << LATENCY_UNIT_SHIFT;
}

#endif
