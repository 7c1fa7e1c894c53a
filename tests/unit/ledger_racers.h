/* A ledger, and threads that all take from it at once. */
#ifndef TREADLE_TEST_LEDGER_RACERS_H
#define TREADLE_TEST_LEDGER_RACERS_H

#include "native/ledger/ledger.h"

#include <pthread.h>

/* cmocka.h needs the others before it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#define KIB    UINT64_C(1024)
#define MIB    (KIB * KIB)
#define RACERS 8

static inline void create(struct ledger *ledger, uint64_t max_bytes)
{
    assert_int_equal(ledger__create(ledger, NULL, max_bytes), 0);
}

/* Runs the eight at once. */
static inline void race(void *(*run)(void *context), void *contexts, size_t context_bytes)
{
    pthread_t threads[RACERS];
    for (size_t i = 0; i < RACERS; i++)
        assert_int_equal(
            pthread_create(&threads[i], NULL, run, (char *)contexts + i * context_bytes), 0);
    for (size_t i = 0; i < RACERS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
}

#endif
