#include "agent/threads/shared_holds.h"

#include "agent/threads/jdk_names.h"
#include "agent/threads/lock_waits.h"

#define PROBES       8u
#define STRANGE_NS   2000000000u /* so long a lock with strange releases is left alone, … */
#define STRANGE_MOST 16          /* … when there were more than so many, … */
#define TRIES_MOST   6u          /* … doubled each time, so many times */

/* What a hook tells of, and the thread's own place. */
struct sharing {
    struct java_threads *threads;
    JNIEnv *jni;
    struct kernel_thread *mine;
    jobject object;
    struct shared_lock *lock;
    uint32_t identity;
    uint32_t permits;
    bool nests; /* the JDK counts what a thread acquires again */
};

void shared_holds__begin(struct shared_holds *shared, JNIEnv *jni)
{
    for (unsigned i = 0; i < SHARED_KINDS; i++)
        shared->classes[i] =
            jdk_names__class(jni, shared_lock_methods__class((enum shared_lock_kind)i));
}

/* Multiplicative hashing [D. E. Knuth: The Art of Computer Programming 3, 6.4]. NULL: there is
 * none, or no room. */
static struct shared_lock *find(struct shared_holds *shared, uint32_t identity, bool is_new)
{
    for (unsigned probe = 0; identity && probe < PROBES; probe++) {
        struct shared_lock *lock =
            &shared->locks[((identity * 0x9e3779b1u >> 16) + probe) % SHARED_LOCKS];
        uint32_t there = atomic_load_explicit(&lock->identity, memory_order_relaxed);

        if (there == identity)
            return lock;
        if (!there && !is_new)
            return NULL;
        if (!there && (atomic_compare_exchange_strong(&lock->identity, &there, identity) ||
                       there == identity))
            return lock;
    }
    return NULL;
}

static int kind_of(const struct shared_holds *shared, JNIEnv *jni, jobject lock)
{
    for (int i = 0; i < SHARED_KINDS; i++)
        if (shared->classes[i] && (*jni)->IsInstanceOf(jni, lock, shared->classes[i]))
            return i;
    return -1;
}

bool shared_holds__contended(const struct java_threads *threads, struct shared_holds *shared,
                             JNIEnv *jni, jobject lock, uint32_t identity)
{
    int kind = kind_of(shared, jni, lock);
    struct shared_lock *of = kind < 0 ? NULL : find(shared, identity, true);

    if (kind < 0)
        return false;
    if (of)
        atomic_fetch_add_explicit(&of->waits, 1, memory_order_relaxed);
    else
        ledger__count(&threads->ledger->header->lost_holds, 1);
    if (threads->events == LEDGER_EVENTS_INSTRUMENT &&
        !(atomic_load_explicit(&shared->wanted, memory_order_relaxed) & 1u << kind))
        atomic_fetch_or(&shared->wanted, 1u << kind);
    return true;
}

bool shared_holds__was_contended(struct shared_holds *shared, const struct open_hold *hold)
{
    const struct shared_lock *lock =
        hold->is_shared ? find(shared, hold->lock.identity, false) : NULL;

    return lock && atomic_load_explicit(&lock->waits, memory_order_relaxed) != hold->waits;
}

static bool is_strange(const struct shared_lock *lock)
{
    uint32_t tries = atomic_load_explicit(&lock->tries, memory_order_relaxed);

    return atomic_load_explicit(&lock->strange, memory_order_relaxed) > STRANGE_MOST << tries;
}

/* The lock may be no signal any more. */
static void try_again(struct shared_lock *lock, uint64_t now_ns)
{
    uint32_t tries = atomic_load_explicit(&lock->tries, memory_order_relaxed);

    if (now_ns < atomic_load_explicit(&lock->foreign_ns, memory_order_relaxed) + STRANGE_NS)
        return;
    atomic_store_explicit(&lock->strange, 0, memory_order_relaxed);
    if (tries < TRIES_MOST)
        atomic_store_explicit(&lock->tries, tries + 1, memory_order_relaxed);
}

/* ---- holds ---- */

static void drop(struct thread_holds *of, struct open_hold *hold)
{
    hold->since_ns = 0;
    hold->depth = 0;
    thread_holds__give_back(of);
}

/* Another thread may have released it. */
static bool is_doubtful(const struct open_hold *hold, const struct shared_lock *lock)
{
    return !hold->is_owned &&
           hold->foreign != atomic_load_explicit(&lock->foreign, memory_order_relaxed);
}

/* What others release is never seen to end. */
static struct open_hold *find_room(struct shared_holds *shared, struct thread_holds *of)
{
    for (unsigned i = 0; i < HOLDS_OPEN; i++)
        if (!of->locks[i].since_ns)
            return &of->locks[i];
    for (unsigned i = 0; i < HOLDS_OPEN; i++) {
        const struct shared_lock *lock = find(shared, of->locks[i].lock.identity, false);

        if (lock && is_doubtful(&of->locks[i], lock))
            return &of->locks[i];
    }
    return NULL;
}

static void share(const struct sharing *sharing, struct open_hold *hold, uint32_t permits)
{
    if (!hold->is_shared) {
        hold->waits = atomic_load_explicit(&sharing->lock->waits, memory_order_relaxed);
        hold->foreign = atomic_load_explicit(&sharing->lock->foreign, memory_order_relaxed);
    }
    hold->is_shared = true;
    hold->is_read = sharing->nests;
    hold->depth += permits;
}

