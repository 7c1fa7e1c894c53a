/*
 * The ledger that most tests of the command line read, and one of the same process eight seconds
 * before; and what all drawings have in common with it.
 */
#ifndef TREADLE_TESTS_PLAIN_DRAWING_H
#define TREADLE_TESTS_PLAIN_DRAWING_H

#include "tests/ledger_drawing.h"

#include <errno.h>

#define PLAIN_MS UINT64_C(1000000)
#define PLAIN_S  UINT64_C(1000000000)

static inline void plain__describe(struct drawing *drawing)
{
    struct ledger_header *header = drawing->ledger.header;
    header->machine = drawing__string(drawing, "Linux 6.1.0 x86_64, 2 processors, AMD EPYC");
    header->jvm = drawing__string(drawing, "OpenJDK 64-Bit Server VM 17.0.15+6");
    header->command = drawing__string(drawing, "demo.Main --rounds 3");
    header->options = drawing__string(drawing, "include=demo.*");
    header->asof_ns = 10 * PLAIN_S;
    header->pid = 4242;
    header->snapshots = 1;
    header->process_cpu_ns = 5 * PLAIN_S + 100;
    header->process_user_ns = 4 * PLAIN_S;
    header->process_system_ns = 1 * PLAIN_S + 100;
    header->source_error[SOURCE_TASKSTATS] = EPERM;
}

static inline void plain__set_times(struct drawing *drawing, ledger_ref thread, int32_t tid,
                                    uint64_t start_ns, uint64_t end_ns)
{
    struct ledger_thread *record = drawing__thread_at(drawing, thread);
    record->tids[record->tid_count++] = tid;
    record->start_ns = start_ns;
    record->end_ns = end_ns;
    if (end_ns)
        record->flags |= THREAD_TERMINATED;
}

static inline void plain__set_totals(struct drawing *drawing, ledger_ref thread, uint64_t factor)
{
    drawing__total(drawing, thread, METRIC_USER, factor * 100 * PLAIN_MS);
    drawing__total(drawing, thread, METRIC_SYSTEM, factor * 20 * PLAIN_MS);
    drawing__total(drawing, thread, METRIC_VOLUNTARY_SWITCHES, factor * 1000);
    drawing__total(drawing, thread, METRIC_INVOLUNTARY_SWITCHES, factor * 7);
    drawing__total(drawing, thread, METRIC_MINOR_FAULTS, factor * 321);
    drawing__total(drawing, thread, METRIC_MAJOR_FAULTS, 0);
    drawing__total(drawing, thread, METRIC_READ_BYTES, factor * 123456);
    drawing__total(drawing, thread, METRIC_WRITE_BYTES, factor * 5000);
    drawing__total(drawing, thread, METRIC_RUN_QUEUE_DELAY, factor * 3 * PLAIN_MS);
}

/*
 * main (ended, 2.2 s wall)                  worker-1 (running, 9 s wall)      GC Thread#0
 *   (thread)             base 100 ms          (thread)        base 0          (thread) 1 s
 *     Main.main  x1            200 ms           (between…)         50 ms
 *       Main.fib x10           300 ms           Main.work x4     2350 ms
 *         Main.fib x90         500 ms             Main.fib x7     200 ms      native 0.3 s
 *       Main.work x2             0 ms
 */
