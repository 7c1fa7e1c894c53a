#include "agent/threads/deadlock_watch.h"

#include "agent/host/log.h"
#include "agent/threads/lock_waits.h"
#include "agent/threads/stuck_threads.h"
#include "native/host/own_thread.h"
#include "native/thread/wait_cycle.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LONG_NS      200000000u     /* a wait that lasts so long may be a part of a deadlock */
#define AGAIN_NS     100000000      /* between the two looks that find a deadlock */
#define ROUND_NS     200000000u     /* between two looks, at least; … */
#define COST         50u            /* … and so many times as long as a look takes; … */
#define LASTING_COST 500u           /* … of deadlocks that last: so many times */
#define SCAN_NS      400000000u     /* between two looks at all threads, at least */
#define LASTING_NS   500000000u     /* between two looks at deadlocks that last */
#define MISSED       2u             /* so many looks in a row do not find a deadlock that is over */
#define CYCLES_MOST  DEADLOCKS_MOST /* found in one look */
#define STACK_BYTES  (512u * 1024u)

void deadlock_watch__init(struct deadlock_watch *watch)
{
    pthread_mutex_init(&watch->lock, NULL);
    pthread_cond_init(&watch->wake, NULL);
}

static uint64_t now_ns(const struct deadlock_watch *watch)
{
    return ledger_time__now_ns(&watch->threads->setup->time);
}

/* ---- what was found ---- */

struct cycle {
    uint64_t signature;
    uint32_t length;
    bool has_unheard; /* waits without a record */
    uint32_t threads[DEADLOCK_PARTS_MOST];
};

struct cycles {
    const struct stuck_threads *stuck;
    struct cycle found[CYCLES_MOST];
    uint32_t count;
};

/* FNV-1a [G. Fowler, L. C. Noll, K.-P. Vo]. */
static uint64_t mix(uint64_t hash, uint64_t value)
{
    for (unsigned i = 0; i < sizeof(value); i++)
        hash = (hash ^ (value >> 8 * i & 0xff)) * 1099511628211u;
    return hash;
}

/* The order of the threads of a look depends on when they began to wait first, and so the same
 * deadlock begins at the same thread in each look. */
static void note_cycle(void *context, const uint32_t *threads, uint32_t length)
{
    struct cycles *cycles = context;
    struct cycle *cycle = &cycles->found[cycles->count];

    if (cycles->count == CYCLES_MOST)
        return;
    cycle->signature = 14695981039346656037u;
    cycle->length = length;
    cycle->has_unheard = false;
    for (uint32_t i = 0; i < length; i++) {
        const struct stuck_thread *thread = &cycles->stuck->threads[threads[i]];

        if (!stuck_threads__still_waits(cycles->stuck, thread))
            return;
        cycle->has_unheard |= !thread->block;
        cycle->signature = mix(cycle->signature, thread->java_id ^ thread->wait);
        if (i < DEADLOCK_PARTS_MOST)
            cycle->threads[i] = threads[i];
    }
    cycles->count++;
}

static void find_cycles(struct stuck_threads *stuck, struct cycles *cycles)
{
    cycles->stuck = stuck;
    cycles->count = 0;
    for (uint32_t i = 0; i < stuck->count; i++)
        if (stuck->threads[i].waits_for_itself)
            note_cycle(cycles, &i, 1);
    wait_cycle__each(stuck->owner_of, stuck->count, stuck->scratch, note_cycle, cycles);
}

static const struct cycle *find_cycle(const struct cycles *cycles, uint64_t signature)
{
    for (uint32_t i = 0; i < cycles->count; i++)
        if (cycles->found[i].signature == signature)
            return &cycles->found[i];
    return NULL;
}

/* ---- what is recorded ---- */

static struct known_deadlock *find_known(struct deadlock_watch *watch, uint64_t signature)
{
    for (uint32_t i = 0; i < watch->known_count; i++)
        if (watch->known[i].signature == signature && !watch->known[i].is_over)
            return &watch->known[i];
    return NULL;
}

