#include "agent/threads/lock_holds.h"

#include "agent/threads/contended_classes.h"
#include "agent/threads/lock_waits.h"
#include "agent/threads/thread_events.h"

#define ALL_LOCKS_ENDING UINT64_MAX /* in place of a time: no thread may begin it meanwhile */

static ledger_ref ref_of(const struct java_threads *threads, const struct kernel_thread *mine)
{
    return ledger__ref(threads->ledger, mine->thread);
}

struct thread_holds *lock_holds__entry(const struct java_threads *threads,
                                       const struct kernel_thread *mine, bool is_begin)
{
    struct hold_table *table = &threads->locks->holds.table;
    ledger_ref thread = ref_of(threads, mine);
    struct thread_holds *of = hold_table__find(table, thread);
    uint32_t round = atomic_load_explicit(&threads->holds_round, memory_order_relaxed);

    if (!of && is_begin) {
        of = hold_table__take(table, thread);
        if (of)
            of->round = round;
        else
            ledger__count(&threads->ledger->header->lost_holds, 1);
    }
    if (of && of->round != round) {
        thread_holds__clear(of);
        of->round = round;
    }
    return of;
}

void lock_holds__forget(struct lock_holds *holds, ledger_ref thread)
{
    struct thread_holds *of = hold_table__find(&holds->table, thread);

    if (!of)
        return;
    thread_holds__clear(of);
    atomic_store_explicit(&of->thread, 0, memory_order_release);
}

/* ---- holds ---- */

void lock_holds__hear(const struct java_threads *threads, JNIEnv *jni, bool heard)
{
    struct lock_holds *holds = &threads->locks->holds;

    if (atomic_load_explicit(&holds->is_unheard, memory_order_relaxed) == !heard ||
        atomic_exchange(&holds->is_switching, true))
        return;
    hook_class__hear_holds(threads->quotas->hook_class, jni, heard);
    atomic_store(&holds->is_unheard, !heard);
    atomic_store(&holds->is_switching, false);
}

void lock_holds__hear_all(struct java_threads *threads, JNIEnv *jni, uint64_t now_ns)
{
    uint64_t none = 0;

    if (!atomic_compare_exchange_strong(&threads->locks->holds.all_ns, &none, now_ns))
        return;
    hook_class__hear_all_locks(threads->quotas->hook_class, jni, true);
}

void lock_holds__end_all(struct java_threads *threads, JNIEnv *jni, uint64_t now_ns)
{
    uint64_t since_ns = atomic_load_explicit(&threads->locks->holds.all_ns, memory_order_relaxed);

    if (!since_ns || since_ns > now_ns || now_ns - since_ns < ALL_LOCKS_NS ||
        !atomic_compare_exchange_strong(&threads->locks->holds.all_ns, &since_ns, ALL_LOCKS_ENDING))
        return;
    hook_class__hear_all_locks(threads->quotas->hook_class, jni, false);
    atomic_store(&threads->locks->holds.all_ns, 0);
}

struct kernel_thread *lock_holds__heard(struct java_threads *threads, JNIEnv *jni)
{
    struct kernel_thread *mine = kernel_thread_table__mine();

    if (!threads->locks || !mine || !mine->thread || !kernel_thread__counts(mine))
        return NULL;
    if (lock_holds__are_heard(threads))
        return mine;
    /* They cost, too. */
    __atomic_store_n(&mine->times.holds.calls, mine->times.holds.calls + 1, __ATOMIC_RELAXED);
    lock_holds__hear(threads, jni, false);
    return NULL;
}

uint64_t lock_holds__now(const struct kernel_thread *mine)
{
    return ledger_time__now_ns(&mine->setup->time);
}

static void record(const struct java_threads *threads, const struct kernel_thread *mine,
                   const struct open_hold *hold, const struct lock_identity *lock, uint64_t now_ns)
{
    const struct lock_place holder = {ref_of(threads, mine),
                                      ledger__ref(threads->ledger, mine->tree.current)};
    struct lock_identity held = *lock;

    held.kind = hold->monitor ? BLOCK_HELD_MONITOR : BLOCK_HELD_PARK;
    if (hold->since_ns && hold->since_ns >= threads->ledger->header->since_ns)
        lock_blocks__held(&threads->locks->blocks, &held, holder, hold->since_ns, now_ns);
    else
        ledger__count(&threads->ledger->header->unseen_holds, 1);
}

