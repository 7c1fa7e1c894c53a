/*
 * The kernel thread table: tid → kernel thread → the Java thread that it runs or last ran.
 *
 * Kernel threads are reused: by pools, by native code that attaches and detaches, by the kernel's
 * recycling of tids. The entry of a tid is looked up when a Java thread starts on it, and given a
 * new generation when the kernel thread behind it is another one.
 *
 * The calling thread finds its own entry in one load (kernel_thread_table__mine); everything else
 * takes the table's lock, is called when threads start and end, and is not for hooks.
 */
#ifndef TREADLE_KERNEL_THREAD_TABLE_H
#define TREADLE_KERNEL_THREAD_TABLE_H

#include "native/kernel_thread.h"

#include <pthread.h>
#include <stdbool.h>

struct kernel_thread_entry;

struct kernel_thread_table {
    pthread_mutex_t lock;
    const struct kernel_thread_setup *setup;
    struct kernel_thread_entry *entries; /* uthash, by tid */
    struct kernel_thread *spare;         /* of kernel threads that ended; with their records */
    pthread_key_t at_thread_end;
};

/* The calling kernel thread's own, or NULL: the one thread-local pointer. initial-exec: one load,
 * and no allocation on first use inside a handler. */
extern __thread struct kernel_thread *kernel_thread_mine __attribute__((tls_model("initial-exec")));

/* 0 or -errno. The table lives as long as the process: threads may end at any time. */
int kernel_thread_table__init(struct kernel_thread_table *table,
                              const struct kernel_thread_setup *setup);

/* The calling kernel thread's entry, made on first use and given back when the thread ends. NULL
 * when memory or the ledger is full (counted as a dropped thread). */
struct kernel_thread *kernel_thread_table__enter(struct kernel_thread_table *table);

/* Does the table know that tid? */
bool kernel_thread_table__knows(struct kernel_thread_table *table, pid_t tid);

static inline struct kernel_thread *kernel_thread_table__mine(void)
{
    return kernel_thread_mine;
}

#endif
