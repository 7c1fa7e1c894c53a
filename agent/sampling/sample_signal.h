/*
 * The signal that asks a thread for a sample of its own stack, and what its handler does.
 *
 * The signal is SIGPROF if no other code uses SIGPROF, else another free signal. Once installed the
 * handler stays for good: a signal that is pending when sampling stops must not end the process.
 */
#ifndef TREADLE_SAMPLE_SIGNAL_H
#define TREADLE_SAMPLE_SIGNAL_H

#include <signal.h>

struct sampler;

typedef void (*sample_handler)(int number, siginfo_t *info, void *context);

/* The signal came: takes a sample, if samples are taken. Async-signal-safe. context: as the handler
 * gets it. */
void sample_signal__take(struct sampler *sampler, const siginfo_t *info, const void *context);

/* 0 with the signal's number, or -errno: -EBUSY if all signals are in use. Does nothing if
 * there is a number already. */
int sample_signal__install(int *number, sample_handler handler);

#endif
