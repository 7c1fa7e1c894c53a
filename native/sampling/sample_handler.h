/*
 * The signal that asks a thread for a sample of its own stack.
 *
 * The signal is SIGPROF if no other code uses SIGPROF, else another free signal. Once installed the
 * handler stays for good: a signal that is pending when sampling stops must not end the process.
 */
#ifndef TREADLE_SAMPLE_HANDLER_H
#define TREADLE_SAMPLE_HANDLER_H

#include <signal.h>

typedef void (*sample_handler)(int number, siginfo_t *info, void *context);

/* 0 with the signal's number, or -errno: -EBUSY if all signals are in use. before: the action that
 * the signal had; or NULL. Does nothing if there is a number already. */
int sample_handler__install(int *number, sample_handler handler, struct sigaction *before);

#endif
