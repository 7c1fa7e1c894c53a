/*
 * Makes the ledgers that the tests of the command line read: make_ledger KIND FILE [NUMBER].
 */
#include "native/kernel_metrics.h"
#include "tests/ledger_drawing.h"

#include <errno.h>
#include <inttypes.h>

#define MS UINT64_C(1000000)
#define S  UINT64_C(1000000000)

static void describe(struct drawing *drawing)
{
    struct ledger_header *header = drawing->ledger.header;
    header->machine = drawing__string(drawing, "Linux 6.1.0 x86_64, 2 processors, AMD EPYC");
    header->jvm = drawing__string(drawing, "OpenJDK 64-Bit Server VM 17.0.15+6");
    header->command = drawing__string(drawing, "demo.Main --rounds 3");
    header->options = drawing__string(drawing, "include=demo.*");
    header->asof_ns = 10 * S;
    header->pid = 4242;
    header->snapshots = 1;
    header->process_cpu_ns = 5 * S + 100;
    header->process_user_ns = 4 * S;
    header->process_system_ns = 1 * S + 100;
    header->source_error[SOURCE_TASKSTATS] = EPERM;
}

static void set_times(struct drawing *drawing, ledger_ref thread, int32_t tid, uint64_t start_ns,
                      uint64_t end_ns)
{
    struct ledger_thread *record = drawing__thread_at(drawing, thread);
    record->tids[record->tid_count++] = tid;
    record->start_ns = start_ns;
    record->end_ns = end_ns;
    if (end_ns)
        record->flags |= THREAD_TERMINATED;
}

static void set_totals(struct drawing *drawing, ledger_ref thread, uint64_t factor)
{
    drawing__total(drawing, thread, METRIC_USER, factor * 100 * MS);
    drawing__total(drawing, thread, METRIC_SYSTEM, factor * 20 * MS);
    drawing__total(drawing, thread, METRIC_VOLUNTARY_SWITCHES, factor * 1000);
    drawing__total(drawing, thread, METRIC_INVOLUNTARY_SWITCHES, factor * 7);
    drawing__total(drawing, thread, METRIC_MINOR_FAULTS, factor * 321);
    drawing__total(drawing, thread, METRIC_MAJOR_FAULTS, 0);
    drawing__total(drawing, thread, METRIC_READ_BYTES, factor * 123456);
    drawing__total(drawing, thread, METRIC_WRITE_BYTES, factor * 5000);
    drawing__total(drawing, thread, METRIC_RUN_QUEUE_DELAY, factor * 3 * MS);
}

/*
 * main (ended, 2.2 s wall)                  worker-1 (running, 9 s wall)      GC Thread#0
 *   (thread)             base 100 ms          (thread)        base 0          (thread) 1 s
 *     Main.main  x1            200 ms           (between…)         50 ms
 *       Main.fib x10           300 ms           Main.work x4     2350 ms
 *         Main.fib x90         500 ms             Main.fib x7     200 ms      native 0.3 s
 *       Main.work x2             0 ms
 */
static ledger_ref draw_plain(struct drawing *drawing)
{
    describe(drawing);
    ledger_ref main_method =
        drawing__method(drawing, "demo.Main", "main", "([Ljava/lang/String;)V");
    ledger_ref fib = drawing__method(drawing, "demo.Main", "fib", "(I)J");
    ledger_ref work = drawing__method(drawing, "demo.Main", "work", "()V");

    ledger_ref main_thread = drawing__thread(drawing, "main", THREAD_PLATFORM, 100 * MS);
    ledger_ref in_main =
        drawing__call(drawing, drawing__root(drawing, main_thread), main_method, 1, 200 * MS);
    ledger_ref in_fib = drawing__call(drawing, in_main, fib, 10, 300 * MS);
    ledger_ref nested = drawing__call(drawing, in_fib, fib, 90, 500 * MS);
    drawing__call(drawing, in_main, work, 2, 0);
    drawing__side(drawing, nested, METRIC_MINOR_FAULTS, 33);
    set_times(drawing, main_thread, 4242, 0, 2200 * MS);
    set_totals(drawing, main_thread, 2);

    ledger_ref worker = drawing__thread(drawing, "worker-1", THREAD_PLATFORM, 0);
    drawing__node(drawing, drawing__root(drawing, worker), NODE_GAP, 0, 0, 50 * MS);
    ledger_ref in_work = drawing__call(drawing, drawing__root(drawing, worker), work, 4, 2350 * MS);
    drawing__call(drawing, in_work, fib, 7, 200 * MS);
    set_times(drawing, worker, 4243, 1 * S, 0);
    set_times(drawing, worker, 4250, 1 * S, 0);
    set_totals(drawing, worker, 10);
    drawing__thread_at(drawing, worker)->parent = main_thread;
    ledger__rename_thread(&drawing->ledger, drawing__thread_at(drawing, worker), "worker: idle", 12,
                          5 * S);

    ledger_ref collector = drawing__thread(drawing, "GC Thread#0", THREAD_VM, 1 * S);
    set_times(drawing, collector, 4244, 0, 0);
    set_totals(drawing, collector, 1);
    ledger_ref native = drawing__thread(drawing, "helper", THREAD_NATIVE, 300 * MS);
    set_times(drawing, native, 4245, 0, 0);
    set_totals(drawing, native, 1);
    return main_thread;
}

