/* One name wherever a name can stand. */
#ifndef TREADLE_TESTS_NAMED_DRAWING_H
#define TREADLE_TESTS_NAMED_DRAWING_H

#include "tests/cli/hazards_drawing.h"
#include "tests/cli/latency_drawing.h"

#include <inttypes.h>

static inline void named__draw_waits(struct drawing *drawing, const char *name, ledger_ref run)
{
    const struct drawn_block block = {
        name, 7, BLOCK_MONITOR, name, name, {9000, 9000, 30, 8000, 2}, 14, {run}, {run}};
    for (uint32_t i = 0; i < 3; i++) {
        struct drawn_block one = block;
        char waiter[64];
        (void)snprintf(waiter, sizeof(waiter), "%s%" PRIu32, name, i);
        one.waiter = waiter;
        struct ledger_block *drawn = ledger__at(&drawing->ledger, locks__block(drawing, &one));
        drawn->waiter_priority = 9;
        drawn->holder_priority = 1;
    }
    for (uint32_t i = 0; i < 2; i++)
        hazards__stuck(drawing, &(struct drawn_stuck){
                                    1, i, 2, name, name, 5 + i, BLOCK_MONITOR, 0, 8000, 0, {name}});
    char other[64];
    (void)snprintf(other, sizeof(other), "%s2", name);
    for (uint64_t i = 0; i < 2; i++) {
        hazards__order(drawing, &(struct drawn_order){.thread = name,
                                                      .held = i ? other : name,
                                                      .taken = i ? name : other,
                                                      .thread_id = 1 + i,
                                                      .path = {name, name}});
    }
}

static inline void named__draw(struct drawing *drawing, const char *name)
{
    const struct drawn_calls calls[] = {{10, PLAIN_MS}};
    plain__describe(drawing);
    drawing->ledger.header->metrics_charged |= LEDGER_WAIT_METRICS;
    ledger_ref run = drawing__method(drawing, name, name, "()V");
    ledger_ref frame = drawing__method(drawing, "", name, name);
    ((struct ledger_method *)ledger__at(&drawing->ledger, frame))->flags |= METHOD_LOGICAL;
    ledger_ref thread = drawing__thread(drawing, name, THREAD_PLATFORM, PLAIN_MS);
    plain__set_times(drawing, thread, 4242, 0, 0);
    ledger_ref logical =
        drawing__call(drawing, drawing__root(drawing, thread), frame, 10, 2 * PLAIN_MS);
    drawing__call(drawing, logical, run, 10, 2 * PLAIN_MS);
    latency__record(drawing, run, LATENCY_ELAPSED, calls, 1);
    latency__record(drawing, run, LATENCY_CPU, calls, 1);
    named__draw_waits(drawing, name, run);
}

#endif