/* The number of the deadlock is stored last: until then a record is none. */
static void publish(struct deadlock_watch *watch, JNIEnv *jni, struct stuck_threads *stuck,
                    const struct cycle *cycle)
{
    struct ledger *ledger = watch->threads->ledger;
    struct known_deadlock *known = &watch->known[watch->known_count];

    if (watch->known_count == DEADLOCKS_MOST || ledger__is_tight(ledger)) {
        ledger__count(&ledger->header->lost_hazards, 1);
        return;
    }
    *known =
        (struct known_deadlock){.signature = cycle->signature, .has_unheard = cycle->has_unheard};
    for (uint32_t i = 0; i < cycle->length && i < DEADLOCK_PARTS_MOST; i++) {
        struct ledger_stuck record = {
            .found_ns = now_ns(watch), .position = i, .threads = cycle->length};
        ledger_ref ref =
            ledger__take_shared(ledger, LEDGER_STUCK, sizeof(record) / LEDGER_CELL_BYTES);

        if (!ref)
            break;
        known->waits[i].thread = stuck->threads[cycle->threads[i]].thread;
        known->waits[i].since_ns = stuck->threads[cycle->threads[i]].wait;
        stuck_threads__describe(stuck, jni, &stuck->threads[cycle->threads[i]], &record);
        memcpy(ledger__at(ledger, ref), &record, sizeof(record));
        known->records[known->parts++] = ref;
    }
    watch->known_count++;
    for (uint32_t i = 0; i < known->parts; i++) {
        struct ledger_stuck *record = ledger__at(ledger, known->records[i]);

        __atomic_store_n(&record->deadlock, watch->known_count, __ATOMIC_RELEASE);
    }
    log__line(LOG_DEBUG, "a deadlock of %u threads", cycle->length);
}

static void end(const struct deadlock_watch *watch, struct known_deadlock *known)
{
    known->is_over = true;
    for (uint32_t i = 0; i < known->parts; i++) {
        struct ledger_stuck *record = ledger__at(watch->threads->ledger, known->records[i]);

        __atomic_store_n(&record->ended_ns, now_ns(watch), __ATOMIC_RELAXED);
    }
}

/* Another look may go round another way where threads wait for several others. */
static bool waits_last(const struct deadlock_watch *watch, const struct known_deadlock *known)
{
    for (uint32_t i = 0; i < known->parts; i++)
        if (stuck_threads__waits_since(watch->threads->ledger, known->waits[i].thread) !=
            known->waits[i].since_ns)
            return false;
    return known->parts && !known->has_unheard;
}

static void look_after_known(struct deadlock_watch *watch, const struct cycles *cycles)
{
    uint32_t lasting = 0;

    for (uint32_t i = 0; i < watch->known_count; i++) {
        struct known_deadlock *known = &watch->known[i];

        if (known->is_over)
            continue;
        known->missed = waits_last(watch, known) || find_cycle(cycles, known->signature)
                            ? 0
                            : known->missed + 1;
        if (known->missed >= MISSED)
            end(watch, known);
        lasting += !known->is_over;
    }
    atomic_store(&watch->lasting, lasting);
}

/* ---- the Java thread ---- */

static bool is_profiling(const struct deadlock_watch *watch)
{
    return __atomic_load_n(&watch->threads->setup->epoch, __ATOMIC_ACQUIRE) != EPOCH_STOPPED;
}

/* True if there is a deadlock that was not known. */
static bool has_new(struct deadlock_watch *watch, const struct cycles *cycles)
{
    for (uint32_t i = 0; i < cycles->count; i++)
        if (!find_known(watch, cycles->found[i].signature))
            return true;
    return false;
}

static void publish_new(struct deadlock_watch *watch, JNIEnv *jni, struct stuck_threads *stuck,
                        const struct cycles *first, const struct cycles *again)
{
    for (uint32_t i = 0; i < again->count; i++)
        if (find_cycle(first, again->found[i].signature) &&
            !find_known(watch, again->found[i].signature))
            publish(watch, jni, stuck, &again->found[i]);
}

