/*
 * Two moments of a process, between which one method has nothing but page faults.
 */
#ifndef TREADLE_TESTS_QUIET_DRAWING_H
#define TREADLE_TESTS_QUIET_DRAWING_H

#include "tests/ledger_drawing.h"

/*
 * main                    at 2 s               at 10 s
 *   Main.main x1          10 ms                30 ms
 *     Main.touch x1       10 ms, 4 faults      10 ms, 11 faults
 *     Main.idle x1        10 ms                10 ms
 */
static inline void quiet__draw(struct drawing *drawing, bool is_later)
{
    const uint64_t ms = 1000000;
    ledger_ref main_method = drawing__method(drawing, "demo.Main", "main", "()V");
    ledger_ref touch = drawing__method(drawing, "demo.Main", "touch", "()V");
    ledger_ref idle = drawing__method(drawing, "demo.Main", "idle", "()V");
    ledger_ref thread = drawing__thread(drawing, "main", THREAD_PLATFORM, 0);
    ledger_ref in_main = drawing__call(drawing, drawing__root(drawing, thread), main_method, 1,
                                       (is_later ? 30 : 10) * ms);
    ledger_ref in_touch = drawing__call(drawing, in_main, touch, 1, 10 * ms);
    drawing__call(drawing, in_main, idle, 1, 10 * ms);
    drawing__side(drawing, in_touch, METRIC_MINOR_FAULTS, is_later ? 11 : 4);
    drawing__thread_at(drawing, thread)->tids[0] = 4242;
    drawing__thread_at(drawing, thread)->tid_count = 1;
    drawing->ledger.header->asof_ns = (is_later ? 10000 : 2000) * ms;
}

#endif
