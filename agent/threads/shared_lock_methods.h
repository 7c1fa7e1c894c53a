/*
 * Where the JDK's shared locks are acquired and released: the read lock of ReentrantReadWriteLock,
 * Semaphore and StampedLock, whose class or inner class is also what threads park for. The same
 * methods in JDK 17 and 25. An optimistic read of a StampedLock is no hold.
 */
#ifndef TREADLE_SHARED_LOCK_METHODS_H
#define TREADLE_SHARED_LOCK_METHODS_H

#include "agent/classfile/class_rewriter.h"

#include <stdint.h>

enum shared_lock_kind {
    SHARED_READ,
    SHARED_SEMAPHORE,
    SHARED_STAMPED,
    SHARED_KINDS,
};

/* What hooks tell of. In the low byte of a stamp StampedLock has how it is held, which hooks of
 * conversions pass; 0: not at all, the stamp is one of an optimistic read. */
enum sharing_operation {
    SHARING_ACQUIRED = 1,
    SHARING_CONVERTED, /* acquired with a stamp of an optimistic read; else held as before */
    SHARING_RELEASED,
    SHARING_DRAINED,  /* acquired, as many permits as the number says and one more */
    SHARING_GIVEN_UP, /* released, but with a stamp of an optimistic read */
};

/* The class (internal name) that threads park for, or whose subclasses they park for. */
const char *shared_lock_methods__class(enum shared_lock_kind kind);

/* Which kinds (bits) have methods with hooks in the class of that name. */
uint32_t shared_lock_methods__kinds(const char *class_name, size_t length);

/* The hook of a method; operation 0: it gets none. */
struct sharing_hook shared_lock_methods__hook(const struct class_method *method, uint32_t kinds);

#endif
