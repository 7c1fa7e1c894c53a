#include "agent/threads/stuck_readers.h"

#include "agent/threads/lock_waits.h"

/* A local reference to the thread that is the first one in the lock's queue and wants to write; or
 * NULL. */
static jobject first_writer(const struct lock_waits *locks, JNIEnv *jni, jobject lock)
{
    const struct lock_queue *queue = lock_queues__of(&locks->queues, jni, lock);
    jobject head = queue ? lock_queue__head(queue, jni, lock) : NULL;
    jobject first = head ? lock_queue__first(queue, jni, head) : NULL;

    (*jni)->DeleteLocalRef(jni, head);
    return first;
}

static void add_readers(struct stuck_threads *stuck, JNIEnv *jni, uint32_t i, jobject lock)
{
    const struct read_locks *locks = &stuck->java->locks->read_locks;

    for (uint32_t reader = 0; reader < stuck->count; reader++) {
        if (!read_locks__is_held(locks, jni, lock, stuck->threads[reader].object))
            continue;
        if (stuck->choice_count == STUCK_CHOICES_MOST) {
            stuck->left_out++;
            return;
        }
        stuck->choices[stuck->choice_count++] = (struct wait_choice){i, reader};
    }
}

void stuck_readers__find(struct stuck_threads *stuck, JNIEnv *jni, uint32_t i, jobject lock)
{
    const struct lock_waits *locks = stuck->java->locks;
    struct stuck_thread *thread = &stuck->threads[i];
    jobject first;

    if (read_locks__is_held(&locks->read_locks, jni, lock, thread->object)) {
        thread->waits_for_itself = true;
        return;
    }
    first = first_writer(locks, jni, lock);
    if (first && (*jni)->IsSameObject(jni, first, thread->object)) {
        add_readers(stuck, jni, i, lock);
    } else if (first) {
        stuck->owner_of[i] = stuck_threads__index(stuck, jni, first);
        thread->is_behind = true;
    }
    (*jni)->DeleteLocalRef(jni, first);
}
