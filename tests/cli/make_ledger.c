/*
 * Makes the ledgers that the tests of the command line read: make_ledger KIND FILE [NUMBER].
 */
#include "native/proc/process_stat.h"
#include "tests/cli/budget_drawing.h"
#include "tests/cli/cascade_drawing.h"
#include "tests/cli/chains_drawing.h"
#include "tests/cli/folded_drawing.h"
#include "tests/cli/forest_drawing.h"
#include "tests/cli/hazards_drawing.h"
#include "tests/cli/large_ledger.h"
#include "tests/cli/latency_drawing.h"
#include "tests/cli/locks_drawing.h"
#include "tests/cli/named_drawing.h"
#include "tests/cli/own_image.h"
#include "tests/cli/plain_drawing.h"
#include "tests/cli/quiet_drawing.h"
#include "tests/cli/recursive_drawing.h"
#include "tests/cli/sampled_drawing.h"
#include "tests/cli/server_drawing.h"
#include "tests/cli/tallied_drawing.h"
#include "tests/ledger_drawing.h"

#include <errno.h>
#include <inttypes.h>

#define MS PLAIN_MS
#define S  PLAIN_S

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
    plain__describe(drawing);
    drawing->ledger.header->command = drawing__string(drawing, "demo.\033]0;owned\007Main");
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        ledger_ref method = drawing__method(drawing, names[i], names[i], "()V");
        ledger_ref thread = drawing__thread(drawing, names[i], THREAD_PLATFORM, MS);
        drawing__call(drawing, drawing__root(drawing, thread), method, 1, (i + 1) * MS);
        plain__set_times(drawing, thread, (int32_t)i + 1, 0, 0);
    }
}

/* What separates frames and lines in exports. */
static void draw_semicolons(struct drawing *drawing)
{
    plain__describe(drawing);
    ledger_ref method = drawing__method(drawing, "semi;colon", "run; \342\200\250 7", "()V");
    ledger_ref thread = drawing__thread(drawing, "a;b", THREAD_PLATFORM, MS);
    drawing__call(drawing, drawing__root(drawing, thread), method, 1, 2 * MS);
}

/* What a spreadsheet would compute. */
static void draw_formulas(struct drawing *drawing)
{
    static const char *const names[] = {"=1+1", "+1", "-1", "@SUM(A1)", "plain"};
    plain__describe(drawing);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        ledger_ref method = drawing__method(drawing, names[i], "run", "()V");
        ledger_ref thread = drawing__thread(drawing, names[i], THREAD_PLATFORM, MS);
        drawing__call(drawing, drawing__root(drawing, thread), method, 1, 2 * MS);
    }
}

/* Damage: values whose sums do not fit. */
static void draw_overflow(struct drawing *drawing)
{
    plain__describe(drawing);
    ledger_ref method = drawing__method(drawing, "demo.Main", "run", "()V");
    ledger_ref first = drawing__thread(drawing, "wraps", THREAD_PLATFORM, 5);
    for (unsigned i = 0; i < 3; i++) {
        ledger_ref node =
            drawing__call(drawing, drawing__root(drawing, first), method, 1, UINT64_MAX / 2 + i);
        drawing__call(drawing, node, method, 1, UINT64_MAX - i);
    }
    ledger_ref second = drawing__thread(drawing, "large", THREAD_PLATFORM, 0);
    drawing__call(drawing, drawing__root(drawing, second), method, 1, UINT64_MAX - 7);
}

/* Names that would be something else in an HTML page, if they could. */
static void draw_markup(struct drawing *drawing)
{
    const char *names[] = {
        "</script><script>document.title='owned'</script>",
        "<img src=x onerror=\"document.title='owned'\">",
        "\"'><b id=owned>&lt;&amp;",
        "<!--the ledger--><!-- ]]>",
        "evil \342\200\256txt.exe",
        "constructor",
        "__proto__",
        "${alert(1)} `",
    };
    plain__describe(drawing);
    drawing->ledger.header->command = drawing__string(drawing, "</title><b id=owned>demo");
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        ledger_ref method = drawing__method(drawing, names[i], names[i], "()V");
        ledger_ref thread = drawing__thread(drawing, names[i], THREAD_PLATFORM, MS);
        drawing__call(drawing, drawing__root(drawing, thread), method, 1, (i + 1) * MS);
        plain__set_times(drawing, thread, (int32_t)i + 1, 0, 0);
    }
}

