/* Waits for locks that are followed to who really ran. */
#ifndef TREADLE_TESTS_CASCADE_DRAWING_H
#define TREADLE_TESTS_CASCADE_DRAWING_H

#include "tests/cli/locks_drawing.h"

/* What a node's wall time consists of, in ms. */
struct drawn_time {
    enum ledger_metric metric;
    uint64_t ms;
};

/* A thread that stands in app.Main.run > METHOD: so much CPU time, and so much of up to two waits.
 */
static inline void cascade__thread(struct drawing *drawing, const char *name,
                                   const ledger_ref path[2], uint64_t cpu_ms,
                                   const struct drawn_time waits[2])
{
    ledger_ref thread = drawing__thread(drawing, name, THREAD_PLATFORM, 0);
    plain__set_times(drawing, thread, 0, 0, 0);
    ledger_ref run = drawing__call(drawing, drawing__root(drawing, thread), path[1], 1, 0);
    ledger_ref node = drawing__call(drawing, run, path[0], 1, cpu_ms * PLAIN_MS);
    uint64_t waits_ms = 0;
    for (int i = 0; i < 2; i++)
        if (waits[i].ms) {
            drawing__side(drawing, node, waits[i].metric, waits[i].ms * PLAIN_MS);
            waits_ms += waits[i].ms;
        }
    ((struct ledger_node *)ledger__at(&drawing->ledger, node))->wait_ns = waits_ms * PLAIN_MS;
}

/*
 * disk  in take:  20 ms of CPU, 80 ms of I/O
 * middle in put:  50 ms of CPU, 50 ms of waits for disk (app.Disk 1)
 * first in run:   40 ms of waits for middle (app.Queue 2), 8 ms for middle again (app.Row 3)
 * x     in put:   10 ms of waits for y (app.X 4), and y in put as long for x (app.Y 5)
 * self  in put:   30 ms of CPU, and 70 ms of waits for disk, which had app.Queue 2 before it;
 *                 late waits 10 ms for self, which has app.Queue 2 then: not for itself any more
 * lost  in run:   5 ms of waits for nobody knows whom
 */
static inline void cascade__draw(struct drawing *drawing)
{
    plain__describe(drawing);
    drawing->ledger.header->metrics_charged |= LEDGER_WAIT_METRICS;
    ledger_ref run = drawing__method(drawing, "app.Main", "run", "()V");
    ledger_ref put = drawing__method(drawing, "app.Queue", "put", "()V");
    ledger_ref take = drawing__method(drawing, "app.Queue", "take", "()V");
    const ledger_ref in_put[2] = {put, run}, in_take[2] = {take, run};
    const struct drawn_time io[2] = {{METRIC_IO_WAIT, 80}}, fifty[2] = {{METRIC_MONITOR_WAIT, 50}};
    const struct drawn_time ten[2] = {{METRIC_MONITOR_WAIT, 10}};
    const struct drawn_time seventy[2] = {{METRIC_MONITOR_WAIT, 70}};
    const struct drawn_block blocks[] = {
        {"app.Disk",
         1,
         BLOCK_MONITOR,
         "middle",
         "disk",
         {1, 50, 50, 0, 0},
         16,
         {put, run},
         {take, run}},
        {"app.Queue",
         2,
         BLOCK_MONITOR,
         "first",
         "middle",
         {1, 40, 40, 0, 0},
         16,
         {run},
         {put, run}},
        {"app.Row", 3, BLOCK_MONITOR, "first", "middle", {1, 8, 8, 0, 0}, 13, {run}, {put, run}},
        {"app.X", 4, BLOCK_MONITOR, "x", "y", {1, 10, 10, 0, 0}, 14, {put, run}, {put, run}},
        {"app.Y", 5, BLOCK_MONITOR, "y", "x", {1, 10, 10, 0, 0}, 14, {put, run}, {put, run}},
        {"app.Queue",
         2,
         BLOCK_MONITOR,
         "self",
         "disk",
         {1, 70, 70, 0, 0},
         17,
         {put, run},
         {take, run}},
        {"app.Queue", 2, BLOCK_MONITOR, "late", "self", {1, 10, 10, 0, 0}, 14, {run}, {put, run}},
        {"app.Row", 3, BLOCK_MONITOR, "lost", NULL, {1, 5, 5, 0, 0}, 13, {run}, {0}},
    };
    for (size_t i = 0; i < sizeof(blocks) / sizeof(blocks[0]); i++)
        locks__block(drawing, &blocks[i]);
    cascade__thread(drawing, "disk", in_take, 20, io);
    cascade__thread(drawing, "middle", in_put, 50, fifty);
    cascade__thread(drawing, "x", in_put, 0, ten);
    cascade__thread(drawing, "y", in_put, 0, ten);
    cascade__thread(drawing, "self", in_put, 30, seventy);
}

#endif