static bool is_mine(const struct java_threads *threads, JNIEnv *jni,
                    const struct kernel_thread *mine, uintptr_t monitor)
{
    const struct monitor_owner *owner = &threads->locks->monitor;
    const void *host = sampler__java_thread(threads->sampler, jni);
    struct monitor_holder holder;

    switch (monitor_owner__read(owner, monitor, &holder)) {
    case MONITOR_OWNED:
        return holder.java_id ? holder.java_id == mine->thread->java_id
                              : monitor_owner__is(owner, holder, host);
    case MONITOR_ANONYMOUS:
        return monitor_owner__has_locked(owner, host, monitor);
    default:
        return false;
    }
}

/* Without room for a mark the end of the hold would not be seen: each wait for it counts. */
static void mark_monitor(const struct java_threads *threads, struct thread_holds *of,
                         const struct lock_identity *lock, uintptr_t monitor)
{
    for (unsigned i = 0; i < HOLD_MARKS; i++)
        if (atomic_load(&of->marks[i].monitor) == monitor)
            return;
    for (unsigned i = 0; i < HOLD_MARKS; i++) {
        uintptr_t none = 0;

        /* 1 is no monitor: nobody owns it. */
        if (!atomic_compare_exchange_strong(&of->marks[i].monitor, &none, 1))
            continue;
        of->marks[i].lock = *lock;
        atomic_store_explicit(&of->marks[i].monitor, monitor, memory_order_release);
        return;
    }
    ledger__count(&threads->ledger->header->lost_holds, 1);
}

static void drop_mark(struct thread_holds *of, uintptr_t monitor)
{
    for (unsigned i = 0; i < HOLD_MARKS; i++) {
        uintptr_t there = monitor;

        (void)atomic_compare_exchange_strong(&of->marks[i].monitor, &there, 0);
    }
}

/* The only mark whose monitor the calling thread owns, or does not own; NULL: there is none, or
 * several. */
static struct hold_mark *only_mark(const struct java_threads *threads, JNIEnv *jni,
                                   const struct kernel_thread *mine, struct thread_holds *of,
                                   bool owned)
{
    struct hold_mark *only = NULL;
    unsigned count = 0;

    for (unsigned i = 0; i < HOLD_MARKS; i++) {
        uintptr_t monitor = atomic_load_explicit(&of->marks[i].monitor, memory_order_acquire);

        if (!monitor || is_mine(threads, jni, mine, monitor) != owned)
            continue;
        only = &of->marks[i];
        count++;
    }
    return count == 1 ? only : NULL;
}

/* Monitors that the thread owns no more. count: of holds that ended so. */
static void drop_outdated(const struct java_threads *threads, JNIEnv *jni,
                          const struct kernel_thread *mine, struct thread_holds *of,
                          uint64_t *count)
{
    for (unsigned i = 0; i < HOLD_MARKS; i++) {
        uintptr_t monitor = atomic_load_explicit(&of->marks[i].monitor, memory_order_acquire);

        if (!monitor || is_mine(threads, jni, mine, monitor))
            continue;
        drop_mark(of, monitor);
        ledger__count(count, 1);
    }
}

static bool has_marks(const struct thread_holds *of)
{
    for (unsigned i = 0; i < HOLD_MARKS; i++)
        if (atomic_load_explicit(&of->marks[i].monitor, memory_order_relaxed))
            return true;
    return false;
}

static void name_won(const struct kernel_thread *mine, struct open_hold *hold)
{
    hold->monitor = mine->thread->won_monitor;
    hold->lock =
        (struct lock_identity){BLOCK_HELD_MONITOR, (ledger_ref)(mine->thread->won_lock >> 32),
                               (uint32_t)mine->thread->won_lock};
}

/* A mark tells when the hold ends for which there is no room. */
static void mark_won(const struct java_threads *threads, const struct kernel_thread *mine,
                     struct thread_holds *of)
{
    struct open_hold won;

    name_won(mine, &won);
    mark_monitor(threads, of, &won.lock, won.monitor);
}

/* The monitor that the thread waited for last is the one that it has entered now; unless it was
 * entered elsewhere, by code without hooks. hold: NULL: there is no room. */
static void take_over(const struct java_threads *threads, JNIEnv *jni, struct kernel_thread *mine,
                      struct thread_holds *of, struct open_hold *hold)
{
    bool has_entered = mine->thread->won_node == ledger__ref(threads->ledger, mine->tree.current) &&
                       is_mine(threads, jni, mine, mine->thread->won_monitor);

    if (has_entered && hold)
        name_won(mine, hold);
    else if (has_entered)
        mark_won(threads, mine, of);
    mine->thread->won_monitor = mine->thread->won_lock = 0;
}