static void draw_pool(struct drawing *drawing)
{
    plain__describe(drawing);
    for (unsigned i = 0; i < 12; i++) {
        char name[64];
        snprintf(name, sizeof(name), "pool-%u-thread-%u", i / 6 + 1, i * 7 + 1);
        ledger_ref thread = drawing__thread(drawing, name, THREAD_PLATFORM, (i + 1) * MS);
        plain__set_times(drawing, thread, (int32_t)(100 + i), 0, i < 3 ? 0 : 5 * S);
        plain__set_totals(drawing, thread, 1);
    }
    ledger_ref alone = drawing__thread(drawing, "alone-1", THREAD_PLATFORM, 500 * MS);
    plain__set_times(drawing, alone, 99, 0, 0);
}

/* 2 s each from the beginning on: 2, 0.5, 0, 1 and, in the last one so far, which is half over,
 * 0.25 processors. */
static void draw_busy(struct drawing *drawing)
{
    struct ledger_busy_history *history = &drawing->ledger.header->busy_history;
    plain__draw(drawing);
    history->slot_ns = 2 * S;
    history->until_ns = 9 * S;
    history->busy[0] = 2u << LEDGER_BUSY_SHIFT;
    history->busy[1] = 1u << LEDGER_BUSY_SHIFT >> 1;
    history->busy[3] = 1u << LEDGER_BUSY_SHIFT;
    history->busy[4] = 1u << LEDGER_BUSY_SHIFT >> 3;
}

static void draw_losses(struct drawing *drawing)
{
    plain__draw(drawing);
    struct ledger_header *header = drawing->ledger.header;
    header->dropped_enters = 12345;
    header->dropped_threads = 2;
    header->dropped_side_values = 3;
    header->resynchronised = 4;
    header->positions_corrected = 5;
    header->full_error = ENOMEM;
}

/* 5 s charged to threads, and 1.0001 ms more that only the kernel's total tells of. */
static void draw_last_moments(struct drawing *drawing)
{
    plain__draw(drawing);
    ledger_ref thread =
        drawing__thread(drawing, "(threads after their last look)", THREAD_NATIVE, 1 * MS + 100);
    plain__set_times(drawing, thread, 0, 10 * S, 10 * S);
    drawing__thread_at(drawing, thread)->tid_count = 0;
    drawing__thread_at(drawing, thread)->flags |= THREAD_LAST_MOMENTS;
    drawing->ledger.header->process_cpu_ns = 5 * S + 1 * MS + 100;
}

/* Hooks by the default rule, and some that could not be put in. */
static void draw_hooks(struct drawing *drawing)
{
    plain__draw(drawing);
    struct ledger_header *header = drawing->ledger.header;
    header->hooked_classes = 402;
    header->hooked_methods = 5231;
    header->filtered_methods = 77001;
    header->default_filter = 1;
    header->unhooked[UNHOOKED_CODE_TOO_LARGE] = 3;
    header->unhooked[UNHOOKED_MALFORMED] = 1;
}

/* Attached 500 ms after the process began, profiled for 4 s, not for 2 s, and again for 3 s. */
static void pause_profiling(struct ledger_header *header)
{
    header->attached = 1;
    header->starts = 2;
    header->profiling = 0;
    header->since_ns = 9 * S;
    header->unprofiled_wall_ns = 2 * S;
    header->unprofiled_cpu_ns = 1 * S;
    header->positions_corrected = 1;
    header->held_bytes = 5u << 20;
}

/* A thread whose CPU is `cpu_ms`, its wall time twice that; some of it in that many calls. */
static ledger_ref draw_member(struct drawing *drawing, const char *name,
                              enum ledger_thread_kind kind, ledger_ref method, uint64_t calls,
                              uint64_t cpu_ms)
{
    ledger_ref thread = drawing__thread(drawing, name, kind, (cpu_ms - 1) * MS);
    drawing__call(drawing, drawing__root(drawing, thread), method, calls, 1 * MS);
    plain__set_times(drawing, thread, (int32_t)cpu_ms, 0, 1);
    return thread;
}

/*
 *            CPU    wall    run queue  parked   mounts  pinned
 * main       100 ms   5 s       0
 * request-1   10 ms   1 s   30 ms      900 ms        5       2
 * request-2   20 ms   2 s       0     1980 ms     1200       0
 * carrier-1    5 ms   5 s       0                              runs both of them
 */
