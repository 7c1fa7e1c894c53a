#include "native/preload/preload_thread.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#define NAME_BYTES 64u

/* Of the main thread, whose limit may be none at all. */
#define MAIN_STACK_MOST (UINT64_C(1) << 30)

/* The kernel thread's own end is noted in the third round of destructors. */
#define ROUNDS_TO_WAIT 1u

__thread struct preload_mine preload_mine __attribute__((tls_model("initial-exec")));

static const uint32_t always_here = 1;
const uint32_t *preload_here = &always_here;

static void unlink_thread(struct preload_threads *threads, struct preload_thread *thread)
{
    *(thread->before ? &thread->before->next : &threads->first) = thread->next;
    if (thread->next)
        thread->next->before = thread->before;
}

static void at_end(void *value)
{
    struct preload_thread *thread = value;
    struct preload_threads *threads = thread->threads;

    if (thread->rounds++ < ROUNDS_TO_WAIT) {
        pthread_setspecific(threads->at_end, thread);
        return;
    }
    preload_mine.is_no_ones = true;
    preload_mine.thread = NULL;
    pthread_mutex_lock(&threads->lock);
    sample_timer__stop(&thread->timer);
    unlink_thread(threads, thread);
    pthread_mutex_unlock(&threads->lock);
    function_stack__release(&thread->functions);
    free(thread);
}

int preload_threads__init(struct preload_threads *threads,
                          struct kernel_thread_table *kernel_threads, struct ledger *ledger,
                          const struct ledger_time *time)
{
    *threads =
        (struct preload_threads){.kernel_threads = kernel_threads, .ledger = ledger, .time = time};
    pthread_mutex_init(&threads->lock, NULL);
    return -pthread_key_create(&threads->at_end, at_end);
}

static void find_stack(struct function_stack *stack)
{
    pthread_attr_t attributes;
    struct rlimit limit;
    void *low = NULL;
    size_t bytes = 0;

    if (getpid() == gettid()) {
        /* What the kernel put above the first frame. */
        stack->high = (uint64_t)getauxval(AT_RANDOM);
        if (getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur > MAIN_STACK_MOST)
            limit.rlim_cur = MAIN_STACK_MOST;
        stack->low = stack->high - limit.rlim_cur;
        return;
    }
    if (pthread_getattr_np(pthread_self(), &attributes) != 0)
        return;
    if (pthread_attr_getstack(&attributes, &low, &bytes) == 0) {
        stack->low = (uint64_t)(uintptr_t)low;
        stack->high = stack->low + bytes;
    }
    pthread_attr_destroy(&attributes);
}

/* The main thread of a forked child has the stack of the thread that forked. A mark of the parent's
 * is none of the child's. */
static void keep_stack(struct function_stack *stack, const struct preload_start *start)
{
    stack->low = start->low;
    stack->high = start->high;
    stack->marks = start->marks;
}

/* A parent that is over by now may have left its record to another thread. */
static ledger_ref parent_of(const struct preload_threads *threads,
                            const struct preload_start *start)
{
    const struct ledger_thread *parent;

    if (!start || !start->parent)
        return 0;
    parent = ledger__at(threads->ledger, start->parent);
    return parent->java_id == start->parent_id ? start->parent : 0;
}

static void begin_accounts(struct preload_threads *threads, struct preload_thread *thread,
                           const struct preload_start *start)
{
    char name[NAME_BYTES] = "";
    struct java_thread_facts facts = {
        .name = name,
        .kind = THREAD_NATIVE,
        .java_id = __atomic_add_fetch(&threads->ids, 1, __ATOMIC_RELAXED),
        .parent = parent_of(threads, start),
    };

    (void)prctl(PR_GET_NAME, name);
    facts.name_length = strlen(name);
    thread->kernel = kernel_thread_table__enter(threads->kernel_threads);
    if (thread->kernel)
        (void)kernel_thread__start_java(thread->kernel, &facts);
}

/* Under the lock. */
static void sample(const struct preload_threads *threads, struct preload_thread *thread)
{
    int error;

    if (threads->clock == LEDGER_SAMPLE_CLOCK_NONE ||
        thread->timer.clock != LEDGER_SAMPLE_CLOCK_NONE)
        return;
    error = sample_timer__start(&thread->timer, threads->clock, thread->tid, threads->signal,
                                threads->interval_ns);
    if (error && !sample_timer__has_ended(error))
        threads->ledger->header->sample_timer_error = -error;
}

