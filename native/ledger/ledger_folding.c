/* Moves of numbers within a ledger, and what holds them off; see ledger.h. */
#include "native/ledger/ledger.h"

#include <errno.h>
#include <sched.h>
#include <time.h>

#define HOLD_PATIENCE_NS 1000000000u

static uint64_t monotonic_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static bool is_held(const struct ledger *ledger)
{
    uint64_t until_ns = __atomic_load_n(&ledger->header->folds_held_until_ns, __ATOMIC_SEQ_CST);

    return atomic_load(&ledger->folding_holders) || (until_ns && monotonic_ns() < until_ns);
}

bool ledger__begin_folding(struct ledger *ledger)
{
    struct ledger_header *header = ledger->header;

    if (ledger->touched)
        return true; /* nobody else has that copy */
    if (is_held(ledger))
        return false;
    __atomic_fetch_add(&header->folds_begun, 1, __ATOMIC_SEQ_CST);
    if (!is_held(ledger))
        return true;
    ledger__end_folding(ledger);
    return false;
}

void ledger__end_folding(struct ledger *ledger)
{
    if (!ledger->touched)
        __atomic_fetch_add(&ledger->header->folds_done, 1, __ATOMIC_SEQ_CST);
}

int ledger__hold_folding(struct ledger *ledger)
{
    const struct ledger_header *header = ledger->header;
    uint64_t until_ns = monotonic_ns() + HOLD_PATIENCE_NS;

    atomic_fetch_add(&ledger->folding_holders, 1);
    while (__atomic_load_n(&header->folds_done, __ATOMIC_SEQ_CST) !=
           __atomic_load_n(&header->folds_begun, __ATOMIC_SEQ_CST)) {
        if (monotonic_ns() > until_ns) {
            ledger__let_go_folding(ledger);
            return -EBUSY;
        }
        sched_yield();
    }
    return 0;
}

void ledger__let_go_folding(struct ledger *ledger)
{
    atomic_fetch_sub(&ledger->folding_holders, 1);
}