static void draw_virtual(struct drawing *drawing)
{
    plain__describe(drawing);
    ledger_ref main_thread = drawing__thread(drawing, "main", THREAD_PLATFORM, 100 * MS);
    plain__set_times(drawing, main_thread, 4242, 0, 5 * S);
    ledger_ref requests[2];
    for (unsigned i = 0; i < 2; i++) {
        char name[16];
        snprintf(name, sizeof(name), "request-%u", i + 1);
        requests[i] = drawing__thread(drawing, name, THREAD_VIRTUAL, (i + 1) * 10 * MS);
        plain__set_times(drawing, requests[i], 4243, 1 * S, (i + 2) * S);
        drawing__thread_at(drawing, requests[i])->parent = main_thread;
    }
    struct ledger_thread *first = drawing__thread_at(drawing, requests[0]);
    first->mounts = 5;
    first->pinned = 2;
    first->parked_ns = 900 * MS;
    struct ledger_thread *second = drawing__thread_at(drawing, requests[1]);
    second->mounts = 1200;
    second->parked_ns = 1980 * MS;
    drawing__total(drawing, requests[0], METRIC_RUN_QUEUE_DELAY, 30 * MS);
    ledger_ref carrier = drawing__thread(drawing, "carrier-1", THREAD_CARRIER, 5 * MS);
    plain__set_times(drawing, carrier, 4243, 0, 5 * S);
}

/* A thread that ended, with the reasons of its waits. */
static void draw_waiting(struct drawing *drawing, const char *name, enum ledger_thread_kind kind,
                         uint64_t cpu_ms, uint64_t wait_ms, const uint64_t reasons_ms[8])
{
    static const enum ledger_metric reasons[] = {
        METRIC_RUN_QUEUE_DELAY, METRIC_MONITOR_WAIT, METRIC_OBJECT_WAIT, METRIC_PARK,
        METRIC_SLEEP,           METRIC_IO_WAIT,      METRIC_SAFEPOINT,   METRIC_UNMOUNTED};
    ledger_ref thread = drawing__thread(drawing, name, kind, cpu_ms * MS);
    ledger_ref root = drawing__root(drawing, thread);
    plain__set_times(drawing, thread, 4242, 0, (cpu_ms + wait_ms) * MS);
    for (unsigned i = 0; i < 8; i++) {
        drawing__total(drawing, thread, reasons[i], reasons_ms[i] * MS);
        if (i)
            drawing__side(drawing, root, reasons[i], reasons_ms[i] * MS);
    }
}

/*
 *          CPU   wall     run queue  monitor  Object.wait  park  sleep   I/O    ms
 * main     100   1 000          100      200          100   300     50   100
 * pool-1    10   1 010            0        0            0   900      0     0
 * pool-2    20     520            0       10            0   490      0     0
 * reader    50     950          300        0            0     0      0   800    more than there is
 * over      10      20            5        0            0    15      0     0    ditto
 */
static void draw_waits(struct drawing *drawing)
{
    plain__describe(drawing);
    draw_waiting(drawing, "main", THREAD_PLATFORM, 100, 900,
                 (const uint64_t[8]){100, 200, 100, 300, 50, 100});
    draw_waiting(drawing, "pool-1", THREAD_VIRTUAL, 10, 1000,
                 (const uint64_t[8]){0, 0, 0, 900, 0, 0});
    draw_waiting(drawing, "pool-2", THREAD_VIRTUAL, 20, 500,
                 (const uint64_t[8]){0, 10, 0, 490, 0, 0});
    draw_waiting(drawing, "reader", THREAD_PLATFORM, 50, 900,
                 (const uint64_t[8]){300, 0, 0, 0, 0, 800});
    draw_waiting(drawing, "over", THREAD_PLATFORM, 10, 10, (const uint64_t[8]){5, 0, 0, 15, 0, 0});
    drawing->ledger.header->metrics_charged |= LEDGER_WAIT_METRICS;
}

/* As above, and computer, 100 ms of CPU, that the JVM had stopped for 60 ms; pool-3, that had no
 * carrier for 30 ms. Of 200 waits 100 were heard, 60 were those of virtual threads, 30 were timed.
 */
static void draw_stops(struct drawing *drawing)
{
    draw_waits(drawing);
    draw_waiting(drawing, "computer", THREAD_PLATFORM, 100, 100,
                 (const uint64_t[8]){20, 0, 0, 0, 0, 0, 60, 0});
    draw_waiting(drawing, "pool-3", THREAD_VIRTUAL, 20, 80,
                 (const uint64_t[8]){0, 0, 0, 50, 0, 0, 0, 30});
    drawing->ledger.header->metrics_charged |= LEDGER_INFERRED_WAITS;
    drawing->ledger.header->heard_waits = 100;
    drawing->ledger.header->unheard_waits = 100;
    drawing->ledger.header->timed_waits = 30;
    drawing->ledger.header->unheard_virtual = 60;
}

