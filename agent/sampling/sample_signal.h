/*
 * The signal that asks a thread for a sample of its own stack, and its handler.
 *
 * SIGPROF if nobody else has it, else another one that is free. Once installed the handler stays
 * for good: a signal that is on its way when sampling stops must not end the process.
 */
#ifndef TREADLE_SAMPLE_SIGNAL_H
#define TREADLE_SAMPLE_SIGNAL_H

/* 0 with the signal's number, or -errno: -EBUSY if all are taken. */
int sample_signal__install(int *number);

#endif