void preload_threads__begin(struct preload_threads *threads, const struct preload_start *start)
{
    struct preload_thread *thread = calloc(1, sizeof(*thread));

    if (!thread) {
        ledger__count(&threads->ledger->header->dropped_threads, 1);
        preload_mine.is_no_ones = true;
        return;
    }
    thread->threads = threads;
    thread->tid = gettid();
    thread->handle = pthread_self();
    if (start && start->is_forked)
        keep_stack(&thread->functions, start);
    else
        find_stack(&thread->functions);
    begin_accounts(threads, thread, start);
    pthread_mutex_lock(&threads->lock);
    thread->next = threads->first;
    if (thread->next)
        thread->next->before = thread;
    threads->first = thread;
    sample(threads, thread);
    pthread_mutex_unlock(&threads->lock);
    pthread_setspecific(threads->at_end, thread);
    preload_mine.thread = thread;
}

bool preload_threads__any(struct preload_threads *threads)
{
    bool any;

    pthread_mutex_lock(&threads->lock);
    any = threads->first;
    pthread_mutex_unlock(&threads->lock);
    return any;
}

void preload_threads__note_parent(const struct preload_threads *threads,
                                  struct preload_start *start)
{
    const struct preload_thread *mine = preload_mine.thread;
    const struct ledger_thread *record = mine && mine->kernel ? mine->kernel->thread : NULL;

    start->parent = record ? ledger__ref(threads->ledger, record) : 0;
    start->parent_id = record ? record->java_id : 0;
}

/* Under the lock. A name that is not shared, since the record is reused with its thread's. */
static ledger_ref own_string(struct ledger *ledger, const char *name)
{
    size_t length = strlen(name);
    ledger_ref ref = ledger__take_shared(ledger, LEDGER_STRINGS, ledger__string_cells(length));

    if (ref)
        ledger__fill_string(ledger__at(ledger, ref), name, length);
    return ref;
}

/* Under the lock. A thread begins with the name of the one that started it: the first name of its
 * own is what it is called. */
static void name(struct preload_threads *threads, struct preload_thread *thread, const char *text)
{
    struct ledger_thread *record = thread->kernel ? thread->kernel->thread : NULL;
    ledger_ref first = record && !thread->is_named ? own_string(threads->ledger, text) : 0;

    thread->is_named = true;
    if (first)
        __atomic_store_n(&record->name, first, __ATOMIC_RELEASE);
    else if (record)
        ledger__rename_thread(threads->ledger, record, text, strlen(text),
                              ledger_time__now_ns(threads->time));
}

void preload_threads__name(struct preload_threads *threads, pthread_t handle, const char *text)
{
    struct preload_thread *thread;

    pthread_mutex_lock(&threads->lock);
    for (thread = threads->first; thread && !pthread_equal(thread->handle, handle);)
        thread = thread->next;
    if (thread)
        name(threads, thread, text);
    pthread_mutex_unlock(&threads->lock);
}

void preload_threads__sample(struct preload_threads *threads, enum ledger_sample_clock clock,
                             int signal, uint64_t interval_ns)
{
    pthread_mutex_lock(&threads->lock);
    threads->signal = signal;
    threads->interval_ns = interval_ns;
    threads->clock = clock;
    for (struct preload_thread *thread = threads->first; thread; thread = thread->next)
        sample(threads, thread);
    pthread_mutex_unlock(&threads->lock);
}

void preload_threads__end_samples(struct preload_threads *threads)
{
    pthread_mutex_lock(&threads->lock);
    threads->clock = LEDGER_SAMPLE_CLOCK_NONE;
    for (struct preload_thread *thread = threads->first; thread; thread = thread->next)
        sample_timer__stop(&thread->timer);
    pthread_mutex_unlock(&threads->lock);
}

void preload_threads__read_kernel_stacks(struct preload_threads *threads)
{
    pthread_mutex_lock(&threads->lock);
    for (struct preload_thread *thread = threads->first; thread; thread = thread->next)
        if (thread->timer.stacks)
            kernel_stacks__read(thread->timer.stacks);
    pthread_mutex_unlock(&threads->lock);
}

bool preload_threads__kernel_stack(struct preload_threads *threads, pid_t tid, uint64_t when_ns,
                                   struct kernel_stack *stack)
{
    struct preload_thread *thread;
    bool found;

    pthread_mutex_lock(&threads->lock);
    for (thread = threads->first; thread && thread->tid != tid;)
        thread = thread->next;
    found =
        thread && thread->timer.stacks && kernel_stacks__find(thread->timer.stacks, when_ns, stack);
    pthread_mutex_unlock(&threads->lock);
    return found;
}
