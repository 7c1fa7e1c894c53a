#include "agent/threads/owned_holds.h"

#include "agent/threads/lock_holds.h"
#include "agent/threads/lock_waits.h"

/* A hold without room is lost, if somebody has waited for the Lock: of others nobody is told. */
static void begin_lock(struct java_threads *threads, struct kernel_thread *mine, uint32_t identity)
{
    struct thread_holds *of = lock_holds__entry(threads, mine, true);
    bool had_to_wait = !mine->thread->won_monitor && (uint32_t)mine->thread->won_lock == identity;

    lock_blocks__acquired(&threads->locks->blocks, identity);
    mine->thread->won_lock = 0;
    for (unsigned i = 0; of && i < HOLDS_OPEN; i++) {
        struct open_hold *hold = &of->locks[i];

        if (hold->since_ns)
            continue;
        hold->monitor = 0;
        hold->lock.identity = identity;
        hold->is_owned = true;
        hold->is_shared = hold->is_read = false;
        hold->depth = 0;
        atomic_store(&hold->is_contended, had_to_wait);
        hold->since_ns = lock_holds__now(mine);
        return;
    }
    if (of && lock_blocks__class_of(&threads->locks->blocks, identity))
        ledger__count(&threads->ledger->header->lost_holds, 1);
}

/* Who has the Lock shared as well goes on with that. */
static void end_lock(struct java_threads *threads, JNIEnv *jni, const struct kernel_thread *mine,
                     jobject object, uint32_t identity)
{
    uint64_t now_ns = lock_holds__now(mine);
    struct thread_holds *of = lock_holds__entry(threads, mine, false);
    struct open_hold *hold = of ? thread_holds__lock(of, identity) : NULL;

    if (!hold)
        return;
    hold->is_owned = false;
    if (!hold->depth)
        lock_holds__end(threads, jni, mine, of, hold, object, now_ns);
}

static void change_owner(struct java_threads *threads, JNIEnv *jni, struct kernel_thread *mine,
                         jobject lock)
{
    jobject owner = (*jni)->GetObjectField(jni, lock, threads->locks->exclusive_owner);
    jint hash = 0;

    if ((*threads->jvmti)->GetObjectHashCode(threads->jvmti, lock, &hash) != JVMTI_ERROR_NONE)
        hash = 0;
    if (hash && owner)
        end_lock(threads, jni, mine, lock, (uint32_t)hash);
    else if (hash)
        begin_lock(threads, mine, (uint32_t)hash);
    (*jni)->DeleteLocalRef(jni, owner);
}

void owned_holds__tell(struct java_threads *threads, JNIEnv *jni, jobject lock)
{
    struct kernel_thread *mine = lock_holds__heard(threads, jni);
    uint64_t began;

    if (!mine || !threads->locks->exclusive_owner)
        return;
    began = timed_hooks__begin(&mine->times.holds);
    if (atomic_load_explicit(&threads->locks->holds.all_ns, memory_order_relaxed))
        lock_holds__end_all(threads, jni, lock_holds__now(mine));
    change_owner(threads, jni, mine, lock);
    timed_hooks__end(&mine->times.holds, began);
}

/* Where holds are not heard, an entry may be of what was released since. */
uint32_t owned_holds__list(const struct java_threads *threads, const struct kernel_thread *mine,
                           struct lock_identity *locks, bool *are_read, uint32_t most)
{
    const struct thread_holds *of =
        lock_holds__are_heard(threads) ? lock_holds__entry(threads, mine, false) : NULL;
    uint32_t count = 0;

    for (unsigned i = 0; of && i < HOLDS_OPEN && count < most; i++) {
        uint32_t identity = of->locks[i].lock.identity;

        if (!of->locks[i].since_ns)
            continue;
        are_read[count] = of->locks[i].is_read && !of->locks[i].is_owned;
        locks[count++] = (struct lock_identity){
            BLOCK_PARK, lock_blocks__class_of(&threads->locks->blocks, identity), identity};
    }
    return count;
}