static inline ledger_ref plain__draw(struct drawing *drawing)
{
    plain__describe(drawing);
    ledger_ref main_method =
        drawing__method(drawing, "demo.Main", "main", "([Ljava/lang/String;)V");
    ledger_ref fib = drawing__method(drawing, "demo.Main", "fib", "(I)J");
    ledger_ref work = drawing__method(drawing, "demo.Main", "work", "()V");

    ledger_ref main_thread = drawing__thread(drawing, "main", THREAD_PLATFORM, 100 * PLAIN_MS);
    ledger_ref in_main =
        drawing__call(drawing, drawing__root(drawing, main_thread), main_method, 1, 200 * PLAIN_MS);
    ledger_ref in_fib = drawing__call(drawing, in_main, fib, 10, 300 * PLAIN_MS);
    ledger_ref nested = drawing__call(drawing, in_fib, fib, 90, 500 * PLAIN_MS);
    drawing__call(drawing, in_main, work, 2, 0);
    drawing__side(drawing, nested, METRIC_MINOR_FAULTS, 33);
    plain__set_times(drawing, main_thread, 4242, 0, 2200 * PLAIN_MS);
    plain__set_totals(drawing, main_thread, 2);

    ledger_ref worker = drawing__thread(drawing, "worker-1", THREAD_PLATFORM, 0);
    drawing__node(drawing, drawing__root(drawing, worker), NODE_GAP, 0, 0, 50 * PLAIN_MS);
    ledger_ref in_work =
        drawing__call(drawing, drawing__root(drawing, worker), work, 4, 2350 * PLAIN_MS);
    drawing__call(drawing, in_work, fib, 7, 200 * PLAIN_MS);
    plain__set_times(drawing, worker, 4243, 1 * PLAIN_S, 0);
    plain__set_times(drawing, worker, 4250, 1 * PLAIN_S, 0);
    plain__set_totals(drawing, worker, 10);
    drawing__thread_at(drawing, worker)->parent = main_thread;
    ledger__rename_thread(&drawing->ledger, drawing__thread_at(drawing, worker), "worker: idle", 12,
                          5 * PLAIN_S);

    ledger_ref collector = drawing__thread(drawing, "GC Thread#0", THREAD_VM, 1 * PLAIN_S);
    plain__set_times(drawing, collector, 4244, 0, 0);
    plain__set_totals(drawing, collector, 1);
    ledger_ref native = drawing__thread(drawing, "helper", THREAD_NATIVE, 300 * PLAIN_MS);
    plain__set_times(drawing, native, 4245, 0, 0);
    plain__set_totals(drawing, native, 1);
    return main_thread;
}

/*
 * A snapshot of the same process when it was 2 s old, and its CPU 1 s.
 *
 * main                                      worker-1                          GC Thread#0 200 ms
 *   (thread)              40 ms               (thread)        base 0          helper 100 ms
 *     Main.main  x1      150 ms                 (between…)         50 ms
 *       Main.fib x4      100 ms                 Main.work x1      160 ms
 *         Main.fib x20   100 ms
 *       Main.work x2       0 ms
 */
static inline void plain__draw_earlier(struct drawing *drawing)
{
    plain__describe(drawing);
    drawing->ledger.header->asof_ns = 2 * PLAIN_S;
    drawing->ledger.header->process_cpu_ns = 1 * PLAIN_S;
    drawing->ledger.header->process_user_ns = 1 * PLAIN_S;
    drawing->ledger.header->process_system_ns = 0;
    ledger_ref main_method =
        drawing__method(drawing, "demo.Main", "main", "([Ljava/lang/String;)V");
    ledger_ref fib = drawing__method(drawing, "demo.Main", "fib", "(I)J");
    ledger_ref work = drawing__method(drawing, "demo.Main", "work", "()V");
    ledger_ref main_thread = drawing__thread(drawing, "main", THREAD_PLATFORM, 40 * PLAIN_MS);
    ledger_ref in_main =
        drawing__call(drawing, drawing__root(drawing, main_thread), main_method, 1, 150 * PLAIN_MS);
    ledger_ref in_fib = drawing__call(drawing, in_main, fib, 4, 100 * PLAIN_MS);
    drawing__call(drawing, in_fib, fib, 20, 100 * PLAIN_MS);
    drawing__call(drawing, in_main, work, 2, 0);
    plain__set_times(drawing, main_thread, 4242, 0, 0);
    plain__set_totals(drawing, main_thread, 1);
    ledger_ref worker = drawing__thread(drawing, "worker-1", THREAD_PLATFORM, 0);
    drawing__node(drawing, drawing__root(drawing, worker), NODE_GAP, 0, 0, 50 * PLAIN_MS);
    drawing__call(drawing, drawing__root(drawing, worker), work, 1, 160 * PLAIN_MS);
    plain__set_times(drawing, worker, 4243, 1 * PLAIN_S, 0);
    plain__set_totals(drawing, worker, 1);
    ledger_ref collector = drawing__thread(drawing, "GC Thread#0", THREAD_VM, 200 * PLAIN_MS);
    plain__set_times(drawing, collector, 4244, 0, 0);
    ledger_ref native = drawing__thread(drawing, "helper", THREAD_NATIVE, 100 * PLAIN_MS);
    plain__set_times(drawing, native, 4245, 0, 0);
}

#endif
