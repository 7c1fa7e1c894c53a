/*
 * A thread whose samples contradict its exact nodes.
 */
#ifndef TREADLE_TESTS_TALLIED_DRAWING_H
#define TREADLE_TESTS_TALLIED_DRAWING_H

#include "tests/ledger_drawing.h"

/* `samples` of 10 ms each with the method on the stack; of the thread, if that is none. */
static inline void tallied__add(struct drawing *drawing, ledger_ref thread, ledger_ref method,
                                uint64_t samples)
{
    ledger_ref ref = drawing__record(drawing, LEDGER_TALLIES);
    struct ledger_tally *tally = ledger__at(&drawing->ledger, ref);
    tally->thread = thread;
    tally->method = method;
    tally->samples = samples;
    tally->seen_ns = samples * 10000000;
    tally->most_ns = method ? 0 : 10000000;
}

/* main: Main.outer x1 1 s, Main.inner x1 3 s; 400 samples, of them 200 with outer, 300 with inner
 * on the stack. 5 more samples are in no tally. */
static inline void tallied__draw(struct drawing *drawing)
{
    const uint64_t s = 1000000000;
    ledger_ref outer = drawing__method(drawing, "demo.Main", "outer", "()V");
    ledger_ref inner = drawing__method(drawing, "demo.Main", "inner", "()V");
    ledger_ref thread = drawing__thread(drawing, "main", THREAD_PLATFORM, 0);
    drawing__call(drawing, drawing__root(drawing, thread), outer, 1, 1 * s);
    drawing__call(drawing, drawing__root(drawing, thread), inner, 1, 3 * s);
    tallied__add(drawing, thread, 0, 400);
    tallied__add(drawing, thread, outer, 200);
    tallied__add(drawing, thread, inner, 300);
    drawing->ledger.header->samples = 405;
    drawing->ledger.header->lost_tallies = 5;
    drawing->ledger.header->event_mode = LEDGER_EVENTS_INSTRUMENT;
}

#endif
