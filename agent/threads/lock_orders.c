#include "agent/threads/lock_orders.h"

#include "agent/threads/hazard_paths.h"
#include "agent/threads/lock_waits.h"
#include "agent/threads/owned_holds.h"

#include <string.h>

#define HELD_MOST 8u
#define PROBES    16u
#define FRAMES    48

/* The locks that a thread holds, the outermost first; the last one may be what it waits for. */
struct held_locks {
    struct lock_identity locks[HELD_MOST];
    jint depths[HELD_MOST]; /* of the frames that took the locks, from the top of the stack */
    uint32_t count;
    struct lock_identity owned[HELD_MOST]; /* Locks, whose order is not known; some have no class */
    bool are_read[HELD_MOST];              /* … or keep no other reader out */
    uint32_t owned_count;
    uint32_t flags; /* enum ledger_order_flag */
};

/* The thread took locks[1] while it had locks[0], and the gates before both, or nobody knows when.
 */
struct order_seen {
    struct lock_identity locks[2];
    jint depths[2]; /* -1: not known */
    struct lock_identity gates[ORDER_GATES];
    uint32_t gate_count;
    uint32_t flags; /* enum ledger_order_flag */
};

void lock_orders__init(struct lock_orders *orders)
{
    atomic_store(&orders->looks, LOCK_ORDER_SAVED);
}

void lock_orders__allow(struct lock_orders *orders, uint64_t now_ns)
{
    uint64_t more = (now_ns - orders->allowed_ns) * LOCK_ORDER_LOOKS / 1000000000u;
    uint32_t looks = atomic_load(&orders->looks);

    if (!more)
        return;
    orders->allowed_ns = now_ns;
    if (looks + more > LOCK_ORDER_SAVED)
        more = looks < LOCK_ORDER_SAVED ? LOCK_ORDER_SAVED - looks : 0;
    atomic_fetch_add(&orders->looks, (uint32_t)more);
}

/* The finalizer of MurmurHash3 [A. Appleby]. */
static uint64_t mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * 0xff51afd7ed558ccdu;
    hash = (hash ^ hash >> 33) * 0xc4ceb9fe1a85ec53u;
    return hash ^ hash >> 33;
}

/* A thread in a place that is new has its look at once, if any has. */
static bool may_look(struct lock_orders *orders, const struct kernel_thread *mine, uint64_t now_ns)
{
    uint64_t place = mix(mix(mine->thread->java_id, mine->thread->wait_reason),
                         (uint64_t)(uintptr_t)mine->tree.current);
    _Atomic uint64_t *looked_ns = &orders->looked_ns[place % LOCK_ORDER_PLACES];
    uint64_t before_ns = atomic_load_explicit(looked_ns, memory_order_relaxed);
    uint32_t looks = atomic_load_explicit(&orders->looks, memory_order_relaxed);

    if (!looks || (before_ns && now_ns - before_ns < LOCK_ORDER_PAUSE_NS))
        return false;
    atomic_store_explicit(looked_ns, now_ns, memory_order_relaxed);
    while (looks && !atomic_compare_exchange_weak(&orders->looks, &looks, looks - 1))
        ;
    return looks > 0;
}

/* ---- what a thread holds ---- */

static bool holds(const struct held_locks *held, const struct lock_identity *lock)
{
    for (uint32_t i = 0; i < held->count; i++)
        if (held->locks[i].identity == lock->identity &&
            held->locks[i].class_name == lock->class_name)
            return true;
    return false;
}

static void hold(struct held_locks *held, const struct lock_identity *lock, jint depth)
{
    if (held->count == HELD_MOST || !lock->identity || !lock->class_name || holds(held, lock))
        return;
    held->locks[held->count] = *lock;
    held->depths[held->count++] = depth;
}

/* The JVM tells of the innermost frames first. */
static void hold_all(struct java_threads *threads, JNIEnv *jni,
                     const jvmtiMonitorStackDepthInfo *monitors, jint count,
                     struct held_locks *held)
{
    jint depth = -1;

    for (jint i = count; i-- > 0;) {
        struct lock_identity lock;

        /* Of what native code holds nobody knows where it stands in the order. */
        if (monitors[i].stack_depth < 0)
            continue;
        /* Another order than expected says nothing. */
        if (depth >= 0 && monitors[i].stack_depth > depth) {
            held->count = 0;
            return;
        }
        depth = monitors[i].stack_depth;
        lock = lock_waits__identify(threads, jni, BLOCK_MONITOR, monitors[i].monitor);
        hold(held, &lock, depth);
    }
}

