/* What is wrong with locks, as waits=on records it. */
#ifndef TREADLE_TESTS_HAZARDS_DRAWING_H
#define TREADLE_TESTS_HAZARDS_DRAWING_H

#include "tests/cli/locks_drawing.h"

static inline void *hazards__record(struct drawing *drawing, enum ledger_table table, size_t bytes)
{
    ledger_ref ref =
        ledger__take_shared(&drawing->ledger, table, (uint32_t)(bytes / LEDGER_CELL_BYTES));
    drawing__check(ref != 0, "no room for a hazard");
    return ledger__at(&drawing->ledger, ref);
}

struct drawn_stuck {
    uint64_t deadlock;
    uint32_t position;
    uint32_t threads;
    const char *thread;
    const char *class_name; /* or NULL */
    uint32_t identity;
    enum ledger_block_kind kind;
    uint32_t flags;
    uint64_t since_ms; /* and found a second later; 0: not known */
    uint64_t ended_ms;
    const char *path[2]; /* the innermost first */
};

static inline void hazards__stuck(struct drawing *drawing, const struct drawn_stuck *drawn)
{
    struct ledger_stuck *stuck = hazards__record(drawing, LEDGER_STUCK, sizeof(*stuck));

    *stuck = (struct ledger_stuck){
        .deadlock = drawn->deadlock,
        .since_ns = drawn->since_ms * PLAIN_MS,
        .found_ns = drawn->since_ms * PLAIN_MS + PLAIN_S,
        .ended_ns = drawn->ended_ms * PLAIN_MS,
        .java_id = 40 + drawn->position,
        .thread = drawing__string(drawing, drawn->thread),
        .class_name = drawn->class_name ? drawing__string(drawing, drawn->class_name) : 0,
        .identity = drawn->identity,
        .kind = drawn->kind,
        .position = drawn->position,
        .threads = drawn->threads,
        .flags = drawn->flags,
    };
    for (unsigned i = 0; i < 2 && drawn->path[i]; i++)
        stuck->path[i] = drawing__string(drawing, drawn->path[i]);
}

/* Locks are classes of one letter; their identity is the letter. */
struct drawn_order {
    const char *thread;
    const char *held;
    const char *taken;
    const char *gate; /* or NULL */
    uint64_t thread_id;
    const char *path[2];
};

static inline void hazards__order(struct drawing *drawing, const struct drawn_order *drawn)
{
    struct ledger_order *order = hazards__record(drawing, LEDGER_ORDERS, sizeof(*order));

    *order = (struct ledger_order){
        .key = ++drawing->next_key,
        .first_ns = PLAIN_S,
        .count = 3,
        .thread_id = drawn->thread_id,
        .thread = drawing__string(drawing, drawn->thread),
        .class_name = {drawing__string(drawing, drawn->held),
                       drawing__string(drawing, drawn->taken)},
        .identity = {(uint32_t)*drawn->held, (uint32_t)*drawn->taken},
        .kind = {BLOCK_MONITOR, BLOCK_MONITOR},
        .held_frame = 1,
        .flags = ORDER_LOCKS_KNOWN,
    };
    if (drawn->gate) {
        order->gate_class[0] = drawing__string(drawing, drawn->gate);
        order->gate[0] = (uint32_t)*drawn->gate;
    }
    for (unsigned i = 0; i < 2 && drawn->path[i]; i++)
        order->path[i] = drawing__string(drawing, drawn->path[i]);
}

