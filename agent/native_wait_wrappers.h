/*
 * Wrappers of the C library's functions that wait for time, I/O, signals and processes
 * (native/host/waiting_calls.h), for the calls of native libraries that the program brings: the
 * begin of the wait, the function, its end. What a function returns, and errno, are what they are
 * without the wrapper.
 */
#ifndef TREADLE_NATIVE_WAIT_WRAPPERS_H
#define TREADLE_NATIVE_WAIT_WRAPPERS_H

#include "native/host/image_imports.h"

#include <stddef.h>

/* Fills in the wrappers; returns how many there are. */
#define NATIVE_WAIT_WRAPPERS 74u
size_t native_wait_wrappers__table(struct import_replacement table[NATIVE_WAIT_WRAPPERS]);

#endif
