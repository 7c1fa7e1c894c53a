/*
 * The natives of the JDK in which kernel threads wait for files, pipes, sockets and processes, and
 * their wrappers, which bracket the wait: METRIC_IO_WAIT, see native/thread/wait_bracket.h. A
 * native gets its wrapper when the JVM binds it, or at the beginning if it may be bound by then.
 * Classes are not loaded for that. What another JDK does not have, or another agent has put
 * something in the place of, has no wrapper: its waits have no reason. A class that binds its
 * natives itself (registerNatives), and has done so before, is made to do it once more, for only
 * the JVM knows where natives are that no library exports.
 *
 * JVMTI does not tell which thread is waiting in one of these natives: a wait that is under way
 * when profiling begins has no reason. Waits have theirs from the next one on.
 */
#ifndef TREADLE_IO_NATIVES_H
#define TREADLE_IO_NATIVES_H

#include "agent/methods/hook_class.h"
#include "agent/threads/java_threads.h"

#include <jvmti.h>
#include <stdbool.h>
#include <stdint.h>

/* One native of one JDK. Natives that no JDK has side by side may have the same slot. */
struct io_native {
    unsigned slot; /* below IO_SLOTS_MAX; of the wrapper, and of the native's address */
    const char *class_name;
    const char *name;
    const char *descriptor;
};

struct io_native_table {
    const struct io_native *rows;
    unsigned count;            /* at most IO_NATIVES_MAX */
    const uintptr_t *wrappers; /* by slot */
    /* By slot; of a native that no library exports, a function that does the same: the wrapper
     * calls this one until the JVM has told where the native is. Or 0. */
    const uintptr_t *stand_ins;
};

#define IO_NATIVES_MAX 128

/* What is to be bound at the beginning. */
struct io_bindings {
    struct bound_natives classes[IO_NATIVES_MAX];
    JNINativeMethod methods[IO_NATIVES_MAX];
    unsigned class_count;
    unsigned method_count;
};

/* Fills bindings with the natives of classes that are loaded, linked one to the next and the last
 * to `next`. Returns the first, or `next` if there is none. In the live phase. */
const struct bound_natives *io_natives__bind(struct java_threads *threads, JNIEnv *jni,
                                             struct io_bindings *bindings,
                                             const struct bound_natives *next);

/* A native method is bound to an address. True: it is one of these, which gets its wrapper. */
bool io_natives__bound(struct java_threads *threads, jmethodID method, void *address,
                       void **new_address);

/* The address of the slot's native, or of what stands in for it; a wrapper is not called before
 * there is one. */
void *io_natives__address(const struct java_threads *threads, unsigned slot);

#endif
