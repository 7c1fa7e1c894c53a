/* Knows the whole profiler: handlers of forks get nothing of ours. */
#include "native/preload/forks.h"

#include "native/preload/preload.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

/* Longer than a look at the images takes, but for the first one of a large program. */
#define WAIT_S 1

/* What the calling thread knows and holds while it forks. */
enum {
    HOLDS_NAMES = 1,
    HOLDS_THREADS = 2,
    HOLDS_ALL = HOLDS_NAMES | HOLDS_THREADS,
    IS_ACTIVE = 4, /* the process is profiled, and no such child */
};

/* False: the lock is not to be had in time. */
static bool hold(pthread_mutex_t *lock, struct job_patience *patience)
{
    struct timespec until;

    do {
        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_sec += WAIT_S;
        if (pthread_mutex_clocklock(lock, CLOCK_MONOTONIC, &until) == 0)
            return true;
    } while (!job_patience__is_over(patience));
    return false;
}

/* The profiler's own thread takes one of the two at a time. */
static void before_fork(void)
{
    struct preload *preload = &preload_process;
    struct job_patience patience;

    if (!preload__is_active(preload))
        return;
    preload_mine.held_for_fork = IS_ACTIVE;
    job_patience__begin(&patience, &preload->jobs, WAIT_S * UINT64_C(1000000000));
    if (hold(&preload->names.lock, &patience))
        preload_mine.held_for_fork |= HOLDS_NAMES;
    if (hold(&preload->threads.lock, &patience))
        preload_mine.held_for_fork |= HOLDS_THREADS;
}

static void after_fork(void)
{
    struct preload *preload = &preload_process;
    unsigned held = preload_mine.held_for_fork;

    preload_mine.held_for_fork = 0;
    if (held & HOLDS_THREADS)
        pthread_mutex_unlock(&preload->threads.lock);
    if (held & HOLDS_NAMES)
        pthread_mutex_unlock(&preload->names.lock);
}

/* From here on hooks do nothing, and one that was interrupted works on private memory. */
static void leave_to_parent(struct preload *preload)
{
    __atomic_store_n(&preload->setup.epoch, EPOCH_STOPPED, __ATOMIC_RELEASE);
    if (preload->samples)
        atomic_store(&preload->samples->running, false);
    if (pthread_getspecific(preload->threads.at_end))
        pthread_setspecific(preload->threads.at_end, NULL);
    kernel_thread_table__abandon(&preload->kernel_threads);
    kernel_thread_mine = NULL;
    kernel_thread_refused = false;
    preload_mine.forked = preload_mine.thread;
    preload_mine.thread = NULL;
    (void)ledger__make_private(&preload->ledger);
}

void forks__note_unheard(struct preload *preload)
{
    int stage = PRELOAD_ACTIVE;

    if (preload__is_here() ||
        !atomic_compare_exchange_strong(&preload->stage, &stage, PRELOAD_ASIDE))
        return;
    leave_to_parent(preload);
    preload_mine.is_no_ones = true;
    if (!preload->options.is_quiet)
        preload__say("the child of _Fork or of a clone system call is not profiled");
}

/* The word that the kernel wipes. */
static void set_here(void)
{
    static uint32_t *word;

    if (!word) {
        word =
            mmap(NULL, sizeof(*word), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (word == MAP_FAILED)
            word = NULL;
        if (!word)
            return;
    }
    *word = 1;
    if (madvise(word, sizeof(*word), MADV_WIPEONFORK) == 0)
        preload_here = word;
}

static void in_child(void)
{
    struct preload *preload = &preload_process;
    unsigned held = preload_mine.held_for_fork;
    int stage = atomic_load(&preload->stage);

    preload_mine.held_for_fork = 0;
    set_here();
    /* The agent is the parent's. */
    preload->agent = (struct preload_agent){NULL, NULL};
    if (stage == PRELOAD_FORKED && preload_mine.is_forked)
        return; /* once more, still within the hook */
    if (stage != PRELOAD_ACTIVE && stage != PRELOAD_OVER)
        return;
    leave_to_parent(preload);
    if (stage == PRELOAD_ACTIVE && held == (IS_ACTIVE | HOLDS_ALL)) {
        preload_mine.is_forked = true;
        atomic_store(&preload->stage, PRELOAD_FORKED);
        if (!preload_mine.busy)
            forks__begin_child(preload);
        return;
    }
    preload_mine.is_no_ones = true;
    atomic_store(&preload->stage, PRELOAD_ASIDE);
    if (stage == PRELOAD_ACTIVE && held & IS_ACTIVE && !preload->options.is_quiet)
        preload__say(
            "the child of a fork is not profiled: the fork came in the middle of something "
            "else");
}

void forks__prepare(struct preload *preload)
{
    set_here();
    if (!preload->has_fork_handler)
        preload->has_fork_handler = pthread_atfork(before_fork, after_fork, in_child) == 0;
}

/* Threads of the parent, their own among them, whose stack's place is the new one's, too. No
 * descriptor of theirs is closed: the program may have closed it, and have another file there. */
static void release_threads(struct preload_threads *threads)
{
    struct preload_thread *thread = threads->first;

    while (thread) {
        struct preload_thread *next = thread->next;

        function_stack__release(&thread->functions);
        free(thread);
        thread = next;
    }
    pthread_key_delete(threads->at_end);
}

static void release(struct preload *preload)
{
    release_threads(&preload->threads);
    kernel_thread_table__destroy(&preload->kernel_threads);
    pushed_frames__release(&preload->pushed);
    memset(&preload->pushed, 0, sizeof(preload->pushed));
    memset(&preload->setup, 0, sizeof(preload->setup));
    memset(&preload->folder, 0, sizeof(preload->folder));
    preload->last.path[0] = '\0';
    preload->next_scan_ns = 0;
    preload->all_metrics_ns = 0;
    preload->samples_due_ns = 0;
    preload->is_measured = false;
    preload->has_warned = false;
    preload->has_stood_aside = false;
    preload->is_tidy = true;
    ledger__close(&preload->ledger);
}

static bool has_pid(const char *pattern)
{
    for (; *pattern; pattern++)
        if (*pattern == '%' && *++pattern == 'p')
            return true;
    return false;
}

/* Before the ending: the parent's snapshot would otherwise have the same name. */
static void add_pid(char *pattern, size_t room)
{
    char *slash = strrchr(pattern, '/'), *end = strrchr(slash ? slash : pattern, '.');
    size_t length = strlen(pattern);

    if (has_pid(pattern) || length + sizeof("-%p") > room)
        return;
    end = end ? end : pattern + length;
    memmove(end + 3, end, strlen(end) + 1);
    end[0] = '-';
    end[1] = '%';
    end[2] = 'p';
}

void forks__begin_child(struct preload *preload)
{
    struct preload_thread *forked = preload_mine.forked;
    struct preload_start start = {.is_forked = true};
    uint64_t busy = preload_mine.busy;

    preload_mine.busy = UINT64_MAX;
    preload_mine.is_forked = false;
    preload_mine.forked = NULL;
    if (forked) {
        start.low = forked->functions.low;
        start.high = forked->functions.high;
        start.marks = forked->functions.marks;
    }
    atomic_store(&preload->stage, PRELOAD_BEGINNING);
    release(preload);
    add_pid(preload->snapshot_pattern, sizeof(preload->snapshot_pattern));
    preload->forks++;
    preload__begin_child(preload, forked ? &start : NULL);
    preload_mine.busy = busy;
}
