/*
 * The names of the kernel's functions, from /proc/kallsyms. Not for handlers; reading takes a tenth
 * of a second and some megabytes.
 */
#ifndef TREADLE_KERNEL_SYMBOLS_H
#define TREADLE_KERNEL_SYMBOLS_H

#include <stdbool.h>
#include <stdint.h>

struct kernel_symbols;

/* path: "/proc/kallsyms", or a file of that format. 0 or -errno; -EPERM: the kernel hides the
 * addresses (kernel.kptr_restrict; CAP_SYSLOG or kernel.perf_event_paranoid would show them). */
int kernel_symbols__open(struct kernel_symbols **symbols, const char *path);
void kernel_symbols__close(struct kernel_symbols *symbols);

/* 0 if the kernel shows the addresses to this process, else -errno as above. Does not read the
 * file. */
int kernel_symbols__check(const char *path);

/* Returns the function that contains an address, and the address of the function's first byte.
 * NULL: the address is below all functions. Valid until close. */
const char *kernel_symbols__find(const struct kernel_symbols *symbols, uint64_t address,
                                 uint64_t *start);

#endif