/* As a killed process leaves it after 10 s: request-3, 30 ms of CPU, began after 1 s, was parked
 * for 2 s, then once more at 4 s. */
static void draw_parked(struct drawing *drawing)
{
    draw_virtual(drawing);
    ledger_ref thread = drawing__thread(drawing, "request-3", THREAD_VIRTUAL, 30 * MS);
    plain__set_times(drawing, thread, 4243, 1 * S, 0);
    struct ledger_thread *record = drawing__thread_at(drawing, thread);
    record->mounts = 3;
    record->parked_ns = 2 * S;
    record->unmounted_ns = 4 * S;
}

/*
 * Who started whom (CPU in ms, calls); children stand before their parents in the table, too.
 *
 * main 100 x1
 *   server 50 x2
 *     worker-1 200 x10
 *       helper-1 10 x3
 *     worker-2 300 x20
 *       helper-7 20 x3
 *       task 5 x1          virtual
 *     worker-x 1 x1
 *     worker-9 7 x1        virtual
 *   worker-3 400 x1
 * GC Thread#0 30 x0        vm
 * GC Thread#1 40 x0        vm
 */
static void draw_family(struct drawing *drawing)
{
    plain__describe(drawing);
    static const struct {
        const char *name;
        enum ledger_thread_kind kind;
        int parent; /* in this table, or -1 */
        uint64_t calls;
        uint64_t cpu_ms;
    } family[] = {
        {"worker-1", THREAD_PLATFORM, 1, 10, 200}, {"server", THREAD_PLATFORM, 2, 2, 50},
        {"main", THREAD_PLATFORM, -1, 1, 100},     {"helper-1", THREAD_PLATFORM, 0, 3, 10},
        {"worker-2", THREAD_PLATFORM, 1, 20, 300}, {"helper-7", THREAD_PLATFORM, 4, 3, 20},
        {"task", THREAD_VIRTUAL, 4, 1, 5},         {"worker-x", THREAD_PLATFORM, 1, 1, 1},
        {"worker-9", THREAD_VIRTUAL, 1, 1, 7},     {"worker-3", THREAD_PLATFORM, 2, 1, 400},
        {"GC Thread#0", THREAD_VM, -1, 0, 30},     {"GC Thread#1", THREAD_VM, -1, 0, 40},
    };
    enum { COUNT = sizeof(family) / sizeof(family[0]) };
    ledger_ref method = drawing__method(drawing, "demo.Main", "run", "()V");
    ledger_ref threads[COUNT];
    for (size_t i = 0; i < COUNT; i++)
        threads[i] = draw_member(drawing, family[i].name, family[i].kind, method, family[i].calls,
                                 family[i].cpu_ms);
    for (size_t i = 0; i < COUNT; i++)
        if (family[i].parent >= 0)
            drawing__thread_at(drawing, threads[i])->parent = threads[family[i].parent];
}

/* a is said to be started by b, b by c, c by a; and d by c, "self" by itself, "method" by a method,
 * "nowhere" by what is not in the file. */
static void draw_circle(struct drawing *drawing)
{
    plain__describe(drawing);
    ledger_ref method = drawing__method(drawing, "demo.Main", "run", "()V");
    ledger_ref a = draw_member(drawing, "a", THREAD_PLATFORM, method, 1, 10);
    ledger_ref b = draw_member(drawing, "b", THREAD_PLATFORM, method, 1, 20);
    ledger_ref c = draw_member(drawing, "c", THREAD_PLATFORM, method, 1, 30);
    ledger_ref d = draw_member(drawing, "d", THREAD_PLATFORM, method, 1, 40);
    ledger_ref self = draw_member(drawing, "self", THREAD_PLATFORM, method, 1, 50);
    ledger_ref of_method = draw_member(drawing, "method", THREAD_PLATFORM, method, 1, 60);
    ledger_ref nowhere = draw_member(drawing, "nowhere", THREAD_PLATFORM, method, 1, 70);
    drawing__thread_at(drawing, a)->parent = b;
    drawing__thread_at(drawing, b)->parent = c;
    drawing__thread_at(drawing, c)->parent = a;
    drawing__thread_at(drawing, d)->parent = c;
    drawing__thread_at(drawing, self)->parent = self;
    drawing__thread_at(drawing, of_method)->parent = method;
    drawing__thread_at(drawing, nowhere)->parent = 0xfffffff0;
}