static bool has_unheard(const struct deadlock_watch *watch)
{
    for (uint32_t i = 0; i < watch->known_count; i++)
        if (!watch->known[i].is_over && watch->known[i].has_unheard)
            return true;
    return false;
}

/* What one look after the other leaves out counts once, about. */
static void count_left_out(struct deadlock_watch *watch, uint32_t left_out)
{
    if (left_out > watch->left_out)
        ledger__count(&watch->threads->ledger->header->unwatched_waits, left_out - watch->left_out);
    watch->left_out = left_out;
}

static void collect(struct deadlock_watch *watch, JNIEnv *jni, struct stuck_threads *stuck,
                    struct cycles *cycles, bool all)
{
    stuck_threads__collect(stuck, watch->threads, jni, now_ns(watch) - LONG_NS, all);
    find_cycles(stuck, cycles);
    count_left_out(watch, stuck->left_out);
}

/* Deadlocks of waits without a record are to be looked for again as they were found. */
static void look(struct deadlock_watch *watch, JNIEnv *jni, struct stuck_threads *stuck, bool all)
{
    const struct timespec again = {.tv_nsec = AGAIN_NS};
    struct cycles first, second;

    all |= has_unheard(watch);
    collect(watch, jni, stuck, &first, all);
    if (has_new(watch, &first) && is_profiling(watch)) {
        (void)nanosleep(&again, NULL);
        collect(watch, jni, stuck, &second, all);
        if (is_profiling(watch))
            publish_new(watch, jni, stuck, &first, &second);
        first = second;
    }
    if (is_profiling(watch))
        look_after_known(watch, &first);
    stuck_threads__release(stuck, jni);
}

static bool wait_until_wanted(struct deadlock_watch *watch)
{
    bool all;

    pthread_mutex_lock(&watch->lock);
    while (!watch->is_wanted)
        pthread_cond_wait(&watch->wake, &watch->lock);
    watch->is_wanted = false;
    all = watch->looks_at_all;
    pthread_mutex_unlock(&watch->lock);
    return all;
}

/* It waits in native code: safepoints do not wait for it. */
static void *run(void *context)
{
    struct deadlock_watch *watch = context;
    JavaVMAttachArgs arguments = {.version = JNI_VERSION_1_8, .name = "treadle deadlocks"};
    struct stuck_threads *stuck = calloc(1, sizeof(*stuck));
    JavaVM *vm = watch->threads->vm;
    JNIEnv *jni = NULL;

    /* As the JVM will cut the name: it is not to change while others look at the thread. */
    pthread_setname_np(pthread_self(), "treadle deadloc");
    if (!stuck || (*vm)->AttachCurrentThreadAsDaemon(vm, (void **)&jni, &arguments) != JNI_OK) {
        atomic_store(&watch->is_over, true);
        free(stuck);
        return NULL;
    }
    for (;;) {
        bool all = wait_until_wanted(watch);
        uint64_t began_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID), took_ns;

        if (is_profiling(watch))
            look(watch, jni, stuck, all);
        took_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - began_ns;
        atomic_store(&watch->took_ns, took_ns);
        atomic_fetch_add(&watch->all_took_ns, took_ns);
        atomic_store(&watch->is_busy, false);
    }
    return NULL;
}

/* ---- the housekeeping thread ---- */

uint64_t deadlock_watch__took_ns(const struct deadlock_watch *watch)
{
    const struct lock_waits *locks = watch->threads->locks;

    return atomic_load(&watch->all_took_ns) + (locks ? atomic_load(&locks->orders.took_ns) : 0);
}

static void ask(struct deadlock_watch *watch, bool all)
{
    if (!watch->has_thread && own_thread__create(run, watch, STACK_BYTES) != 0) {
        atomic_store(&watch->is_over, true);
        return;
    }
    watch->has_thread = true;
    atomic_store(&watch->is_busy, true);
    pthread_mutex_lock(&watch->lock);
    watch->is_wanted = true;
    watch->looks_at_all = all;
    pthread_cond_signal(&watch->wake);
    pthread_mutex_unlock(&watch->lock);
}

