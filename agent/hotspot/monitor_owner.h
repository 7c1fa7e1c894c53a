/*
 * Which thread owns the monitor that the calling thread is about to wait for, from HotSpot's own
 * structures, as agent/hotspot/vm_structs.h finds them: JavaThread::_current_pending_monitor, which
 * is set before the event of the wait, and ObjectMonitor::_owner. JVMTI would need a safepoint for
 * that. What _owner says depends on the JVM: up to JDK 23 a JavaThread, or an address on the stack
 * of the owner; from JDK 24 on the owner's Thread.threadId(). A JVM with lightweight locks does not
 * write down there who owned the object before others came; that owner is sought among the lock
 * stacks of MONITOR_OWNER_THREADS threads at most.
 *
 * The monitor cannot go away while the calling thread waits for it. What belongs to other threads
 * is read with system calls, for it may go away.
 */
#ifndef TREADLE_MONITOR_OWNER_H
#define TREADLE_MONITOR_OWNER_H

#include "agent/hotspot/vm_structs.h"

#include <jni.h>
#include <stdbool.h>
#include <stdint.h>

#define MONITOR_OWNER_THREADS 128u

struct monitor_owner {
    struct vm_structs structs;
    bool known; /* the JVM tells what is needed at least */
};

/* One of the two; or neither: the owner is not known. */
struct monitor_holder {
    uint64_t java_id;
    const void *java_thread; /* or an address on the thread's stack */
};

void monitor_owner__prepare(struct monitor_owner *owner);

/* java_thread: the calling thread's JavaThread. object: the local reference that the event of the
 * wait has. */
struct monitor_holder monitor_owner__of(const struct monitor_owner *owner, const void *java_thread,
                                        jobject object);

/* Where java_thread of a holder is no JavaThread that the caller knows: the JavaThread on whose
 * stack that address lies, or NULL. */
const void *monitor_owner__on_stack(const struct monitor_owner *owner, const void *address);

/* The ObjectMonitor that the calling thread is about to wait for, or 0. */
static inline uintptr_t monitor_owner__pending_here(const struct monitor_owner *owner,
                                                    const void *java_thread)
{
    return owner->known && java_thread
               ? (uintptr_t)vm_structs__pointer(java_thread, owner->structs.thread_pending_monitor)
               : 0;
}

/*
 * For a thread that looks at others: the monitor that a thread waits for may go away any time, so
 * what is read is true only if the wait is found to be still the same one afterwards.
 */
enum monitor_state {
    MONITOR_UNKNOWN,   /* or not owned */
    MONITOR_OWNED,     /* by the holder */
    MONITOR_ANONYMOUS, /* owned by a thread with the object on its lock stack */
};

/* The ObjectMonitor that a JavaThread is about to wait for, or 0. */
uintptr_t monitor_owner__pending(const struct monitor_owner *owner, const void *java_thread);

/* The address of its weak reference to its object, or 0. */
uintptr_t monitor_owner__handle(const struct monitor_owner *owner, uintptr_t monitor);

enum monitor_state monitor_owner__read(const struct monitor_owner *owner, uintptr_t monitor,
                                       struct monitor_holder *holder);

/* How often its owner has entered it beyond the first time; UINTPTR_MAX: not known. */
uintptr_t monitor_owner__recursions(const struct monitor_owner *owner, uintptr_t monitor);

/* True if the holder is that JavaThread, or an address on its stack; if the monitor's object is on
 * its lock stack. */
bool monitor_owner__is(const struct monitor_owner *owner, struct monitor_holder holder,
                       const void *java_thread);
bool monitor_owner__has_locked(const struct monitor_owner *owner, const void *java_thread,
                               uintptr_t monitor);

#endif
