/*
 * The kernel's part of what samples share out.
 *
 * A sample tells by where it was taken whether its thread came from the kernel: right behind a
 * system call, at an instruction that faulted, or by what a perf event says. That is right on the
 * whole, and off in detail: few samples, and a timer that goes off while the kernel does not take
 * interrupts is served at the first instruction of the user's. But how a thread's time divides into
 * user and system the kernel counts itself. So in each thread the samples that met the kernel count
 * w times, with that w by which all frames of the kernel have the thread's system time (of the time
 * that samples stand for). Threads with few samples are taken together. What an exact node has in
 * all stays what it was.
 *
 * The error: where in a thread the kernel's time was is known from samples alone, as any other
 * share. Where w is beyond KERNEL_WEIGHT_MAX either way (samples met nearly nothing of what the
 * kernel counts, or the kernel counts nearly nothing) it is that, and the sum is not the kernel's.
 */
#ifndef TREADLE_KERNEL_SHARE_H
#define TREADLE_KERNEL_SHARE_H

struct report_model;

#define KERNEL_SAMPLES_LEAST 100u /* of a thread by itself */
#define KERNEL_WEIGHT_MAX    16.0

/* After the base of all exact nodes was shared out, before anything is summed up. */
void kernel_share__fit(struct report_model *model);

#endif
