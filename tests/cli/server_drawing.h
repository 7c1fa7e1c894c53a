/*
 * A server with pools of threads, and a process at several moments, for the page of `treadle html`.
 */
#ifndef TREADLE_TESTS_SERVER_DRAWING_H
#define TREADLE_TESTS_SERVER_DRAWING_H

#include "tests/ledger_drawing.h"

#include <stdio.h>

#define SERVER_MS      UINT64_C(1000000)
#define SERVER_METHODS 3000u
#define SERVER_CALLS   40u /* of each thread but those of the VM, in a tree some six deep */

/* What every kernel gives for a thread. */
static inline void server__totals(struct drawing *drawing, ledger_ref thread, uint64_t seed)
{
    drawing__total(drawing, thread, METRIC_USER, seed % 977 * SERVER_MS);
    drawing__total(drawing, thread, METRIC_SYSTEM, seed % 71 * SERVER_MS);
    drawing__total(drawing, thread, METRIC_VOLUNTARY_SWITCHES, seed % 100003);
    drawing__total(drawing, thread, METRIC_INVOLUNTARY_SWITCHES, seed % 997);
    drawing__total(drawing, thread, METRIC_MINOR_FAULTS, seed % 5003);
    drawing__total(drawing, thread, METRIC_READ_BYTES, seed % 100000007);
    drawing__total(drawing, thread, METRIC_WRITE_BYTES, seed % 10000019);
    drawing__total(drawing, thread, METRIC_RUN_QUEUE_DELAY, seed % 300 * SERVER_MS + seed % 99991);
}

static inline uint64_t server__random(uint64_t *random)
{
    *random = *random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *random >> 20;
}

/* Main, and so many threads less one in six pools, one of them of virtual threads; the same every
 * time. All pools have threads, from six on. */
static inline void server__draw(struct drawing *drawing, unsigned threads)
{
    static const struct {
        const char *name;
        enum ledger_thread_kind kind;
    } pools[] = {
        {"http-nio-8080-exec-%u", THREAD_PLATFORM},
        {"ActiveMQ Session Task of the orders queue, consumer %u", THREAD_PLATFORM},
        {"pool-7-thread-%u", THREAD_PLATFORM},
        {"GC Thread#%u", THREAD_VM},
        {"ForkJoinPool.commonPool-worker-%u", THREAD_PLATFORM},
        {"request-%u", THREAD_VIRTUAL},
    };
    enum { POOLS = sizeof(pools) / sizeof(pools[0]) };
    static ledger_ref methods[SERVER_METHODS];
    uint64_t random = 1;
    for (unsigned i = 0; i < SERVER_METHODS; i++) {
        char class_name[80], name[32];
        snprintf(class_name, sizeof(class_name), "com.example.shop.part%u.service.OrderService%u",
                 i / 100, i / 10);
        snprintf(name, sizeof(name), "handle%u", i % 10);
        methods[i] = drawing__method(drawing, class_name, name, "(Ljava/lang/Object;)V");
    }
    for (unsigned i = 0; i < threads; i++) {
        char name[80] = "main";
        unsigned pool = i % 10 < 5 ? 0 : i % 10 - 4; /* half of them are the server's own */
        enum ledger_thread_kind kind = i ? pools[pool % POOLS].kind : THREAD_PLATFORM;
        if (i)
            snprintf(name, sizeof(name), pools[pool % POOLS].name, i);
        ledger_ref thread = drawing__thread(drawing, name, kind, server__random(&random) % 1000003);
        struct ledger_thread *record = drawing__thread_at(drawing, thread);
        record->tids[record->tid_count++] = (int32_t)(5000 + i);
        record->java_id = i + 1;
        record->start_ns = i * UINT64_C(800000);
        server__totals(drawing, thread, server__random(&random));
        ledger_ref calls[SERVER_CALLS + 1] = {drawing__root(drawing, thread)};
        for (unsigned call = 1; call <= SERVER_CALLS && kind != THREAD_VM; call++)
            calls[call] = drawing__call(
                drawing, calls[(call - 1) / 2],
                methods[(pool * 31 + call * 7 + server__random(&random) % 3) % SERVER_METHODS],
                1 + server__random(&random) % 5000, server__random(&random) % 30000017);
    }
}

/*
 * A process after `moment` times 10 s of wall time; what each of its threads had used up by then:
 *
 *   main             in Main.main 1 s at the first, 2 s from the second on
 *   pool-1-thread-I  in Main.work, I = 1, 2, 3: I * 100 ms more at the second moment, twice that
 *                    more at the third, and so on
 *   late             in Main.work, there from the third on: 500 ms
 *   short-7          40 ms, over, at the first two; from the third on it is in
 *   short-#          five threads that are over: 100 ms
 *   GC Thread#0      200 ms more at each
 *
 * There is one call of Main.work for each 10 ms in it.
 */
static inline void moment__draw(struct drawing *drawing, unsigned moment)
{
    const uint64_t s = 1000 * SERVER_MS;
    struct ledger_header *header = drawing->ledger.header;
    ledger_ref main_method = drawing__method(drawing, "demo.Main", "main", "()V");
    ledger_ref work = drawing__method(drawing, "demo.Main", "work", "()V");
    header->start_ticks = 777;
    header->asof_ns = moment * 10 * s;
    uint64_t sum = 0;

    uint64_t cpu = (moment < 2 ? 1 : 2) * s;
    ledger_ref thread = drawing__thread(drawing, "main", THREAD_PLATFORM, 0);
    drawing__thread_at(drawing, thread)->java_id = 1;
    drawing__call(drawing, drawing__root(drawing, thread), main_method, 1, cpu);
    sum += cpu;
    for (unsigned i = 1; i <= 3; i++) {
        char name[32];
        snprintf(name, sizeof(name), "pool-1-thread-%u", i);
        cpu = i * 100 * SERVER_MS * (moment * (moment - 1) / 2);
        thread = drawing__thread(drawing, name, THREAD_PLATFORM, 0);
        drawing__thread_at(drawing, thread)->java_id = 10 + i;
        if (cpu)
            drawing__call(drawing, drawing__root(drawing, thread), work, cpu / (10 * SERVER_MS),
                          cpu);
        sum += cpu;
    }
    if (moment >= 3) {
        thread = drawing__thread(drawing, "late", THREAD_PLATFORM, 0);
        drawing__thread_at(drawing, thread)->java_id = 20;
        drawing__thread_at(drawing, thread)->start_ns = 25 * s;
        drawing__call(drawing, drawing__root(drawing, thread), work, 50, 500 * SERVER_MS);
        sum += 500 * SERVER_MS;
    }
    cpu = (moment < 3 ? 40 : 100) * SERVER_MS;
    thread = drawing__thread(drawing, moment < 3 ? "short-7" : "short-#", THREAD_PLATFORM, cpu);
    struct ledger_thread *record = drawing__thread_at(drawing, thread);
    record->flags |= THREAD_TERMINATED;
    record->end_ns = 5 * s;
    record->java_id = moment < 3 ? 30 : 0;
    if (moment >= 3) {
        record->flags |= THREAD_GROUP;
        record->members = 5;
    }
    sum += cpu;
    cpu = moment * 200 * SERVER_MS;
    (void)drawing__thread(drawing, "GC Thread#0", THREAD_VM, cpu);
    header->process_cpu_ns = sum + cpu;
}

#endif