/* Each thread started by the one before, the newest first in the table; 1 ms each. */
static void draw_chain(struct drawing *drawing, unsigned length)
{
    plain__describe(drawing);
    ledger_ref method = drawing__method(drawing, "demo.Main", "run", "()V");
    ledger_ref started = 0;
    for (unsigned i = length; i-- > 0;) {
        char name[32];
        snprintf(name, sizeof(name), "link-%u", i);
        ledger_ref thread = draw_member(drawing, name, THREAD_PLATFORM, method, 1, 1);
        if (started)
            drawing__thread_at(drawing, started)->parent = thread;
        started = thread;
    }
}

static void draw_deep(struct drawing *drawing, unsigned depth)
{
    plain__describe(drawing);
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

/* A tree of so many nodes, ten below each, of a thousand methods; calls and CPU follow from the
 * number, so that two of them differ. With samples: three in every fourth node, one of them in a
 * frame below it. */
static void draw_bushy(struct drawing *drawing, unsigned nodes, bool sampled)
{
    enum { METHODS = 1000, CHILDREN = 10 };
    ledger_ref methods[METHODS];
    ledger_ref *refs = calloc((size_t)nodes + 1, sizeof(*refs));
    drawing__check(refs != NULL, "calloc");
    plain__describe(drawing);
    for (unsigned i = 0; i < METHODS; i++) {
        char name[16];
        snprintf(name, sizeof(name), "m%u", i);
        methods[i] = drawing__method(drawing, "demo.Bushy", name, "()V");
    }
    refs[0] = drawing__root(drawing, drawing__thread(drawing, "main", THREAD_PLATFORM, 0));
    for (unsigned i = 1; i <= nodes; i++)
        refs[i] = drawing__call(drawing, refs[(i - 1) / CHILDREN], methods[i % METHODS],
                                1 + i % (nodes % 7 + 2), (uint64_t)i * nodes % METHODS);
    for (unsigned i = 1; i <= nodes && sampled; i += 4) {
        drawing__self(drawing, refs[i], 2, 0);
        drawing__frame(drawing, refs[i], NODE_SAMPLED, methods[i * 7 % METHODS], 1);
    }
    if (sampled)
        drawing->ledger.header->sample_mode = LEDGER_SAMPLE_CPU;
    free(refs);
}

/* Samples began late: they stand for 100 of work's 1000 ms. */
static void draw_unseen_samples(struct drawing *drawing)
{
    struct ledger_header *header = drawing->ledger.header;
    ledger_ref work = drawing__method(drawing, "demo.Main", "work", "()V");
    ledger_ref loop = drawing__method(drawing, "demo.Main", "loop", "()V");
    plain__describe(drawing);
    header->process_cpu_ns = 1000 * MS;
    header->sample_mode = LEDGER_SAMPLE_CPU;
    header->sample_interval_ns = 10 * MS;
    ledger_ref root = drawing__root(drawing, drawing__thread(drawing, "main", THREAD_PLATFORM, 0));
    ledger_ref node = drawing__call(drawing, root, work, 4, 1000 * MS);
    ledger_ref frame = drawing__frame(drawing, node, NODE_SAMPLED, loop, 10);
    drawing__node_at(drawing, frame)->seen_ns = 100 * MS;
}

static void belong_to(struct drawing *drawing, pid_t pid)
{
    struct ledger_header *header = drawing->ledger.header;
    header->pid = pid;
    header->profiling = 1;
    header->starts = 1;
    header->uid = getuid();
    drawing__check(process_start__read(pid, &header->start_ticks) == 0, "process_start__read");
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
    drawing__check(file != NULL, "boot_id");
    drawing__check(fgets(header->boot_id, 37, file) != NULL, "boot_id");
    fclose(file);
}

/* On the process's first kernel thread. */
static void run_on_first(struct drawing *drawing, ledger_ref thread, ledger_ref current)
{
    ledger_ref ref = ledger__take_shared(&drawing->ledger, LEDGER_KERNEL_THREADS,
                                         sizeof(struct ledger_kernel_thread) / LEDGER_CELL_BYTES);
    drawing__check(ref != 0, "the ledger is full");
    struct ledger_kernel_thread *record = ledger__at(&drawing->ledger, ref);
    record->tid = drawing->ledger.header->pid;
    record->start_ticks = drawing->ledger.header->start_ticks;
    record->thread = thread;
    record->current = current;
}

/* As the ledger of a process that runs: main is its first kernel thread. */
static void draw_own(struct drawing *drawing, pid_t pid)
{
    ledger_ref main_thread = plain__draw(drawing);
    belong_to(drawing, pid);
    run_on_first(drawing, main_thread, drawing__root(drawing, main_thread));
}

/* The same with a thread that has booked nothing yet and is in demo.Main.spin, called by
 * demo.Main.run: what the process's first kernel thread consumes is that thread's. */
static void draw_spinning(struct drawing *drawing, pid_t pid)
{
    (void)plain__draw(drawing);
    belong_to(drawing, pid);
    ledger_ref spinner = drawing__thread(drawing, "spinner", THREAD_PLATFORM, 0);
    plain__set_times(drawing, spinner, pid, 0, 0);
    drawing__thread_at(drawing, spinner)->java_id = 77;
    ledger_ref run = drawing__call(drawing, drawing__root(drawing, spinner),
                                   drawing__method(drawing, "demo.Main", "run", "()V"), 1, 0);
    ledger_ref spin =
        drawing__call(drawing, run, drawing__method(drawing, "demo.Main", "spin", "()V"), 1, 0);
    run_on_first(drawing, spinner, spin);
}

static void draw_waiter(struct drawing *drawing, const char *name, enum ledger_metric reason,
                        ledger_ref block)
{
    ledger_ref thread = drawing__thread(drawing, name, THREAD_PLATFORM, MS);
    plain__set_times(drawing, thread, 4300, 0, 0);
    drawing__thread_at(drawing, thread)->wait_reason = (uint16_t)reason;
    drawing__thread_at(drawing, thread)->block = block;
}

/* Threads of a running process that wait: for a monitor that main has, for a lock whose owner is
 * not known, in a sleep; a virtual one that is not mounted; and one that does not wait. */
static void draw_live_waits(struct drawing *drawing, pid_t pid)
{
    plain__describe(drawing);
    belong_to(drawing, pid);
    drawing->ledger.header->metrics_charged |= LEDGER_WAIT_METRICS | LEDGER_INFERRED_WAITS;
    const struct drawn_block queue = {"com.app.Queue", 1,  BLOCK_MONITOR, "taker", "main",
                                      {1, 1, 1, 0, 0}, 10, {0},           {0}};
    const struct drawn_block lock = {"java.util.concurrent.locks.ReentrantLock$NonfairSync",
                                     2,
                                     BLOCK_PARK,
                                     "parker",
                                     NULL,
                                     {1, 1, 1, 0, 0},
                                     10,
                                     {0},
                                     {0}};
    draw_waiter(drawing, "taker", METRIC_MONITOR_WAIT, locks__block(drawing, &queue));
    draw_waiter(drawing, "parker", METRIC_PARK, locks__block(drawing, &lock));
    draw_waiter(drawing, "sleeper", METRIC_SLEEP, 0);
    draw_waiter(drawing, "main", (enum ledger_metric)0, 0);
    ledger_ref virtual = drawing__thread(drawing, "request", THREAD_VIRTUAL, MS);
    plain__set_times(drawing, virtual, 4301, 0, 0);
    drawing__thread_at(drawing, virtual)->unmounted_ns = PLAIN_S;
}

/* A function that samples are drawn in: the linker keeps it, and its name. */
int drawn_function(int rounds);
__attribute__((noinline, used, visibility("default"))) int drawn_function(int rounds)
{
    return rounds * 7 + 1;
}

/* Of 9 samples in drawn_function of this program, which the ledger does not name, 7 are at its
 * first instruction and 2 far behind its end. If `number` is 1 the file is said to be of another
 * build. */
static void draw_native(struct drawing *drawing, unsigned number)
{
    char path[4096] = "";
    struct own_image own = own_image__find();
    uint64_t address = (uint64_t)(uintptr_t)drawn_function - own.bias;
    plain__describe(drawing);
    drawing__check(readlink("/proc/self/exe", path, sizeof(path) - 1) > 0, "/proc/self/exe");
    ledger_ref image = drawing__image(drawing, path, number == 1 ? "00ff" : own.build_id);
    ledger_ref function = drawing__symbol(drawing, image, path, NULL, address);
    ledger_ref root =
        drawing__root(drawing, drawing__thread(drawing, "main", THREAD_PLATFORM, 90 * MS));
    drawing__frame(drawing, root, NODE_NATIVE, function, 9);
    sampled__place(drawing, function, sampled__places_of(drawing, function), 0, -1, 0, 7);
    sampled__place(drawing, function, sampled__places_of(drawing, function), 0, -1, 1u << 20, 2);
    sampled__describe(drawing->ledger.header);
}

int main(int argc, char **argv)
{
    struct drawing drawing;
    enum ledger_state state = LEDGER_CLOSED;
    if (argc < 3)
        return 2;
    unsigned number = argc > 3 ? (unsigned)strtoul(argv[3], NULL, 10) : 0;
    bool large = strncmp(argv[1], "bushy", 5) == 0 || strcmp(argv[1], "large") == 0 ||
                 strcmp(argv[1], "forest") == 0 || strcmp(argv[1], "server") == 0;
    drawing__begin(&drawing, large ? UINT64_C(4) << 30 : 64u << 20);
    if (strncmp(argv[1], "bushy", 5) == 0) {
        draw_bushy(&drawing, number, strcmp(argv[1], "bushy-sampled") == 0);
    } else if (strcmp(argv[1], "hostile") == 0) {
        draw_hostile(&drawing);
    } else if (strcmp(argv[1], "semicolons") == 0) {
        draw_semicolons(&drawing);
    } else if (strcmp(argv[1], "named_formula") == 0) {
        static const char *const formulas[] = {"=1+1", "+1", "-1", "@SUM(A1)"};
        named__draw(&drawing, formulas[number % 4]);
    } else if (strcmp(argv[1], "named_controls") == 0) {
        named__draw(&drawing, "red \033[31malert\nline\u202e\x7f");
    } else if (strcmp(argv[1], "formulas") == 0) {
        draw_formulas(&drawing);
    } else if (strcmp(argv[1], "overflow") == 0) {
        draw_overflow(&drawing);
    } else if (strcmp(argv[1], "markup") == 0) {
        draw_markup(&drawing);
    } else if (strcmp(argv[1], "pool") == 0) {
        draw_pool(&drawing);
    } else if (strcmp(argv[1], "losses") == 0) {
        draw_losses(&drawing);
    } else if (strcmp(argv[1], "folded") == 0) {
        folded__draw(&drawing, number != 0);
    } else if (strcmp(argv[1], "recursive") == 0) {
        plain__describe(&drawing);
        recursive__draw(&drawing, (uint32_t)number);
    } else if (strcmp(argv[1], "quiet") == 0) {
        plain__describe(&drawing);
        quiet__draw(&drawing, number != 0);
    } else if (strcmp(argv[1], "tallied") == 0) {
        plain__describe(&drawing);
        tallied__draw(&drawing);
        drawing.ledger.header->attached = (uint32_t)number;
    } else if (strcmp(argv[1], "virtual") == 0) {
        draw_virtual(&drawing);
    } else if (strcmp(argv[1], "family") == 0) {
        draw_family(&drawing);
    } else if (strcmp(argv[1], "circle") == 0) {
        draw_circle(&drawing);
    } else if (strcmp(argv[1], "chain") == 0) {
        draw_chain(&drawing, number);
    } else if (strcmp(argv[1], "deep") == 0) {
        draw_deep(&drawing, number);
    } else if (strcmp(argv[1], "large") == 0) {
        plain__describe(&drawing);
        large_ledger__draw(&drawing, number);
    } else if (strcmp(argv[1], "forest") == 0) {
        plain__describe(&drawing);
        forest__draw(&drawing, number);
    } else if (strcmp(argv[1], "server") == 0) {
        plain__describe(&drawing);
        server__draw(&drawing, number);
    } else if (strcmp(argv[1], "moment") == 0) {
        plain__describe(&drawing);
        moment__draw(&drawing, number);
    } else if (strcmp(argv[1], "live") == 0) {
        draw_own(&drawing, (pid_t)number);
        state = LEDGER_LIVE;
    } else if (strcmp(argv[1], "slow_clock") == 0) {
        draw_own(&drawing, (pid_t)number);
        drawing.ledger.header->clock_kind = LEDGER_CLOCK_PLAIN;
        drawing.ledger.header->clock_error[LEDGER_CLOCK_RSEQ] = ENOTSUP;
        drawing.ledger.header->clock_error[LEDGER_CLOCK_PERF] = EACCES;
        state = LEDGER_LIVE;
    } else if (strcmp(argv[1], "spinning") == 0) {
        draw_spinning(&drawing, (pid_t)number);
        state = LEDGER_LIVE;
    } else if (strcmp(argv[1], "live_waits") == 0) {
        draw_live_waits(&drawing, (pid_t)number);
        state = LEDGER_LIVE;
    } else if (strcmp(argv[1], "earlier") == 0) {
        plain__draw_earlier(&drawing);
    } else if (strcmp(argv[1], "live_hostile") == 0) {
        draw_hostile(&drawing);
        belong_to(&drawing, (pid_t)number);
        state = LEDGER_LIVE;
    } else if (strcmp(argv[1], "stopped") == 0) {
        draw_own(&drawing, (pid_t)number);
        pause_profiling(drawing.ledger.header);
        state = LEDGER_LIVE;
    } else if (strcmp(argv[1], "paused") == 0) {
        draw_hooks(&drawing);
        pause_profiling(drawing.ledger.header);
    } else if (strcmp(argv[1], "last_moments") == 0) {
        draw_last_moments(&drawing);
    } else if (strcmp(argv[1], "kernel_total") == 0) {
        plain__draw(&drawing);
        drawing.ledger.header->process_cpu_ns = number * MS;
    } else if (strcmp(argv[1], "budget") == 0) {
        plain__describe(&drawing);
        budget__draw(&drawing);
    } else if (strcmp(argv[1], "counted_budget") == 0) {
        plain__describe(&drawing);
        budget__draw_counted(&drawing);
    } else if (strcmp(argv[1], "budget_exceeded") == 0) {
        plain__describe(&drawing);
        budget__draw(&drawing);
        drawing.ledger.header->overhead_ppm = 10000;
    } else if (strcmp(argv[1], "live_budget") == 0) {
        plain__describe(&drawing);
        budget__draw(&drawing);
        belong_to(&drawing, (pid_t)number);
        state = LEDGER_LIVE;
    } else if (strcmp(argv[1], "stopped_budget") == 0) {
        plain__describe(&drawing);
        budget__draw(&drawing);
        belong_to(&drawing, (pid_t)number);
        pause_profiling(drawing.ledger.header);
        state = LEDGER_LIVE;
    } else if (strcmp(argv[1], "hooks") == 0) {
        draw_hooks(&drawing);
    } else if (strcmp(argv[1], "sampled") == 0) {
        plain__describe(&drawing);
        drawing.ledger.header->process_cpu_ns = 650 * MS;
        sampled__draw(&drawing);
    } else if (strcmp(argv[1], "long_command") == 0) {
        char command[400];
        snprintf(command, sizeof(command), "/opt/%0300d/lib.jar demo.Main --last 7", 0);
        plain__draw(&drawing);
        drawing.ledger.header->command = drawing__string(&drawing, command);
    } else if (strcmp(argv[1], "unseen_samples") == 0) {
        draw_unseen_samples(&drawing);
    } else if (strcmp(argv[1], "mixed_samples") == 0) {
        plain__describe(&drawing);
        drawing.ledger.header->process_cpu_ns = 100 * MS;
        sampled__draw_mixed(&drawing);
    } else if (strcmp(argv[1], "native") == 0) {
        draw_native(&drawing, number);
    } else if (strcmp(argv[1], "waits") == 0) {
        draw_waits(&drawing);
    } else if (strcmp(argv[1], "stops") == 0) {
        draw_stops(&drawing);
    } else if (strcmp(argv[1], "locks") == 0) {
        locks__draw(&drawing);
    } else if (strcmp(argv[1], "cascade") == 0) {
        cascade__draw(&drawing);
    } else if (strncmp(argv[1], "latency", strlen("latency")) == 0) {
        latency__draw(&drawing, strcmp(argv[1], "latency_later") == 0,
                      strcmp(argv[1], "latency_slow") == 0);
    } else if (strcmp(argv[1], "busy") == 0) {
        draw_busy(&drawing);
    } else if (strcmp(argv[1], "hazards") == 0) {
        hazards__draw(&drawing);
    } else if (strcmp(argv[1], "chains") == 0) {
        chains__draw(&drawing);
    } else if (strcmp(argv[1], "harmless") == 0) {
        hazards__draw_harmless(&drawing);
    } else if (strcmp(argv[1], "parked") == 0) {
        draw_parked(&drawing);
        drawing.ledger.header->pid = (int32_t)number;
        state = LEDGER_LIVE;
    } else if (strcmp(argv[1], "orphan") == 0) {
        plain__draw(&drawing);
        drawing.ledger.header->pid = (int32_t)number;
        state = LEDGER_LIVE;
    } else {
        plain__draw(&drawing);
    }
    drawing__save(&drawing, argv[2], state);
    drawing__end(&drawing);
    return 0;
}
