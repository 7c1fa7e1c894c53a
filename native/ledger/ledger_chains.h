/* The ledger's format: parts of chains. See ledger_format.h. */
#ifndef TREADLE_LEDGER_CHAINS_H
#define TREADLE_LEDGER_CHAINS_H

#include "native/ledger/ledger_chunk.h"

#include <stdint.h>

#define PART_FRAMES 10u

enum ledger_part_state {
    PART_FREE,
    PART_WRITING, /* being filled in */
    PART_OPEN,    /* under way */
    PART_DONE,
};

enum ledger_part_flag {
    PART_UNENDED = 1u << 0, /* its end was not seen: its times are not known */
    PART_OTEL = 1u << 1,    /* the id is OpenTelemetry's trace id */
    PART_VIRTUAL = 1u << 2, /* of a virtual thread */
};

/*
 * A part of a chain: what one thread did from the begin to the end of a logical frame with an id.
 * Parts with the same id, in any thread of any process, are one chain.
 *
 * The records are a ring: when all are in use, the part that was begun first and is over gives way,
 * and its times are added to the header's (other). Strings and methods in it are never reused for
 * others, so a part is true whatever becomes of its thread and of its nodes. A record that was
 * copied while it was written has a wrong check.
 */
struct ledger_part {
    uint64_t state;    /* turn << PART_STATE_BITS | enum ledger_part_state */
    uint64_t check;    /* ledger_part__check, stored last */
    uint64_t id[2];    /* the first eight bytes as they are printed, then the others */
    uint64_t begin_ns; /* CLOCK_MONOTONIC, which all processes of a machine share; in a merge: since
                          its epoch_ns */
    uint64_t elapsed_ns; /* on the ledger's clock, as in the nodes; open: 0, in a merge: until its
                            own ledger was written */
    uint64_t cpu_ns;     /* of the thread meanwhile, as charged: it may be a little more than
                            elapsed_ns; open: 0 */
    uint64_t java_id;
    int32_t tid; /* the kernel thread on which it began */
    int32_t pid;
    uint32_t flags;    /* enum ledger_part_flag */
    uint32_t depth;    /* logical frames of its path, those that path[] has no room for included */
    ledger_ref thread; /* string; none: the thread has no name */
    uint32_t process;  /* in a merge: the number of its input, from 1 */
    ledger_ref path[PART_FRAMES]; /* methods: logical frames, the innermost first; then none */
};

#define PART_STATE_BITS 2u
#define PART_STATE_MASK ((UINT64_C(1) << PART_STATE_BITS) - 1)

/* Of everything but refs, which a merge changes. */
static inline uint64_t ledger_part__check(const struct ledger_part *part)
{
    const uint64_t words[] = {__atomic_load_n(&part->state, __ATOMIC_ACQUIRE),
                              part->id[0],
                              part->id[1],
                              part->begin_ns,
                              part->elapsed_ns,
                              part->cpu_ns,
                              part->java_id,
                              (uint64_t)(uint32_t)part->tid << 32 | (uint32_t)part->pid,
                              (uint64_t)part->flags << 32 | part->depth};
    uint64_t sum = UINT64_C(0x2545f4914f6cdd1d);

    for (unsigned i = 0; i < sizeof(words) / sizeof(*words); i++) {
        sum = (sum ^ words[i]) * UINT64_C(0xff51afd7ed558ccd);
        sum ^= sum >> 32;
    }
    return sum;
}

static inline enum ledger_part_state ledger_part__state(const struct ledger_part *part)
{
    return (enum ledger_part_state)(__atomic_load_n(&part->state, __ATOMIC_ACQUIRE) &
                                    PART_STATE_MASK);
}

/* True of a record that is filled in and whole. */
static inline int ledger_part__is_whole(const struct ledger_part *part)
{
    return ledger_part__state(part) >= PART_OPEN && part->check == ledger_part__check(part);
}

_Static_assert(sizeof(struct ledger_part) == 2 * LEDGER_CELL_BYTES, "two cells");

#endif