static inline void hazards__draw_deadlocks(struct drawing *drawing)
{
    static const struct drawn_stuck all[] = {
        /* Lasts since 8 s, of 10; the second one joined it. */
        {1,
         1,
         2,
         "pay-2",
         "app.Account",
         0x4d2,
         BLOCK_MONITOR,
         0,
         8000,
         0,
         {"app.Pay.to", "app.Main.run"}},
        {1,
         0,
         2,
         "pay-1",
         "java.util.concurrent.locks.ReentrantLock$NonfairSync",
         0x7b,
         BLOCK_PARK,
         0,
         7000,
         0,
         {"java.util.concurrent.locks.ReentrantLock.lock", "app.Pay.from"}},
        /* Is over. */
        {2, 0, 2, "old-1", "app.Old", 1, BLOCK_MONITOR, 0, 1000, 3000, {NULL}},
        {2, 1, 2, "old-2", "app.Old", 2, BLOCK_MONITOR, 0, 1000, 3000, {NULL}},
        /* Will be over; began when nobody looked. */
        {3, 0, 2, "try-1", NULL, 0, BLOCK_MONITOR, 0, 0, 0, {"app.Try.now"}},
        {3,
         1,
         2,
         "try-2",
         "app.Try",
         9,
         BLOCK_PARK,
         STUCK_TIMED | STUCK_VIRTUAL,
         9000,
         0,
         {"app.Try.soon"}},
        /* Make no sense: two threads at one position; alone; more threads than it says. */
        {4, 0, 2, "mad-1", "app.Mad", 1, BLOCK_MONITOR, 0, 1000, 0, {NULL}},
        {4, 0, 2, "mad-2", "app.Mad", 2, BLOCK_MONITOR, 0, 1000, 0, {NULL}},
        {5, 0, 2, "alone", "app.Mad", 2, BLOCK_MONITOR, 0, 1000, 0, {NULL}},
        {6, 0, 1, "many-1", "app.Mad", 2, BLOCK_MONITOR, 0, 1000, 0, {NULL}},
        {6, 1, 1, "many-2", "app.Mad", 2, BLOCK_MONITOR, 0, 1000, 0, {NULL}},
        /* Waits for itself; waits for its turn. */
        {7, 0, 1, "up", "app.Read", 3, BLOCK_PARK, 0, 9000, 0, {"app.Read.up"}},
        {8, 0, 2, "turn-1", "app.Read", 4, BLOCK_PARK, STUCK_BEHIND, 9000, 0, {NULL}},
        {8, 1, 2, "turn-2", "app.Read", 4, BLOCK_PARK, 0, 9000, 0, {NULL}},
    };

    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        hazards__stuck(drawing, &all[i]);
}

static inline void hazards__draw_orders(struct drawing *drawing)
{
    static const struct drawn_order all[] = {
        /* The hazard, twice in one direction. */
        {"left", "A", "B", NULL, 1, {"app.L.inner", "app.L.outer"}},
        {"left", "A", "B", "G", 1, {"app.L.inner", "app.L.gated"}},
        {"right", "B", "A", "H", 2, {"app.R.inner", "app.R.outer"}},
        /* One thread in both orders. */
        {"self", "C", "D", NULL, 3, {NULL}},
        {"self", "D", "C", NULL, 3, {NULL}},
        /* Behind a gate. */
        {"one", "E", "F", "G", 4, {NULL}},
        {"two", "F", "E", "G", 5, {NULL}},
        /* One order, two threads. */
        {"one", "I", "J", NULL, 4, {NULL}},
        {"two", "I", "J", NULL, 5, {NULL}},
        /* A lock before itself. */
        {"one", "K", "K", NULL, 4, {NULL}},
        {"two", "K", "K", NULL, 5, {NULL}},
    };

    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        hazards__order(drawing, &all[i]);
}

#define BARRIER "pthread_barrier_t in libmeet.so"
#define CND     "cnd_t in libmeet.so"
#define FUTEX   "futex in libmeet.so"

/*
 * Waits with priorities 8 and 2, of 30 ms at most: an inversion. The same the other way around,
 * with the same priorities, and of 9 ms: none. app.Till: 6000 waits of three threads, 16 s in 6 of
 * 10 s: a convoy. app.Calm: the like of two threads is none, nor is that of three threads that meet
 * at a barrier, at a condition of C11, or in the kernel.
 */
