/*
 * What the samples of a perf event say about the kernel: whether it ran, and in which functions.
 *
 * The kernel writes its samples to a ring of pages, which counts as locked memory (RLIMIT_MEMLOCK,
 * kernel.perf_event_mlock_kb). One thread reads the ring; signal handlers do not.
 */
#ifndef TREADLE_KERNEL_STACKS_H
#define TREADLE_KERNEL_STACKS_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>

#define KERNEL_STACK_FRAMES 32u

/* The kernel's stack at a sample, innermost function first. */
struct kernel_stack {
    bool in_kernel; /* false: the thread ran user code, and there are no frames */
    uint32_t count;
    uint64_t frames[KERNEL_STACK_FRAMES];
};

struct kernel_stacks;

/* Sets what kernel stacks need in the attributes of the event. */
void kernel_stacks__ask(struct perf_event_attr *attributes);

/* Maps the ring of an event with this sampling interval, large enough for a tenth of a second.
 * NULL: the ring is not available. */
struct kernel_stacks *kernel_stacks__new(int fd, uint64_t interval_ns);
void kernel_stacks__delete(struct kernel_stacks *stacks);

/* Reads all samples in the ring. Samples of the read before last are dropped. */
void kernel_stacks__read(struct kernel_stacks *stacks);

/* Finds the latest sample that was read and is not later than a moment of CLOCK_MONOTONIC. False:
 * there is none. */
bool kernel_stacks__find(const struct kernel_stacks *stacks, uint64_t monotonic_ns,
                         struct kernel_stack *stack);

#endif