static void find_held(struct java_threads *threads, JNIEnv *jni, struct held_locks *held,
                      bool one_is_enough)
{
    jvmtiMonitorStackDepthInfo *monitors = NULL;
    jvmtiEnv *jvmti = threads->jvmti;
    jint count = 0;

    held->count = 0;
    if ((*jvmti)->GetOwnedMonitorStackDepthInfo(jvmti, NULL, &count, &monitors) != JVMTI_ERROR_NONE)
        return;
    if (count >= (one_is_enough ? 1 : 2) && count < (jint)HELD_MOST)
        hold_all(threads, jni, monitors, count, held);
    for (jint i = 0; i < count; i++)
        (*jni)->DeleteLocalRef(jni, monitors[i].monitor);
    (*jvmti)->Deallocate(jvmti, (unsigned char *)monitors);
}

/* ---- records ---- */

static uint64_t mix_lock(uint64_t hash, const struct lock_identity *lock)
{
    return mix(hash, (uint64_t)lock->class_name << 32 | lock->identity);
}

static uint64_t key_of(const struct order_seen *seen, uint64_t java_id)
{
    uint64_t key = mix_lock(mix_lock(mix(0, java_id), &seen->locks[0]), &seen->locks[1]);

    for (uint32_t i = 0; i < seen->gate_count; i++)
        key = mix_lock(key, &seen->gates[i]);
    key = mix(key, seen->flags);
    return key ? key : 1;
}

/* From the frame that took the second lock outwards. */
static void describe_path(struct java_threads *threads, JNIEnv *jni, const struct order_seen *seen,
                          struct ledger_order *order)
{
    jvmtiFrameInfo frames[FRAMES];
    jint count = 0, from = seen->depths[1];
    uint32_t named = 0;

    order->held_frame = HAZARD_FRAMES;
    if ((*threads->jvmti)->GetStackTrace(threads->jvmti, NULL, from, FRAMES, frames, &count) !=
        JVMTI_ERROR_NONE)
        return;
    for (jint i = 0; i < count && named < HAZARD_FRAMES; i++) {
        order->path[named] = hazard_paths__name(threads, jni, frames[i].method);
        if (from + i == seen->depths[0])
            order->held_frame = named;
        named += order->path[named] != 0;
    }
}

static ledger_ref add(struct java_threads *threads, JNIEnv *jni, const struct order_seen *seen,
                      const struct kernel_thread *mine)
{
    struct ledger *ledger = threads->ledger;
    struct ledger_order order = {.first_ns = ledger_time__now_ns(&mine->setup->time),
                                 .thread_id = mine->thread->java_id,
                                 .flags = seen->flags};
    ledger_ref ref =
        ledger__is_tight(ledger)
            ? 0
            : ledger__take_shared(ledger, LEDGER_ORDERS, sizeof(order) / LEDGER_CELL_BYTES);
    const struct ledger_string *name = ledger__at(ledger, mine->thread->name);
    struct ledger_order *record = ledger__at(ledger, ref);

    if (!ref)
        return 0;
    order.thread = ledger__string(ledger, ledger_string__bytes(name), name->length);
    for (unsigned i = 0; i < 2; i++) {
        order.class_name[i] = seen->locks[i].class_name;
        order.identity[i] = seen->locks[i].identity;
        order.kind[i] = seen->locks[i].kind;
    }
    for (uint32_t i = 0; i < seen->gate_count; i++) {
        order.gate_class[i] = seen->gates[i].class_name;
        order.gate[i] = seen->gates[i].identity;
    }
    describe_path(threads, jni, seen, &order);
    memcpy(record, &order, sizeof(order));
    __atomic_store_n(&record->key, key_of(seen, order.thread_id), __ATOMIC_RELEASE);
    return ref;
}

static bool is_gate(const struct order_seen *seen, uint32_t identity)
{
    for (uint32_t i = 0; i < seen->gate_count; i++)
        if (seen->gates[i].identity == identity)
            return true;
    return false;
}

