/*
 * The kernel's part of the time that is divided by samples.
 *
 * Whether a sample's thread was in the kernel is known from the place where the sample was taken:
 * right behind a system call, at an instruction that faulted, or by what a perf event says. That is
 * right on the whole and inexact in detail: samples are few, and a timer that expires while the
 * kernel takes no interrupts is served at the first instruction in user mode. But the kernel itself
 * counts how a thread's time divides into user and system time. So in each thread the samples in
 * the kernel are multiplied by a weight w, chosen so that all kernel frames together have the
 * thread's system time (of the time that samples stand for). Threads with few samples share one
 * weight. The total of an exact node does not change.
 *
 * The error: which frames had the kernel's time is known from samples alone, like any other share.
 * w is at least 1 / KERNEL_WEIGHT_MAX and at most KERNEL_WEIGHT_MAX; where that bounds it (samples
 * found hardly any of the system time, or the kernel counts hardly any), the sum of the kernel
 * frames is not the kernel's number.
 */
#ifndef TREADLE_KERNEL_SHARE_H
#define TREADLE_KERNEL_SHARE_H

struct report_model;

#define KERNEL_SAMPLES_LEAST 100u /* of a thread by itself */
#define KERNEL_WEIGHT_MAX    16.0

/* To be called after the base of all exact nodes was divided, and before anything is summed up. */
void kernel_share__fit(struct report_model *model);

#endif