static void enter(struct java_threads *threads, JNIEnv *jni, struct kernel_thread *mine)
{
    struct thread_holds *of = lock_holds__entry(threads, mine, true);
    struct open_hold *hold = of && of->depth < HOLDS_OPEN ? &of->monitors[of->depth] : NULL;

    if (!of)
        return;
    if (has_marks(of))
        drop_outdated(threads, jni, mine, of, &threads->ledger->header->unseen_holds);
    of->depth++;
    if (hold) {
        hold->since_ns = lock_holds__now(mine);
        hold->monitor = 0;
        hold->lock.identity = 0;
    }
    if (mine->thread->won_monitor)
        take_over(threads, jni, mine, of, hold);
}

void lock_holds__acquired(struct java_threads *threads, JNIEnv *jni)
{
    struct kernel_thread *mine = lock_holds__heard(threads, jni);
    uint64_t began;

    if (!mine)
        return;
    began = timed_hooks__begin(&mine->times.holds);
    enter(threads, jni, mine);
    timed_hooks__end(&mine->times.holds, began);
}

/* The monitor entered last; NULL: it was not seen to be entered, or there was no room. */
static struct open_hold *pop(struct thread_holds *of)
{
    if (!of->depth)
        return NULL;
    of->depth--;
    return of->depth < HOLDS_OPEN ? &of->monitors[of->depth] : NULL;
}

static bool is_only_unknown(const struct thread_holds *of)
{
    for (uint32_t i = 0; i < of->depth && i < HOLDS_OPEN; i++)
        if (!of->monitors[i].monitor)
            return false;
    return true;
}

/* What was entered last has been exited, and there was no room for it: its hold is lost, if
 * somebody waited for it. */
static void lose_exited(const struct java_threads *threads, JNIEnv *jni,
                        const struct kernel_thread *mine, struct thread_holds *of)
{
    if (of->depth >= HOLDS_OPEN && has_marks(of))
        drop_outdated(threads, jni, mine, of, &threads->ledger->header->lost_holds);
}

/* It has been exited. */
static void end_exited(const struct java_threads *threads, JNIEnv *jni,
                       const struct kernel_thread *mine, struct thread_holds *of,
                       struct open_hold *hold, uint64_t now_ns)
{
    struct hold_mark *mark;

    if (hold->monitor) {
        drop_mark(of, hold->monitor);
        if (!is_mine(threads, jni, mine, hold->monitor))
            record(threads, mine, hold, &hold->lock, now_ns);
        return;
    }
    mark = has_marks(of) ? only_mark(threads, jni, mine, of, false) : NULL;
    if (!mark)
        return;
    hold->monitor = atomic_load(&mark->monitor);
    record(threads, mine, hold, &mark->lock, now_ns);
    drop_mark(of, hold->monitor);
}

/* It is about to be exited, or given back by Object.wait. */
static void end_owned(const struct java_threads *threads, JNIEnv *jni,
                      const struct kernel_thread *mine, struct thread_holds *of,
                      struct open_hold *hold, uint64_t now_ns)
{
    const struct monitor_owner *owner = &threads->locks->monitor;
    struct hold_mark *mark;

    if (hold->monitor) {
        drop_mark(of, hold->monitor);
        record(threads, mine, hold, &hold->lock, now_ns);
        return;
    }
    mark = has_marks(of) && is_only_unknown(of) ? only_mark(threads, jni, mine, of, true) : NULL;
    if (!mark || monitor_owner__recursions(owner, atomic_load(&mark->monitor)) != 0)
        return;
    hold->monitor = atomic_load(&mark->monitor);
    record(threads, mine, hold, &mark->lock, now_ns);
    drop_mark(of, hold->monitor);
}

static void leave(struct java_threads *threads, JNIEnv *jni, bool exited)
{
    struct kernel_thread *mine = lock_holds__heard(threads, jni);
    struct thread_holds *of;
    struct open_hold *hold;
    uint64_t now_ns, began;

    if (!mine)
        return;
    began = timed_hooks__begin(&mine->times.holds);
    now_ns = lock_holds__now(mine);
    of = lock_holds__entry(threads, mine, false);
    hold = of ? pop(of) : NULL;
    if (hold && exited)
        end_exited(threads, jni, mine, of, hold, now_ns);
    else if (hold)
        end_owned(threads, jni, mine, of, hold, now_ns);
    else if (of && exited)
        lose_exited(threads, jni, mine, of);
    if (hold)
        hold->since_ns = hold->monitor = 0;
    if (of)
        thread_holds__give_back(of);
    timed_hooks__end(&mine->times.holds, began);
}

void lock_holds__released(struct java_threads *threads, JNIEnv *jni)
{
    leave(threads, jni, true);
}

void lock_holds__releasing(struct java_threads *threads, JNIEnv *jni)
{
    leave(threads, jni, false);
}