static void draw_hostile(struct drawing *drawing)
{
    static char long_name[10241];
    memset(long_name, 'x', sizeof(long_name) - 1);
    const char *names[] = {
        "red \033[31malert\033[0m",
        "two\nlines\tand a tab",
        "evil \342\200\256txt.exe",
        "zero\xe2\x80\x8bwidth",
        long_name,
        "nul \xc0\x80 inside",
        "clef \xed\xa0\xb4\xed\xb4\x9e",
        "broken \xff\xfe",
        "comma, \"quoted\"",
        "csi \302\23331m",
        "",
        "\xe6\x97\xa5\xe6\x9c\xac",
    };
    describe(drawing);
    drawing->ledger.header->command = drawing__string(drawing, "demo.\033]0;owned\007Main");
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        ledger_ref method = drawing__method(drawing, names[i], names[i], "()V");
        ledger_ref thread = drawing__thread(drawing, names[i], THREAD_PLATFORM, MS);
        drawing__call(drawing, drawing__root(drawing, thread), method, 1, (i + 1) * MS);
        set_times(drawing, thread, (int32_t)i + 1, 0, 0);
    }
}

static void draw_pool(struct drawing *drawing)
{
    describe(drawing);
    for (unsigned i = 0; i < 12; i++) {
        char name[64];
        snprintf(name, sizeof(name), "pool-%u-thread-%u", i / 6 + 1, i * 7 + 1);
        ledger_ref thread = drawing__thread(drawing, name, THREAD_PLATFORM, (i + 1) * MS);
        set_times(drawing, thread, (int32_t)(100 + i), 0, i < 3 ? 0 : 5 * S);
        set_totals(drawing, thread, 1);
    }
    ledger_ref alone = drawing__thread(drawing, "alone-1", THREAD_PLATFORM, 500 * MS);
    set_times(drawing, alone, 99, 0, 0);
}

static void draw_losses(struct drawing *drawing)
{
    draw_plain(drawing);
    struct ledger_header *header = drawing->ledger.header;
    header->dropped_enters = 12345;
    header->dropped_threads = 2;
    header->dropped_side_values = 3;
    header->resynchronised = 4;
    header->full_error = ENOMEM;
}

static void draw_deep(struct drawing *drawing, unsigned depth)
{
    describe(drawing);
    ledger_ref methods[3] = {
        drawing__method(drawing, "demo.Deep", "a", "()V"),
        drawing__method(drawing, "demo.Deep", "b", "()V"),
        drawing__method(drawing, "demo.Deep", "c", "()V"),
    };
    ledger_ref thread = drawing__thread(drawing, "deep", THREAD_PLATFORM, 0);
    ledger_ref node = drawing__root(drawing, thread);
    for (unsigned i = 0; i < depth; i++)
        node = drawing__call(drawing, node, methods[i % 3], 1, 1000);
}

/* As the ledger of a process that runs: main is its first kernel thread. */
static void draw_own(struct drawing *drawing, pid_t pid)
{
    ledger_ref main_thread = draw_plain(drawing);
    struct ledger_header *header = drawing->ledger.header;
    header->pid = pid;
    header->uid = getuid();
    drawing__check(process_start__read(pid, &header->start_ticks) == 0, "process_start__read");
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
    drawing__check(file != NULL, "boot_id");
    drawing__check(fgets(header->boot_id, 37, file) != NULL, "boot_id");
    fclose(file);
    ledger_ref ref = ledger__take_shared(&drawing->ledger, LEDGER_KERNEL_THREADS,
                                         sizeof(struct ledger_kernel_thread) / LEDGER_CELL_BYTES);
    drawing__check(ref != 0, "the ledger is full");
    struct ledger_kernel_thread *record = ledger__at(&drawing->ledger, ref);
    record->tid = pid;
    record->start_ticks = header->start_ticks;
    record->thread = main_thread;
    record->current = drawing__root(drawing, main_thread);
}

int main(int argc, char **argv)
{
    struct drawing drawing;
    enum ledger_state state = LEDGER_CLOSED;
    if (argc < 3)
        return 2;
    unsigned number = argc > 3 ? (unsigned)strtoul(argv[3], NULL, 10) : 0;
    drawing__begin(&drawing, 64u << 20);
    if (strcmp(argv[1], "hostile") == 0) {
        draw_hostile(&drawing);
    } else if (strcmp(argv[1], "pool") == 0) {
        draw_pool(&drawing);
    } else if (strcmp(argv[1], "losses") == 0) {
        draw_losses(&drawing);
    } else if (strcmp(argv[1], "deep") == 0) {
        draw_deep(&drawing, number);
    } else if (strcmp(argv[1], "live") == 0) {
        draw_own(&drawing, (pid_t)number);
        state = LEDGER_LIVE;
    } else if (strcmp(argv[1], "orphan") == 0) {
        draw_plain(&drawing);
        drawing.ledger.header->pid = (int32_t)number;
        state = LEDGER_LIVE;
    } else {
        draw_plain(&drawing);
    }
    drawing__save(&drawing, argv[2], state);
    drawing__end(&drawing);
    return 0;
}