static void begin(const struct sharing *sharing, bool had_to_wait)
{
    struct java_threads *threads = sharing->threads;
    struct thread_holds *of = lock_holds__entry(threads, sharing->mine, true);
    struct open_hold *hold = of ? find_room(&threads->locks->shared, of) : NULL;

    if (!hold) {
        if (of)
            ledger__count(&threads->ledger->header->lost_holds, 1);
        return;
    }
    hold->monitor = 0;
    hold->lock.identity = sharing->identity;
    hold->depth = 0;
    hold->is_owned = hold->is_shared = false;
    share(sharing, hold, sharing->permits);
    atomic_store(&hold->is_contended, had_to_wait);
    hold->since_ns = lock_holds__now(sharing->mine);
}

static struct open_hold *find_hold(const struct sharing *sharing, struct thread_holds **of)
{
    *of = lock_holds__entry(sharing->threads, sharing->mine, false);
    return *of ? thread_holds__lock(*of, sharing->identity) : NULL;
}

static void acquire(const struct sharing *sharing)
{
    struct ledger_thread *thread = sharing->mine->thread;
    bool had_to_wait = !thread->won_monitor && (uint32_t)thread->won_lock == sharing->identity;
    struct thread_holds *of;
    struct open_hold *hold = find_hold(sharing, &of);

    if (!hold || !sharing->nests)
        lock_blocks__acquired(&sharing->threads->locks->blocks, sharing->identity);
    if (had_to_wait)
        thread->won_lock = 0;
    if (is_strange(sharing->lock))
        try_again(sharing->lock, lock_holds__now(sharing->mine));
    if (hold && is_doubtful(hold, sharing->lock)) {
        drop(of, hold);
        hold = NULL;
    }
    if (is_strange(sharing->lock))
        return;
    if (!hold)
        begin(sharing, had_to_wait);
    else
        share(sharing, hold, sharing->permits);
}

/* Who has the lock already goes on with that hold; it may be one that was not seen to begin. */
static void convert(const struct sharing *sharing)
{
    struct thread_holds *of;

    if (!find_hold(sharing, &of) && !is_strange(sharing->lock))
        begin(sharing, false);
}

static void count_unseen(const struct sharing *sharing)
{
    ledger__count(&sharing->threads->ledger->header->unseen_holds, 1);
}

/* Another thread has acquired it; or this one, before hooks told of it. */
static void release_strange(const struct sharing *sharing)
{
    if (sharing->nests)
        return;
    atomic_fetch_add_explicit(&sharing->lock->foreign, 1, memory_order_relaxed);
    if (!is_strange(sharing->lock)) {
        atomic_store_explicit(&sharing->lock->foreign_ns, lock_holds__now(sharing->mine),
                              memory_order_relaxed);
        atomic_fetch_add_explicit(&sharing->lock->strange, 1, memory_order_relaxed);
    }
    count_unseen(sharing);
}

static void release(const struct sharing *sharing, bool is_surely_held)
{
    uint64_t now_ns = lock_holds__now(sharing->mine);
    struct thread_holds *of;
    struct open_hold *hold = find_hold(sharing, &of);

    if (!hold || !hold->depth) {
        if (is_surely_held)
            release_strange(sharing);
        return;
    }
    if (is_strange(sharing->lock)) {
        count_unseen(sharing);
        drop(of, hold);
        return;
    }
    if (sharing->permits > hold->depth)
        release_strange(sharing);
    else if (atomic_load_explicit(&sharing->lock->strange, memory_order_relaxed) > 0)
        atomic_fetch_sub_explicit(&sharing->lock->strange, 1, memory_order_relaxed);
    hold->depth -= sharing->permits < hold->depth ? sharing->permits : hold->depth;
    if (!hold->depth && !hold->is_owned)
        lock_holds__end(sharing->threads, sharing->jni, sharing->mine, of, hold, sharing->object,
                        now_ns);
}

static void tell(const struct sharing *sharing, enum sharing_operation operation)
{
    switch (operation) {
    case SHARING_ACQUIRED:
    case SHARING_DRAINED:
        acquire(sharing);
        break;
    case SHARING_CONVERTED:
        convert(sharing);
        break;
    case SHARING_RELEASED:
    case SHARING_GIVEN_UP:
        release(sharing, operation == SHARING_RELEASED);
        break;
    }
}

/* What it is about; 0: nothing. */
static jint permits_of(enum sharing_operation operation, jint number, jint permits)
{
    if (operation == SHARING_DRAINED)
        return number + 1;
    if (operation == SHARING_CONVERTED)
        return 1;
    return operation == SHARING_GIVEN_UP ? permits != 0 : permits;
}

void shared_holds__tell(struct java_threads *threads, JNIEnv *jni, jint number, jobject lock,
                        enum sharing_operation operation, jint permits)
{
    struct sharing sharing = {.threads = threads, .jni = jni, .object = lock};
    jint hash = 0, count = permits_of(operation, number, permits);
    bool is_new = operation == SHARING_CONVERTED && !permits;
    uint64_t began;

    sharing.mine = lock_holds__heard(threads, jni);
    if (!sharing.mine)
        return;
    began = timed_hooks__begin(&sharing.mine->times.holds);
    if (count > 0 &&
        (*threads->jvmti)->GetObjectHashCode(threads->jvmti, lock, &hash) == JVMTI_ERROR_NONE) {
        sharing.identity = (uint32_t)hash;
        sharing.permits = (uint32_t)count;
        sharing.lock = find(&threads->locks->shared, sharing.identity, false);
    }
    if (sharing.lock) {
        sharing.nests = read_locks__is(&threads->locks->read_locks, jni, lock);
        tell(&sharing, is_new ? SHARING_ACQUIRED : operation);
    }
    timed_hooks__end(&sharing.mine->times.holds, began);
}