static inline void hazards__draw_blocks(struct drawing *drawing)
{
    ledger_ref run = drawing__method(drawing, "app.Main", "run", "()V");
    const struct {
        struct drawn_block block;
        uint32_t priorities[2];
    } all[] = {
        {{"app.Rank", 1, BLOCK_MONITOR, "high", "low", {2, 40, 30, 30, 20}, 15, {run}, {run}},
         {8, 2}},
        {{"app.Rank", 2, BLOCK_MONITOR, "low", "high", {2, 40, 30, 30, 20}, 15, {run}, {run}},
         {2, 8}},
        {{"app.Rank", 3, BLOCK_MONITOR, "same", "like", {2, 40, 30, 30, 20}, 15, {run}, {run}},
         {5, 5}},
        {{"app.Rank", 4, BLOCK_MONITOR, "high", "low", {9, 40, 9, 30, 8}, 14, {run}, {run}},
         {8, 2}},
        {{"app.Rank", 5, BLOCK_MONITOR, "high", NULL, {2, 40, 30, 30, 20}, 15, {run}, {run}},
         {8, 0}},
        {{"app.Till", 6, BLOCK_MONITOR, "a", "b", {400, 4000, 30, 1000, 2}, 14, {run}, {run}},
         {5, 5}},
        {{"app.Till", 6, BLOCK_MONITOR, "b", "c", {400, 4000, 30, 1000, 2}, 14, {run}, {run}},
         {5, 5}},
        {{"app.Till", 6, BLOCK_MONITOR, "c", "a", {5200, 8000, 30, 4000, 2}, 14, {run}, {run}},
         {5, 5}},
        {{"app.Calm", 7, BLOCK_MONITOR, "a", "b", {3000, 6000, 30, 3000, 2}, 14, {run}, {run}},
         {5, 5}},
        {{"app.Calm", 7, BLOCK_MONITOR, "b", "a", {3000, 6000, 30, 3000, 2}, 14, {run}, {run}},
         {5, 5}},
        {{BARRIER, 8, BLOCK_NATIVE, "a", NULL, {3000, 6000, 30, 2000, 2}, 14, {run}, {0}}, {5, 0}},
        {{BARRIER, 8, BLOCK_NATIVE, "b", NULL, {3000, 6000, 30, 2000, 2}, 14, {run}, {0}}, {5, 0}},
        {{BARRIER, 8, BLOCK_NATIVE, "c", NULL, {3000, 6000, 30, 2000, 2}, 14, {run}, {0}}, {5, 0}},
        {{CND, 9, BLOCK_NATIVE, "a", NULL, {3000, 6000, 30, 2000, 2}, 14, {run}, {0}}, {5, 0}},
        {{CND, 9, BLOCK_NATIVE, "b", NULL, {3000, 6000, 30, 2000, 2}, 14, {run}, {0}}, {5, 0}},
        {{CND, 9, BLOCK_NATIVE, "c", NULL, {3000, 6000, 30, 2000, 2}, 14, {run}, {0}}, {5, 0}},
        {{FUTEX, 10, BLOCK_NATIVE, "a", NULL, {3000, 6000, 30, 2000, 2}, 14, {run}, {0}}, {5, 0}},
        {{FUTEX, 10, BLOCK_NATIVE, "b", NULL, {3000, 6000, 30, 2000, 2}, 14, {run}, {0}}, {5, 0}},
        {{FUTEX, 10, BLOCK_NATIVE, "c", NULL, {3000, 6000, 30, 2000, 2}, 14, {run}, {0}}, {5, 0}},
    };

    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        struct ledger_block *block =
            ledger__at(&drawing->ledger, locks__block(drawing, &all[i].block));

        block->waiter_priority = all[i].priorities[0];
        block->holder_priority = all[i].priorities[1];
    }
}

static inline void hazards__begin(struct drawing *drawing)
{
    plain__describe(drawing);
    drawing->ledger.header->metrics_charged |= LEDGER_WAIT_METRICS;
    drawing->ledger.header->heard_waits = 9000;
    ledger_ref main_thread = drawing__thread(drawing, "main", THREAD_PLATFORM, PLAIN_MS);
    plain__set_times(drawing, main_thread, 4242, 0, 0);
}

static inline void hazards__draw(struct drawing *drawing)
{
    hazards__begin(drawing);
    drawing->ledger.header->lost_hazards = 3;
    drawing->ledger.header->unwatched_waits = 12;
    hazards__draw_deadlocks(drawing);
    hazards__draw_orders(drawing);
    hazards__draw_blocks(drawing);
}

/* Of waits only: nothing that makes --check fail. */
static inline void hazards__draw_harmless(struct drawing *drawing)
{
    static const struct drawn_stuck timed[] = {
        {1, 0, 2, "try-1", "app.Try", 8, BLOCK_MONITOR, 0, 9000, 0, {NULL}},
        {1, 1, 2, "try-2", "app.Try", 9, BLOCK_PARK, STUCK_TIMED, 9000, 0, {NULL}},
    };

    hazards__begin(drawing);
    hazards__stuck(drawing, &timed[0]);
    hazards__stuck(drawing, &timed[1]);
    hazards__draw_blocks(drawing);
}

#endif
