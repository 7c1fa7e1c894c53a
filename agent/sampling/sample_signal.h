/*
 * The signal that asks a thread for a sample of its own stack, and the signal's handler.
 *
 * The signal is SIGPROF if no other code uses SIGPROF, else another free signal. Once installed the
 * handler stays for good: a signal that is pending when sampling stops must not end the process.
 */
#ifndef TREADLE_SAMPLE_SIGNAL_H
#define TREADLE_SAMPLE_SIGNAL_H

/* 0 with the signal's number, or -errno: -EBUSY if all signals are in use. */
int sample_signal__install(int *number);

#endif
