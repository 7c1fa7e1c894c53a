/*
 * A ledger as large as those of servers, for benchmarks.
 */
#ifndef TREADLE_TESTS_LARGE_LEDGER_H
#define TREADLE_TESTS_LARGE_LEDGER_H

#include "tests/ledger_drawing.h"

/* A child at the front, however many there are: drawing__call walks to the end. */
static inline ledger_ref large_ledger__child(struct drawing *drawing, ledger_ref parent,
                                             ledger_ref method, uint64_t calls, uint64_t cpu_ns)
{
    ledger_ref ref = drawing__node(drawing, 0, NODE_EXACT, method, calls, cpu_ns);
    struct ledger_node *above = drawing__node_at(drawing, parent);
    drawing__node_at(drawing, ref)->parent = parent;
    drawing__node_at(drawing, ref)->next_sibling = above->first_child;
    above->first_child = ref;
    return ref;
}

/* So many nodes in eight threads, as programs have them: 5000 methods, stacks of some dozen frames,
 * a node in eight with metrics of its own. The same each time. */
static inline void large_ledger__draw(struct drawing *drawing, unsigned count)
{
    enum { METHODS = 5000, THREADS = 8, DEPTH = 60 };
    static ledger_ref methods[METHODS];
    ledger_ref path[DEPTH];
    uint64_t random = 1;
    for (unsigned i = 0; i < METHODS; i++) {
        char class_name[64], name[32];
        snprintf(class_name, sizeof(class_name), "com.example.service.module%u.Class%u", i % 40,
                 i / 10);
        snprintf(name, sizeof(name), "method%u", i);
        methods[i] = drawing__method(drawing, class_name, name, "(Ljava/lang/Object;I)V");
    }
    for (unsigned thread = 0; thread < THREADS; thread++) {
        char name[32];
        snprintf(name, sizeof(name), "http-worker-%u", thread);
        ledger_ref row = drawing__thread(drawing, name, THREAD_PLATFORM, 1000000);
        unsigned depth = 0;
        path[0] = drawing__root(drawing, row);
        for (unsigned i = 0; i < count / THREADS - 1; i++) {
            random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
            unsigned dice = (unsigned)(random >> 33);
            unsigned left = dice % 3;
            depth = depth > left ? depth - left : 0;
            depth = depth == DEPTH - 1 ? DEPTH / 2 : depth;
            path[depth + 1] = large_ledger__child(drawing, path[depth], methods[dice / 3 % METHODS],
                                                  1 + dice % 1000, dice % 100000);
            depth++;
            if (i % 8 == 0)
                drawing__side(drawing, path[depth], METRIC_MINOR_FAULTS, 1 + dice % 9);
            if (i % 16 == 0)
                drawing__side(drawing, path[depth], METRIC_RUN_QUEUE_DELAY, dice % 5000);
        }
    }
}

#endif
