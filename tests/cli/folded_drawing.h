/*
 * Two threads in which contexts were folded, or the same two in which none was.
 */
#ifndef TREADLE_TESTS_FOLDED_DRAWING_H
#define TREADLE_TESTS_FOLDED_DRAWING_H

#include "tests/cli/plain_drawing.h"

/*
 * worker-1, worker-2: each           folded                     not folded
 *   Work.a x1        10 ms             Work.a x1      10 ms
 *     Work.b x4      20 ms               Work.b x4    20 ms
 *     (folded), 7 contexts                 Work.c x30 30 ms
 *       Work.c x30   30 ms                   Work.b x2 5 ms
 *       Work.b x2     5 ms             Work.c x3       1 ms
 *   (folded)
 *     Work.c x3       1 ms
 */
static inline void folded__draw(struct drawing *drawing, bool is_folded)
{
    plain__describe(drawing);
    ledger_ref a = drawing__method(drawing, "demo.Work", "a", "()V");
    ledger_ref b = drawing__method(drawing, "demo.Work", "b", "()V");
    ledger_ref c = drawing__method(drawing, "demo.Work", "c", "()V");
    for (int32_t i = 1; i <= 2; i++) {
        char name[32];
        snprintf(name, sizeof(name), "worker-%d", i);
        ledger_ref thread = drawing__thread(drawing, name, THREAD_PLATFORM, 0);
        ledger_ref root = drawing__root(drawing, thread);
        plain__set_times(drawing, thread, 4242 + i, 0, 5 * PLAIN_S);
        ledger_ref in_a = drawing__call(drawing, root, a, 1, 10 * PLAIN_MS);
        ledger_ref in_b = drawing__call(drawing, in_a, b, 4, 20 * PLAIN_MS);
        ledger_ref below_a = in_b, below_root = root;
        if (is_folded) {
            below_a = drawing__node(drawing, in_a, NODE_FOLDED, 0, 0, 0);
            drawing__node_at(drawing, below_a)->contexts = 7;
            below_root = drawing__node(drawing, root, NODE_FOLDED, 0, 0, 0);
        }
        ledger_ref in_c = drawing__call(drawing, below_a, c, 30, 30 * PLAIN_MS);
        drawing__call(drawing, is_folded ? below_a : in_c, b, 2, 5 * PLAIN_MS);
        drawing__call(drawing, below_root, c, 3, 1 * PLAIN_MS);
    }
}

#endif
