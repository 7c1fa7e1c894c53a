/*
 * What the samples of a perf event say of the kernel: whether it ran, and where in it.
 *
 * The kernel writes its samples to a ring of pages, a piece of memory that counts as locked
 * (RLIMIT_MEMLOCK, kernel.perf_event_mlock_kb). They are read by one thread, not by handlers.
 */
#ifndef TREADLE_KERNEL_STACKS_H
#define TREADLE_KERNEL_STACKS_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>

#define KERNEL_STACK_FRAMES 32u

/* Where the kernel stood: innermost first. */
struct kernel_stack {
    bool in_kernel; /* else in the user's code, and there are no frames */
    uint32_t count;
    uint64_t frames[KERNEL_STACK_FRAMES];
};

struct kernel_stacks;

/* What the event must be asked for. */
void kernel_stacks__ask(struct perf_event_attr *attributes);

/* The ring of an event that samples every so often, for a tenth of a second; NULL: it cannot be
 * had. */
struct kernel_stacks *kernel_stacks__new(int fd, uint64_t interval_ns);
void kernel_stacks__delete(struct kernel_stacks *stacks);

/* Takes what is in the ring. What was taken the time before last is forgotten. */
void kernel_stacks__read(struct kernel_stacks *stacks);

/* The latest sample that was read and is not after a moment of CLOCK_MONOTONIC. False: none. */
bool kernel_stacks__find(const struct kernel_stacks *stacks, uint64_t monotonic_ns,
                         struct kernel_stack *stack);

#endif