/* Another thread took the locks in the other order, and no gate is known. */
static bool contradicts(const struct ledger_order *record, const struct order_seen *seen,
                        uint64_t java_id)
{
    if (record->thread_id == java_id || record->identity[0] != seen->locks[1].identity ||
        record->identity[1] != seen->locks[0].identity)
        return false;
    for (unsigned i = 0; i < ORDER_GATES && record->gate[i]; i++)
        if (is_gate(seen, record->gate[i]) && !(record->flags & (uint32_t)ORDER_READ_GATE << i))
            return false;
    return true;
}

/* Hooks tell whether a Lock guards both orders. They cost where Locks are not contended, too. */
static void want_locks(struct java_threads *threads, const struct order_seen *seen,
                       uint64_t java_id)
{
    struct lock_orders *orders = &threads->locks->orders;
    struct lock_holds *holds = &threads->locks->holds;

    if (threads->events != LEDGER_EVENTS_INSTRUMENT || seen->flags & ORDER_LOCKS_KNOWN ||
        atomic_load(&orders->locks_wanted) || atomic_load(&orders->times) >= ALL_LOCKS_TIMES)
        return;
    for (unsigned i = 0; i < LOCK_ORDER_SLOTS; i++) {
        ledger_ref ref = atomic_load_explicit(&orders->slots[i], memory_order_acquire);

        if (!ref || !contradicts(ledger__at(threads->ledger, ref), seen, java_id))
            continue;
        atomic_store_explicit(&holds->locks_wanted, true, memory_order_relaxed);
        atomic_store_explicit(&orders->locks_wanted, true, memory_order_relaxed);
        return;
    }
}

/* A thread that loses a race for a slot leaves a record behind that says the same once more. */
static void note(struct java_threads *threads, JNIEnv *jni, const struct order_seen *seen,
                 const struct kernel_thread *mine)
{
    struct lock_orders *orders = &threads->locks->orders;
    struct ledger_header *header = threads->ledger->header;
    uint64_t key = key_of(seen, mine->thread->java_id);
    ledger_ref ref = 0;

    for (unsigned probe = 0; probe < PROBES; probe++) {
        _Atomic(ledger_ref) *slot = &orders->slots[(key + probe) % LOCK_ORDER_SLOTS];
        struct ledger_order *record;

        ref = atomic_load_explicit(slot, memory_order_acquire);
        if (!ref && atomic_load(&orders->count) < LOCK_ORDERS_MOST) {
            ledger_ref made = add(threads, jni, seen, mine);

            if (made && atomic_compare_exchange_strong(slot, &ref, made))
                ref = made;
            if (made) {
                atomic_fetch_add(&orders->count, 1);
                want_locks(threads, seen, mine->thread->java_id);
            }
        }
        if (!ref)
            break;
        record = ledger__at(threads->ledger, ref);
        if (record->key == key) {
            ledger__count(&record->count, 1);
            return;
        }
    }
    ledger__count(&header->lost_hazards, 1);
}

/* ---- looks ---- */

/* are_read: NULL: none of them. False: there are more gates than a record has room for. */
static bool add_gates(struct order_seen *seen, const struct lock_identity *gates,
                      const bool *are_read, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (gates[i].identity == seen->locks[0].identity ||
            gates[i].identity == seen->locks[1].identity)
            continue;
        if (seen->gate_count == ORDER_GATES)
            return false;
        if (are_read && are_read[i])
            seen->flags |= (uint32_t)ORDER_READ_GATE << seen->gate_count;
        seen->gates[seen->gate_count++] = gates[i];
    }
    return true;
}

/* locks[first] before locks[second]. */
static void note_held(struct java_threads *threads, JNIEnv *jni, const struct kernel_thread *mine,
                      const struct held_locks *held, uint32_t first, uint32_t second)
{
    struct order_seen seen = {.locks = {held->locks[first], held->locks[second]},
                              .depths = {held->depths[first], held->depths[second]},
                              .flags = held->flags};

    if (add_gates(&seen, held->locks, NULL, first) &&
        add_gates(&seen, held->owned, held->are_read, held->owned_count))
        note(threads, jni, &seen, mine);
}

/* Each Lock before the lock that was taken last; all else may have been taken before both. */
static void note_owned(struct java_threads *threads, JNIEnv *jni, const struct kernel_thread *mine,
                       const struct held_locks *held)
{
    uint32_t last = held->count - 1;

    for (uint32_t i = 0; i < held->owned_count; i++) {
        struct order_seen seen = {.locks = {held->owned[i], held->locks[last]},
                                  .depths = {-1, held->depths[last]},
                                  .flags = held->flags};

        if (held->owned[i].class_name && held->owned[i].identity != held->locks[last].identity &&
            add_gates(&seen, held->locks, NULL, last) &&
            add_gates(&seen, held->owned, held->are_read, held->owned_count))
            note(threads, jni, &seen, mine);
    }
}

