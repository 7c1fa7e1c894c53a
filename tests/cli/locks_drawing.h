/* Waits for locks, as waits=on records them. */
#ifndef TREADLE_TESTS_LOCKS_DRAWING_H
#define TREADLE_TESTS_LOCKS_DRAWING_H

#include "tests/cli/plain_drawing.h"

/* Numbers in ms; `waits` says in which bucket all of them are. */
struct drawn_block {
    const char *class_name;
    uint32_t identity;
    enum ledger_block_kind kind;
    const char *waiter;
    const char *holder;  /* or NULL */
    uint64_t numbers[5]; /* count, wait, longest wait, hold, longest hold */
    unsigned waits;
    ledger_ref waiter_path[2]; /* the innermost first */
    ledger_ref holder_path[2];
};

static inline ledger_ref locks__block(struct drawing *drawing, const struct drawn_block *drawn)
{
    ledger_ref ref = ledger__take_shared(&drawing->ledger, LEDGER_BLOCKS,
                                         sizeof(struct ledger_block) / LEDGER_CELL_BYTES);
    drawing__check(ref != 0, "no room for a block");
    struct ledger_block *block = ledger__at(&drawing->ledger, ref);
    *block = (struct ledger_block){
        .key = ++drawing->next_key,
        .class_name = drawing__string(drawing, drawn->class_name),
        .identity = drawn->identity,
        .kind = drawn->kind,
        .waiter = drawing__string(drawing, drawn->waiter),
        .holder = drawn->holder ? drawing__string(drawing, drawn->holder) : 0,
        .count = drawn->numbers[0],
        .wait_ns = drawn->numbers[1] * PLAIN_MS,
        .wait_max_ns = drawn->numbers[2] * PLAIN_MS,
        .hold_ns = drawn->numbers[3] * PLAIN_MS,
        .hold_max_ns = drawn->numbers[4] * PLAIN_MS,
    };
    block->waits[drawn->waits] = (uint32_t)drawn->numbers[0];
    memcpy(block->waiter_path, drawn->waiter_path, sizeof(drawn->waiter_path));
    memcpy(block->holder_path, drawn->holder_path, sizeof(drawn->holder_path));
    return ref;
}

static inline struct ledger_block *locks__block_at(struct drawing *drawing, ledger_ref ref)
{
    return ledger__at(&drawing->ledger, ref);
}

/*
 * waiter     blocker   lock                           waits  wait    longest  held   longest
 * pool-1     main      app.Queue 4d2                     10   100 ms    9 ms    80 ms    30 ms
 * pool-2     main      app.Queue 4d2                      5    50 ms   12 ms    10 ms     5 ms
 *                      … and since 9 s, until 10 s        1  1000 ms 1000 ms
 * pool-1     -         app.Queue 4d2                      1     3 ms    3 ms     0
 * main       -         Semaphore$NonfairSync 7b, park     2  3000 ms 2000 ms     0
 * worker-#   worker-#  app.Row, any                    1000     5 ms    1 ms     4 ms     1 ms
 *
 * The lock of the semaphore's row was acquired 500 times, and had an owner that had acquired it
 * once when somebody began to wait; app.Queue was nested once when pool-1 waited for main, and
 * twice when pool-2 did.
 *
 * And main held app.Queue 4d2, until it left take, 4 times for 200 ms, the longest 90 ms, of 10 s.
 */
static inline void locks__draw(struct drawing *drawing)
{
    plain__describe(drawing);
    drawing->ledger.header->metrics_charged |= LEDGER_WAIT_METRICS;
    drawing->ledger.header->lost_blocks = 7;
    drawing->ledger.header->unwrapped_images = 1;
    drawing->ledger.header->unnamed_images = 2;
    drawing->ledger.header->heard_waits = 3000;
    drawing->ledger.header->unheard_waits = 1000;
    drawing->ledger.header->unseen_holds = 1234;
    ledger_ref run = drawing__method(drawing, "app.Main", "run", "()V");
    ledger_ref put = drawing__method(drawing, "app.Queue", "put", "()V");
    ledger_ref take = drawing__method(drawing, "app.Queue", "take", "()V");
    const struct drawn_block blocks[] = {
        {"app.Queue",
         0x4d2,
         BLOCK_MONITOR,
         "pool-1",
         "main",
         {10, 100, 9, 80, 30},
         14,
         {put, run},
         {take, run}},
        {"app.Queue",
         0x4d2,
         BLOCK_MONITOR,
         "pool-2",
         "main",
         {5, 50, 12, 10, 5},
         14,
         {take, run},
         {take, run}},
        {"app.Queue", 0x4d2, BLOCK_MONITOR, "pool-1", NULL, {1, 3, 3, 0, 0}, 12, {put, run}, {0}},
        {"java.util.concurrent.Semaphore$NonfairSync",
         0x7b,
         BLOCK_PARK,
         "main",
         NULL,
         {2, 3000, 2000, 0, 0},
         21,
         {run},
         {0}},
        {"app.Row", 0, BLOCK_MONITOR, "worker-#", "worker-#", {1000, 5, 1, 4, 1}, 3, {run}, {run}},
        {"app.Queue",
         0x4d2,
         BLOCK_HELD_MONITOR,
         "main",
         NULL,
         {4, 200, 90, 0, 0},
         17,
         {take, run},
         {0}},
    };
    ledger_ref refs[sizeof(blocks) / sizeof(blocks[0])];
    for (size_t i = 0; i < sizeof(blocks) / sizeof(blocks[0]); i++)
        refs[i] = locks__block(drawing, &blocks[i]);
    locks__block_at(drawing, refs[0])->depth_max = 2;
    locks__block_at(drawing, refs[1])->depth_max = 3;
    locks__block_at(drawing, refs[3])->depth_max = 1;
    locks__block_at(drawing, refs[3])->acquisitions = 500;
    ledger_ref main_thread = drawing__thread(drawing, "main", THREAD_PLATFORM, PLAIN_MS);
    plain__set_times(drawing, main_thread, 4242, 0, 0);
    ledger_ref waiting = drawing__thread(drawing, "pool-2", THREAD_PLATFORM, PLAIN_MS);
    plain__set_times(drawing, waiting, 4243, 0, 0);
    drawing__thread_at(drawing, waiting)->block = refs[1];
    drawing__thread_at(drawing, waiting)->blocked_ns = 9 * PLAIN_S;
}

#endif