/* The innermost monitor; NULL: there is none, or no room was for it. */
static struct open_hold *innermost(const struct java_threads *threads,
                                   const struct kernel_thread *mine, struct thread_holds **of)
{
    *of = lock_holds__entry(threads, mine, false);
    return *of && (*of)->depth && (*of)->depth <= HOLDS_OPEN ? &(*of)->monitors[(*of)->depth - 1]
                                                             : NULL;
}

static struct hold_mark *find_mark(struct thread_holds *of, uint32_t identity)
{
    for (unsigned i = 0; i < HOLD_MARKS; i++)
        if (atomic_load_explicit(&of->marks[i].monitor, memory_order_acquire) > 1 &&
            of->marks[i].lock.identity == identity)
            return &of->marks[i];
    return NULL;
}

/* The monitor that was entered last is the one that the thread gives up. */
void lock_holds__gives_up(struct java_threads *threads, JNIEnv *jni, struct kernel_thread *mine,
                          jobject object)
{
    struct thread_holds *of;
    struct open_hold *hold = innermost(threads, mine, &of);
    struct hold_mark *mark;
    uint64_t now_ns = lock_holds__now(mine);
    jint hash = 0;

    (void)jni;
    if (!hold || (*threads->jvmti)->GetObjectHashCode(threads->jvmti, object, &hash) ||
        (hold->monitor && hold->lock.identity != (uint32_t)hash))
        return;
    mark = find_mark(of, (uint32_t)hash);
    if (mark && !hold->monitor) {
        hold->monitor = atomic_load(&mark->monitor);
        hold->lock = mark->lock;
    }
    if (hold->monitor) {
        drop_mark(of, hold->monitor);
        record(threads, mine, hold, &hold->lock, now_ns);
    }
    hold->since_ns = hold->monitor = 0;
    hold->lock.identity = (uint32_t)hash;
}

/* The JVM tells of the end of the wait before the monitor is entered again. */
void lock_holds__gets_back(struct java_threads *threads, struct kernel_thread *mine)
{
    struct thread_holds *of;
    struct open_hold *hold = innermost(threads, mine, &of);

    if (hold && !hold->since_ns)
        hold->since_ns = lock_holds__now(mine);
}

void lock_holds__won(struct java_threads *threads, struct kernel_thread *mine)
{
    struct thread_holds *of;
    struct open_hold *hold = innermost(threads, mine, &of);

    /* Only a monitor that was given up has a name and is not held: it is entered again. */
    if (!hold || hold->monitor || !hold->lock.identity ||
        hold->lock.identity != (uint32_t)mine->thread->won_lock)
        return;
    name_won(mine, hold);
    hold->since_ns = lock_holds__now(mine);
    mine->thread->won_monitor = mine->thread->won_lock = 0;
}

/* ---- Locks ---- */

void lock_holds__end(struct java_threads *threads, JNIEnv *jni, const struct kernel_thread *mine,
                     struct thread_holds *of, struct open_hold *hold, jobject object,
                     uint64_t now_ns)
{
    if (atomic_load(&hold->is_contended) ||
        shared_holds__was_contended(&threads->locks->shared, hold)) {
        struct lock_identity lock = lock_waits__identify(threads, jni, BLOCK_HELD_PARK, object);

        record(threads, mine, hold, &lock, now_ns);
    }
    hold->since_ns = 0;
    thread_holds__give_back(of);
}

/* ---- what becomes contended ---- */

/* A Lock that the owner was seen to acquire. */
static void mark_lock(struct thread_holds *of, uint32_t identity)
{
    struct open_hold *hold = thread_holds__lock(of, identity);

    if (hold)
        atomic_store(&hold->is_contended, true);
}

void lock_holds__contended(struct java_threads *threads, JNIEnv *jni, struct kernel_thread *mine,
                           const struct lock_identity *lock, uintptr_t monitor,
                           struct lock_place owner, bool is_new)
{
    struct lock_holds *holds = &threads->locks->holds;
    struct thread_holds *of = owner.thread ? hold_table__find(&holds->table, owner.thread) : NULL;

    if (lock_holds__are_heard(threads))
        lock_holds__hear(threads, jni, true);
    mine->thread->won_monitor = monitor;
    mine->thread->won_lock = (uint64_t)lock->class_name << 32 | lock->identity;
    mine->thread->won_node = ledger__ref(threads->ledger, mine->tree.current);
    if (of && monitor)
        mark_monitor(threads, of, lock, monitor);
    else if (of)
        mark_lock(of, lock->identity);
    if (threads->events != LEDGER_EVENTS_INSTRUMENT)
        return;
    if (!monitor)
        atomic_store_explicit(&holds->locks_wanted, true, memory_order_relaxed);
    else if (is_new && threads->may_hook_monitors)
        contended_classes__want(threads, jni, owner.node);
}