/* So many threads wait for locks for long, or one that may wait for itself; and one of them was not
 * asked about before. */
static bool is_suspicious(const struct deadlock_watch *watch, uint64_t at_ns, unsigned least)
{
    const struct lock_waiters *waiters = &watch->threads->locks->waiters;
    const struct ledger *ledger = watch->threads->ledger;
    bool is_new = false;
    unsigned waiting = 0;

    for (unsigned i = 0; i < LOCK_WAITERS; i++) {
        const struct lock_waiter *waiter = &waiters->of[i];
        uint32_t may_block = atomic_load_explicit(&waiter->may_block, memory_order_acquire);
        uint64_t since_ns;

        if (may_block == BLOCKS_NEVER)
            continue;
        since_ns = stuck_threads__waits_since(ledger, waiter->thread);
        if (!since_ns || since_ns + LONG_NS > at_ns)
            continue;
        waiting += may_block == BLOCKS_FOR_ITSELF ? least : 1;
        is_new |= since_ns + LONG_NS > watch->asked_ns;
    }
    return is_new && waiting >= least;
}

/* The count of unheard waits is brought up to date in rounds that look at all else, which a process
 * that has come to rest may not have for seconds. */
static void note_unheard(struct deadlock_watch *watch)
{
    const struct ledger_header *header = watch->threads->ledger->header;
    uint64_t unheard = __atomic_load_n(&header->unheard_waits, __ATOMIC_RELAXED);

    watch->has_unheard |= unheard != watch->unheard || !atomic_load(&watch->threads->waits_heard);
    watch->unheard = unheard;
}

/* Waits without a record may be among those that last: such as began before the profiler came, at a
 * start in a running process, and those that the budget had no room for. */
static bool is_scan_due(const struct deadlock_watch *watch, uint64_t at_ns)
{
    const struct ledger_header *header = watch->threads->ledger->header;
    bool starts = watch->epoch != *watch->threads->epochs &&
                  (header->attached || *watch->threads->epochs > EPOCH_FIRST);

    return at_ns - watch->scan_ns > SCAN_NS && (starts || watch->has_unheard);
}

/* Some waits may have no record. */
static bool has_gaps(const struct deadlock_watch *watch)
{
    const struct ledger_header *header = watch->threads->ledger->header;

    return header->attached || *watch->threads->epochs > EPOCH_FIRST || watch->has_unheard ||
           watch->unheard;
}

static void note_scan(struct deadlock_watch *watch, uint64_t at_ns)
{
    watch->scan_ns = at_ns;
    watch->epoch = *watch->threads->epochs;
    watch->has_unheard = false;
}

void deadlock_watch__look(struct deadlock_watch *watch)
{
    uint64_t at_ns = now_ns(watch), rest_ns = atomic_load(&watch->took_ns) * COST;
    bool lasts, scan, gaps;

    note_unheard(watch);
    if (watch->threads->locks)
        lock_orders__allow(&watch->threads->locks->orders, at_ns);
    if (!watch->threads->locks || !is_profiling(watch) || atomic_load(&watch->is_over) ||
        atomic_load(&watch->is_busy) ||
        at_ns - watch->asked_ns < (rest_ns > ROUND_NS ? rest_ns : ROUND_NS))
        return;
    gaps = has_gaps(watch);
    lasts = atomic_load(&watch->lasting) && at_ns - watch->asked_ns > LASTING_NS &&
            at_ns - watch->asked_ns > atomic_load(&watch->took_ns) * LASTING_COST;
    scan = is_scan_due(watch, at_ns);
    if (!lasts && !scan && !is_suspicious(watch, at_ns, gaps ? 1 : 2))
        return;
    if (scan)
        note_scan(watch, at_ns);
    watch->asked_ns = at_ns;
    ask(watch, scan || gaps);
}
