/*
 * How long Java threads hold locks that are contended, from the acquisition to the release. Hooks
 * tell of both, and these are put only where a lock was contended (agent/hooks/class_hooks.h): in
 * the classes that wait for a monitor, or hold one that is waited for, and in
 * AbstractOwnableSynchronizer, for the Locks of java.util.concurrent that have an owner
 * (agent/threads/owned_holds.h); locks that several threads may have at once have hooks of their
 * own (agent/threads/shared_holds.h). So the first holds of a lock are not seen. Classes with
 * contended monitors are changed only where waits=on was given: HotSpot interprets the calls in
 * them that have begun before, until they return.
 *
 * A hold counts if its thread had to wait for the lock, or if another thread began to wait for it
 * meanwhile; it ends where Object.wait gives the monitor back. The hooks of monitors name no
 * object, for its identity would cost more than many holds: what is entered last is exited first,
 * and which of the entered monitors is the contended one follows from who owns that monitor
 * (agent/hotspot/monitor_owner.h). Where that does not tell it, the hold counts as unseen.
 *
 * What a thread holds is in a table of fixed size, by the Java thread's record: a virtual thread
 * may release on another carrier. No lock is taken. The thread itself writes, but for marks, which
 * a thread leaves that begins to wait.
 */
#ifndef TREADLE_LOCK_HOLDS_H
#define TREADLE_LOCK_HOLDS_H

#include "agent/threads/hold_table.h"
#include "agent/threads/java_threads.h"
#include "native/thread/lock_blocks.h"

#include <jni.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define ALL_LOCKS_NS 10000000000u

/* Zero the struct to begin. */
struct lock_holds {
    _Atomic bool locks_wanted;   /* AbstractOwnableSynchronizer is to get its hook */
    _Atomic uint64_t hooked_ns;  /* it had it then; 0: not yet */
    _Atomic bool classes_wanted; /* there are new classes with CLASS_CONTENDED */
    _Atomic bool is_unheard;     /* the hooks of holds call their natives no more, … */
    _Atomic bool is_switching;   /* … or a thread is about to change that */
    _Atomic uint64_t
        all_ns; /* they tell of all Locks since then, contended or not; 0: they do not */
    struct hold_table table;
};

static inline bool lock_holds__are_heard(const struct java_threads *threads)
{
    return atomic_load_explicit(&threads->holds_round, memory_order_relaxed) & 1;
}

/* Whether the hooks of holds call their natives: not while profiling is stopped, or the budget has
 * no room for them. A lock that was contended once may be taken millions of times a second. Where
 * locks are known. Any thread that may call JNI. */
void lock_holds__hear(const struct java_threads *threads, JNIEnv *jni, bool heard);

/* From now on hooks tell of Locks that were never contended, too, for ALL_LOCKS_NS: that costs
 * where locks are not contended. Then end is to be called. */
void lock_holds__hear_all(struct java_threads *threads, JNIEnv *jni, uint64_t now_ns);
void lock_holds__end_all(struct java_threads *threads, JNIEnv *jni, uint64_t now_ns);

/* For hooks: the calling Java thread has entered a monitor; has exited one; is about to leave a
 * synchronized method. */
void lock_holds__acquired(struct java_threads *threads, JNIEnv *jni);
void lock_holds__released(struct java_threads *threads, JNIEnv *jni);
void lock_holds__releasing(struct java_threads *threads, JNIEnv *jni);

/* The thread on the calling kernel thread begins to wait for the lock. monitor: its address; 0: it
 * is no monitor. owner: thread 0 if not known. Finds the classes that are to get hooks. */
void lock_holds__contended(struct java_threads *threads, JNIEnv *jni, struct kernel_thread *mine,
                           const struct lock_identity *lock, uintptr_t monitor,
                           struct lock_place owner, bool is_new);

/* That wait for a monitor is over. */
void lock_holds__won(struct java_threads *threads, struct kernel_thread *mine);

/* The thread on the calling kernel thread gives the monitor of the object up for Object.wait; gets
 * it back. */
void lock_holds__gives_up(struct java_threads *threads, JNIEnv *jni, struct kernel_thread *mine,
                          jobject object);
void lock_holds__gets_back(struct java_threads *threads, struct kernel_thread *mine);

/* For the files of Locks: the calling kernel thread, or NULL if its holds are not heard;
 * what its Java thread holds, or NULL, is_begin: there is to be an entry; the time; and the end of
 * its hold of a Lock. */
struct kernel_thread *lock_holds__heard(struct java_threads *threads, JNIEnv *jni);
struct thread_holds *lock_holds__entry(const struct java_threads *threads,
                                       const struct kernel_thread *mine, bool is_begin);
uint64_t lock_holds__now(const struct kernel_thread *mine);
void lock_holds__end(struct java_threads *threads, JNIEnv *jni, const struct kernel_thread *mine,
                     struct thread_holds *of, struct open_hold *hold, jobject object,
                     uint64_t now_ns);

/* The Java thread is over. */
void lock_holds__forget(struct lock_holds *holds, ledger_ref thread);

#endif
