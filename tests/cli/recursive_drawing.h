/*
 * A method that calls itself, three frames deep, with recursion=N.
 */
#ifndef TREADLE_TESTS_RECURSIVE_DRAWING_H
#define TREADLE_TESTS_RECURSIVE_DRAWING_H

#include "tests/ledger_drawing.h"

/*
 * main                    recursion=2               all
 *   Main.fib x1           10 ms                     10 ms
 *     Main.fib            x6, 50 ms, levels 1-2     x2, 20 ms
 *       Main.fib                                    x4, 30 ms
 */
static inline void recursive__draw(struct drawing *drawing, uint32_t levels)
{
    const uint64_t ms = 1000000;
    ledger_ref fib = drawing__method(drawing, "demo.Main", "fib", "(I)I");
    ledger_ref thread = drawing__thread(drawing, "main", THREAD_PLATFORM, 0);
    ledger_ref first = drawing__call(drawing, drawing__root(drawing, thread), fib, 1, 10 * ms);
    ledger_ref second = drawing__call(drawing, first, fib, levels ? 6 : 2, (levels ? 50 : 20) * ms);
    if (levels)
        drawing__node_at(drawing, second)->kind_and_level |= 1u << NODE_PATH_SHIFT | 2;
    else
        drawing__call(drawing, second, fib, 4, 30 * ms);
    drawing->ledger.header->recursion = levels;
    drawing->ledger.header->asof_ns = 1000 * ms;
}

#endif
