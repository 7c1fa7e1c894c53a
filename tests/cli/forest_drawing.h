/*
 * A large ledger, for `treadle html` and its benchmark.
 */
#ifndef TREADLE_TESTS_FOREST_DRAWING_H
#define TREADLE_TESTS_FOREST_DRAWING_H

#include "tests/ledger_drawing.h"

/* Four threads with so many nodes together, of 4,000 methods, in trees some 30 deep; the same every
 * time. */
static inline void forest__draw(struct drawing *drawing, unsigned nodes)
{
    enum { METHODS = 4000, THREADS = 4 };
    static ledger_ref methods[METHODS];
    uint64_t random = 1;
    for (unsigned i = 0; i < METHODS; i++) {
        char class_name[64];
        char name[32];
        snprintf(class_name, sizeof(class_name), "org.example.part%u.Worker%u", i / 100, i / 10);
        snprintf(name, sizeof(name), "step%u", i % 10);
        methods[i] = drawing__method(drawing, class_name, name, "()V");
    }
    ledger_ref *drawn = calloc(nodes / THREADS + 1, sizeof(*drawn));
    drawing__check(drawn != NULL, "calloc");
    for (unsigned thread = 0; thread < THREADS; thread++) {
        char name[32];
        snprintf(name, sizeof(name), "worker-%u", thread);
        drawn[0] = drawing__root(drawing, drawing__thread(drawing, name, THREAD_PLATFORM, 1000000));
        for (unsigned i = 1; i <= nodes / THREADS; i++) {
            random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
            unsigned parent = i - 1 - (unsigned)(random >> 33) % (i / 2 + 1);
            ledger_ref method = methods[(random >> 20) % METHODS];
            drawn[i] = drawing__call(drawing, drawn[parent], method, 1 + (random >> 50) % 1000,
                                     (random >> 40) % (100000));
            if (i % 64 == 0)
                drawing__side(drawing, drawn[i], METRIC_MINOR_FAULTS, i);
        }
    }
    free(drawn);
}

#endif