/* True if the last monitor is the one for which the thread has waited. */
static bool is_last(struct java_threads *threads, JNIEnv *jni, const struct held_locks *held,
                    jobject entered)
{
    const struct lock_identity lock = lock_waits__identify(threads, jni, BLOCK_MONITOR, entered);

    return held->count && lock.identity == held->locks[held->count - 1].identity;
}

/* Since all Locks are told of, and were heard, for some time. */
static bool knows_locks(struct java_threads *threads, uint64_t now_ns)
{
    struct lock_orders *orders = &threads->locks->orders;
    uint64_t since_ns = atomic_load(&threads->locks->holds.all_ns);
    uint32_t round = atomic_load(&threads->holds_round);

    if (!since_ns || since_ns > now_ns || !lock_holds__are_heard(threads))
        return false;
    if (atomic_exchange(&orders->round, round) != round)
        atomic_store(&orders->round_ns, now_ns);
    if (atomic_load(&orders->round_ns) > since_ns)
        since_ns = atomic_load(&orders->round_ns);
    return now_ns >= since_ns + LOCKS_KNOWN_NS;
}

/* Once the hooks are there; not for ever. */
static void hear_all_locks(struct java_threads *threads, JNIEnv *jni, uint64_t now_ns)
{
    struct lock_orders *orders = &threads->locks->orders;

    lock_holds__end_all(threads, jni, now_ns);
    if (!atomic_load(&threads->locks->holds.hooked_ns) ||
        !atomic_exchange(&orders->locks_wanted, false))
        return;
    if (!atomic_load(&threads->locks->holds.all_ns) &&
        atomic_fetch_add(&orders->times, 1) < ALL_LOCKS_TIMES)
        lock_holds__hear_all(threads, jni, now_ns);
}

static void look(struct java_threads *threads, JNIEnv *jni, const struct kernel_thread *mine,
                 const struct lock_identity *next, jobject entered)
{
    uint64_t now_ns = ledger_time__now_ns(&mine->setup->time);
    struct held_locks held;

    if (atomic_load_explicit(&threads->locks->orders.locks_wanted, memory_order_relaxed) ||
        atomic_load_explicit(&threads->locks->holds.all_ns, memory_order_relaxed))
        hear_all_locks(threads, jni, now_ns);
    held.flags = knows_locks(threads, now_ns) ? ORDER_LOCKS_KNOWN : 0;
    held.owned_count = owned_holds__list(threads, mine, held.owned, held.are_read, HELD_MOST);
    find_held(threads, jni, &held, next != NULL || held.owned_count);
    if (next)
        hold(&held, next, 0);
    for (uint32_t second = 1; second < held.count; second++)
        for (uint32_t first = 0; first < second; first++)
            note_held(threads, jni, mine, &held, first, second);
    if (held.owned_count && held.count &&
        (next || (entered && is_last(threads, jni, &held, entered))))
        note_owned(threads, jni, mine, &held);
}

/* A look at a deep stack takes many times as long as one at a shallow stack, and counts as so many
 * looks. */
static void charge(struct lock_orders *orders, uint64_t took_ns)
{
    uint64_t more = took_ns / LOCK_ORDER_LOOK_NS;
    uint32_t looks = atomic_load(&orders->looks), left;

    atomic_fetch_add(&orders->took_ns, took_ns);
    do {
        left = looks > more ? looks - (uint32_t)more : 0;
    } while (!atomic_compare_exchange_weak(&orders->looks, &looks, left));
}

void lock_orders__look(struct java_threads *threads, JNIEnv *jni, const struct kernel_thread *mine,
                       const struct lock_identity *next, jobject entered)
{
    struct lock_orders *orders = &threads->locks->orders;
    uint64_t began_ns;

    if (!threads->asks_for_monitors || !mine->thread->java_id ||
        !may_look(orders, mine, ledger_time__now_ns(&mine->setup->time)) ||
        (*jni)->ExceptionCheck(jni))
        return;
    began_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    look(threads, jni, mine, next, entered);
    charge(orders, clock_ns(CLOCK_THREAD_CPUTIME_ID) - began_ns);
}
