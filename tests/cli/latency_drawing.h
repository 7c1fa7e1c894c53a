/* Calls of methods of latency=, as the agent measures them. */
#ifndef TREADLE_TESTS_LATENCY_DRAWING_H
#define TREADLE_TESTS_LATENCY_DRAWING_H

#include "tests/cli/plain_drawing.h"

/* Calls that took the same. */
struct drawn_calls {
    uint64_t count;
    uint64_t ns;
};

/* One call after the other, the first ones first; as the agent does it. */
static inline void latency__record(struct drawing *drawing, ledger_ref method,
                                   enum ledger_latency_clock clock, const struct drawn_calls *calls,
                                   size_t count)
{
    ledger_ref ref = ledger__take_shared(&drawing->ledger, LEDGER_LATENCIES,
                                         sizeof(struct ledger_latency) / LEDGER_CELL_BYTES);
    drawing__check(ref != 0, "no room for a histogram");
    struct ledger_latency *latency = ledger__at(&drawing->ledger, ref);
    latency->method = method;
    latency->clock = clock;
    for (size_t i = 0; i < count; i++) {
        uint64_t before = i ? calls[i - 1].ns : calls[i].ns;
        latency->buckets[latency__bucket(calls[i].ns)] += calls[i].count;
        latency->sum_ns += calls[i].count * calls[i].ns;
        latency->max_ns = calls[i].ns > latency->max_ns ? calls[i].ns : latency->max_ns;
        latency->steps += calls[i].count - (i == 0);
        latency->step_ns += calls[i].ns > before ? calls[i].ns - before : before - calls[i].ns;
    }
}

/*
 * app.Shop.serve   900 calls of 1 ms, 95 of 4 ms, 5 of 30 ms; 100 µs of CPU each; 1,002 calls in
 * the tree: two are under way app.Shop.look    10 calls of 100 ns; heard half of the time later:
 * serve has 100 calls of 8 ms more, of 200 µs slow: the same program, where serve's 4 ms are 12 ms,
 * and look has not been called
 */
static inline void latency__draw(struct drawing *drawing, bool later, bool slow)
{
    const struct drawn_calls serve[] = {{900, PLAIN_MS},
                                        {95, slow ? 12 * PLAIN_MS : 4 * PLAIN_MS},
                                        {5, 30 * PLAIN_MS},
                                        {100, 8 * PLAIN_MS}};
    const struct drawn_calls serve_cpu[] = {{1000, PLAIN_MS / 10}, {100, PLAIN_MS / 5}};
    const struct drawn_calls look[] = {{10, 100}};
    plain__describe(drawing);
    if (later)
        drawing->ledger.header->asof_ns += PLAIN_S;
    drawing->ledger.header->unmeasured_calls = later ? 5 : 3;
    ledger_ref serve_method = drawing__method(drawing, "app.Shop", "serve", "()V");
    ledger_ref look_method = drawing__method(drawing, "app.Shop", "look", "(I)I");
    ledger_ref thread = drawing__thread(drawing, "main", THREAD_PLATFORM, PLAIN_MS);
    plain__set_times(drawing, thread, 4242, 0, 0);
    ledger_ref node = drawing__call(drawing, drawing__thread_at(drawing, thread)->root,
                                    serve_method, later ? 1102 : 1002, 100 * PLAIN_MS);
    if (!slow)
        drawing__call(drawing, node, look_method, 10, 1000);
    latency__record(drawing, serve_method, LATENCY_CPU, serve_cpu, later ? 2 : 1);
    latency__record(drawing, serve_method, LATENCY_ELAPSED, serve, later ? 4 : 3);
    if (slow)
        return;
    latency__record(drawing, look_method, LATENCY_CPU, look, 1);
    latency__record(drawing, look_method, LATENCY_ELAPSED, look, 1);
    drawing__hooking(drawing, look_method, HOOKING_MUTED, PLAIN_S, 6 * PLAIN_S, 5 * PLAIN_S);
}

#endif
