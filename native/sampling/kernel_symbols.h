/*
 * The names of the kernel's functions, from /proc/kallsyms. Not for handlers; reading takes a tenth
 * of a second and some megabytes.
 */
#ifndef TREADLE_KERNEL_SYMBOLS_H
#define TREADLE_KERNEL_SYMBOLS_H

#include <stdbool.h>
#include <stdint.h>

struct kernel_symbols;

/* path: "/proc/kallsyms", or a file like it. 0 or -errno: -EPERM if it hides the addresses
 * (kernel.kptr_restrict, and CAP_SYSLOG or kernel.perf_event_paranoid). */
int kernel_symbols__open(struct kernel_symbols **symbols, const char *path);
void kernel_symbols__close(struct kernel_symbols *symbols);

/* 0 if the kernel shows the addresses to this process, else -errno, as above; without reading. */
int kernel_symbols__check(const char *path);

/* The function that an address is in, with its first byte's address; NULL: before all of them.
 * Valid until close. */
const char *kernel_symbols__find(const struct kernel_symbols *symbols, uint64_t address,
                                 uint64_t *start);

#endif
