/*
 * Wrappers of the C library's functions that wait for locks (agent/threads/native_locks.h), for the
 * calls of native libraries: the lock is tried, and where it is taken, the begin of the wait, the
 * function, its end. What a function returns, and errno, are what they are without the wrapper. Of
 * system calls those that wait in futex(2) are bracketed so; others pay a comparison.
 */
#ifndef TREADLE_NATIVE_LOCK_WRAPPERS_H
#define TREADLE_NATIVE_LOCK_WRAPPERS_H

#include "native/host/image_imports.h"

#include <stddef.h>

/* Fills in the wrappers; returns how many there are. */
#define NATIVE_LOCK_WRAPPERS 31u
size_t native_lock_wrappers__table(struct import_replacement table[NATIVE_LOCK_WRAPPERS]);

#endif
