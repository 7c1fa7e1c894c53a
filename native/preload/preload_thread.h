/*
 * A thread of the program: what this library keeps for it, from its start to its end. Threads are
 * begun by the wrapper of pthread_create, and the main thread by the library's own beginning.
 */
#ifndef TREADLE_PRELOAD_THREAD_H
#define TREADLE_PRELOAD_THREAD_H

#include "native/preload/function_stack.h"
#include "native/sampling/sample_timer.h"
#include "native/thread/kernel_thread_table.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct preload_threads;

/* The waits of a thread; see program_waits.h. For the thread itself. */
struct thread_waits {
    uint64_t frame; /* of the function that brackets the wait under way; 0: there is none */
    enum ledger_metric reason;
    uint32_t every; /* one in so many is timed; 0 is 1 */
    uint32_t skipped;
    uint64_t in_window; /* waits that began since: */
    uint64_t window_ns;
};

struct preload_thread {
    struct function_stack functions;
    struct thread_waits waits;
    struct preload_threads *threads;
    struct kernel_thread *kernel; /* NULL: there was no room */
    uint64_t lost;                /* calls that came while the thread was in a hook */
    pid_t tid;
    pthread_t handle;
    bool is_named; /* its name is not that of the thread that started it */
    unsigned rounds;
    struct sample_timer timer; /* under the threads' lock */
    struct preload_thread *next, *before;
};

/* What the thread's hooks need, in one load. */
struct preload_mine {
    struct preload_thread *thread; /* NULL: not begun, or over */
    uint64_t busy;   /* the thread is in a hook: the address of the hook's frame; else 0 */
    bool is_no_ones; /* no thread of the program, or one that is over: its calls do not count */
    bool is_forked;  /* the thread of a forked child that has not begun; see forks.h */
    bool waits_for_profiler; /* what the thread waits for is none of the program's */
    unsigned held_for_fork;
    struct preload_thread *forked; /* what it was in the parent; or NULL */
};

extern __thread struct preload_mine preload_mine __attribute__((tls_model("initial-exec")));

/* Zero in the child of a fork that called no handlers: the kernel wipes it there. */
extern const uint32_t *preload_here;

static inline bool preload__is_here(void)
{
    return __builtin_expect(*(const volatile uint32_t *)preload_here != 0, 1);
}

/* Begins a hook of the calling thread, whose frame that is. NULL: there is something to look at
 * first, and no hook has begun. The thread is looked up in the hook: before that, a handler may
 * have forked a child, in which the thread is another one. */
static inline struct preload_thread *preload_mine__begin_hook(uint64_t frame)
{
    struct preload_thread *mine;

    if (__builtin_expect(preload_mine.busy != 0, 0))
        return NULL;
    preload_mine.busy = frame;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    mine = preload_mine.thread;
    if (__builtin_expect(mine && mine->kernel && preload__is_here(), 1))
        return mine;
    preload_mine.busy = 0;
    return NULL;
}

/* The same where that is looked at, and the hook may begin. */
static inline struct preload_thread *preload_mine__begin_hook_anyway(uint64_t frame)
{
    preload_mine.busy = frame;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    return preload_mine.thread;
}

static inline void preload_mine__end_hook(void)
{
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    preload_mine.busy = 0;
}

/* What a thread is started with. */
struct preload_start {
    void *(*function)(void *argument);
    void *argument;
    ledger_ref parent;
    uint64_t parent_id;
    /* Of the thread of a forked child: where its stack lies, and how many marks it was given. */
    bool is_forked;
    uint64_t low, high, marks;
};

struct preload_threads {
    pthread_mutex_t lock;
    struct preload_thread *first; /* under the lock */
    struct kernel_thread_table *kernel_threads;
    struct ledger *ledger;
    const struct ledger_time *time;
    uint64_t ids; /* atomic */
    pthread_key_t at_end;
    /* samples: under the lock */
    enum ledger_sample_clock clock; /* NONE: no samples are taken */
    int signal;
    uint64_t interval_ns;
};

/* 0 or -errno. */
int preload_threads__init(struct preload_threads *threads,
                          struct kernel_thread_table *kernel_threads, struct ledger *ledger,
                          const struct ledger_time *time);

/* Begins the calling thread; start: NULL for the main thread and for threads of unknown origin. */
void preload_threads__begin(struct preload_threads *threads, const struct preload_start *start);

/* False: all threads that had begun are over. */
bool preload_threads__any(struct preload_threads *threads);

/* Notes who starts a thread. */
void preload_threads__note_parent(const struct preload_threads *threads,
                                  struct preload_start *start);

/* The thread has got that name; nothing happens if the thread is not known. */
void preload_threads__name(struct preload_threads *threads, pthread_t handle, const char *text);

/* Begins samples of all threads, those that begin later included; ends them. */
void preload_threads__sample(struct preload_threads *threads, enum ledger_sample_clock clock,
                             int signal, uint64_t interval_ns);
void preload_threads__end_samples(struct preload_threads *threads);

/* Reads what the kernel has kept of the samples of perf events. */
void preload_threads__read_kernel_stacks(struct preload_threads *threads);

/* What is known of the kernel's side of a sample; when_ns: of CLOCK_MONOTONIC. False: nothing. */
bool preload_threads__kernel_stack(struct preload_threads *threads, pid_t tid, uint64_t when_ns,
                                   struct kernel_stack *stack);

#endif
