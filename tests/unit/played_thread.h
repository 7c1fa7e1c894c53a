/*
 * Kernel threads that run Java threads, played by real threads. What a node should have is measured
 * by the thread's own CPU clock around the work: `least` from the reading after an event to the one
 * before the next, `most` from before to after. With the plain clock, which asks the kernel each
 * time, a node is between the two to the nanosecond; with the others within what one resync of the
 * clock may correct.
 */
#ifndef TREADLE_TEST_PLAYED_THREAD_H
#define TREADLE_TEST_PLAYED_THREAD_H

#include "burn.h"
#include "java_world.h"
#include "native/thread/kernel_thread_events.h"

#include <pthread.h>
#include <sys/resource.h>

/* cmocka.h needs the others before it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#define MIB      (UINT64_C(1) << 20)
#define SWITCHES (1u << METRIC_VOLUNTARY_SWITCHES | 1u << METRIC_INVOLUNTARY_SWITCHES)
#define FAULTS   (1u << METRIC_MINOR_FAULTS | 1u << METRIC_MAJOR_FAULTS)

static const enum ledger_clock_kind kinds[] = {LEDGER_CLOCK_PLAIN, LEDGER_CLOCK_RSEQ,
                                               LEDGER_CLOCK_PERF};

#define KINDS (sizeof kinds / sizeof kinds[0])

struct bounds {
    uint64_t least;
    uint64_t most;
};

/* Readings of the oracle around an event. */
struct moment {
    uint64_t before;
    uint64_t after;
};

struct script {
    struct java_world *world;
    void (*act)(struct script *script, struct kernel_thread *kernel_thread);
    struct moment at[8];
    pid_t tid;
    struct rusage usage[4];
};

#define EVENT(moment, call)                                                                        \
    do {                                                                                           \
        (moment).before = thread_cpu_ns();                                                         \
        call;                                                                                      \
        (moment).after = thread_cpu_ns();                                                          \
    } while (0)

static inline struct bounds between(const struct moment *from, const struct moment *to)
{
    return (struct bounds){to->before - from->after, to->after - from->before};
}

static inline struct bounds until(const struct moment *to)
{
    return (struct bounds){to->before, to->after};
}

static inline void check_cpu(const struct java_world *world, uint64_t cpu_ns, struct bounds bounds)
{
    uint64_t slack_ns = world->setup.clock == LEDGER_CLOCK_PLAIN ? 0 : KERNEL_CLOCK_RESYNC_NS + MS;
    if (cpu_ns + slack_ns < bounds.least || cpu_ns > bounds.most + slack_ns)
        fail_msg("%s clock: %.6f ms, expected %.6f to %.6f ms",
                 kernel_clock__name(world->setup.clock), (double)cpu_ns / 1e6,
                 (double)bounds.least / 1e6, (double)bounds.most / 1e6);
}

static inline void *play_script(void *context)
{
    struct script *script = context;
    struct kernel_thread *kernel_thread = kernel_thread_table__enter(&script->world->table);
    script->tid = gettid();
    if (kernel_thread != NULL && kernel_thread_table__mine() == kernel_thread &&
        kernel_thread_table__enter(&script->world->table) == kernel_thread)
        script->act(script, kernel_thread);
    return NULL;
}

/* Plays it on a thread of its own and waits for that one's end. */
static inline void run_script(struct script *script, struct java_world *world,
                              void (*act)(struct script *script,
                                          struct kernel_thread *kernel_thread))
{
    pthread_t thread;
    assert_non_null(world);
    *script = (struct script){.world = world, .act = act};
    assert_int_equal(pthread_create(&thread, NULL, play_script, script), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

static inline const struct ledger_thread *thread_named(const struct java_world *world,
                                                       uint64_t java_id, const char *name)
{
    const struct ledger_thread *thread = find_thread(&world->ledger, java_id);
    assert_non_null(thread);
    assert_true(is_named(&world->ledger, thread->name, name));
    return thread;
}

static inline void check_drawing(const struct java_world *world, const struct ledger_thread *thread,
                                 const char *drawing)
{
    char text[DRAWING_BYTES];
    assert_string_equal(draw(&world->ledger, thread->root, text), drawing);
}

/* Ten calls in which nothing happens. */
static inline void play_nothing(struct script *script, struct kernel_thread *thread)
{
    (void)script;
    (void)start_java(thread, "one", 1);
    for (int i = 0; i < 10; i++) {
        kernel_thread__enter(thread, 'A');
        kernel_thread__leave(thread, 'A');
    }
    kernel_thread__end_java(thread);
}

#endif
