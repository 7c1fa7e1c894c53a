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

#include "native/thread/kernel_thread.h"

#include <pthread.h>
#include <stdbool.h>

/* So many ended threads are kept at the most before entries are used again. */
#define KERNEL_THREADS_ENDED_MAX 64u

/* Beyond so many between two sweeps, any thread that is gone may have run Java. */
#define KERNEL_THREADS_DEPARTED_MAX 2048u

struct kernel_thread_entry;

/* Kernel threads that are gone and whose entries were taken out between two sweeps. */
struct departed_threads {
    unsigned count; /* may be more than there is room for */
    struct {
        pid_t tid;
        uint64_t start_ticks;
    } thread[KERNEL_THREADS_DEPARTED_MAX];
};

struct kernel_thread_table {
    pthread_mutex_t lock;
    const struct kernel_thread_setup *setup;
    struct kernel_thread_entry *entries; /* uthash, by tid */
    unsigned ended;                      /* entries whose thread has begun to end */
    struct kernel_thread *spare;         /* of kernel threads that are gone; with their records */
    bool has_key;
    pthread_key_t at_thread_end;
    struct slow_hooks slow_hooks;        /* of kernel threads that are gone; under the lock */
    struct departed_threads departed[2]; /* since the last sweep, and since the one before */
};

/* The calling kernel thread's own, or NULL: the one thread-local pointer. initial-exec: one load,
 * and no allocation on first use inside a handler. */
extern __thread struct kernel_thread *kernel_thread_mine __attribute__((tls_model("initial-exec")));

/* There was no room for the calling thread once: it is not tried again at each of its events. */
extern __thread bool kernel_thread_refused __attribute__((tls_model("initial-exec")));

static inline bool kernel_thread_table__refused_me(void)
{
    return kernel_thread_refused;
}

/* 0 or -errno. The table lives as long as the process: threads may end at any time. */
int kernel_thread_table__init(struct kernel_thread_table *table,
                              const struct kernel_thread_setup *setup);

/* Of a table that no thread has come by; one that was never made is fine. */
void kernel_thread_table__destroy(struct kernel_thread_table *table);

/* The calling kernel thread's entry, made on first use and given back when the thread ends. NULL
 * when memory or the ledger is full (counted as a dropped thread). */
struct kernel_thread *kernel_thread_table__enter(struct kernel_thread_table *table);

/* Opens the books of a kernel thread that runs a Java thread already, unless it has some: the table
 * then knows it until it comes by itself. Its record of the Java thread, or none: it has one
 * already, is gone, or cannot be recorded (counted). One that has books of another Java thread, or
 * a carrier, is to find out who runs before its next event counts (unidentified). */
ledger_ref kernel_thread_table__adopt(struct kernel_thread_table *table, pid_t tid,
                                      const struct java_thread_facts *facts);

/* The calling kernel thread's entry if it has one, its own or one that was opened in its absence,
 * which is its own from here on. NULL: none. */
struct kernel_thread *kernel_thread_table__find_mine(struct kernel_thread_table *table);

/* Where the Java thread stands that runs on a kernel thread. */
struct kernel_thread_place {
    ledger_ref thread;
    ledger_ref node;
    const void *host; /* what the host calls it, see struct kernel_thread; or NULL */
};

/* False: none runs there, or it is not known. It may have moved on when this returns. */
bool kernel_thread_table__place(struct kernel_thread_table *table, pid_t tid,
                                struct kernel_thread_place *place);

/* Before the coming epoch begins: calls visit for the kernel thread of that tid, under the lock;
 * not if it has no books. */
void kernel_thread_table__visit(struct kernel_thread_table *table, pid_t tid,
                                void (*visit)(struct kernel_thread *kernel_thread, void *context),
                                void *context);

/* Where the Java thread stands of a kernel thread that was adopted and never came by. */
struct absent_place {
    ledger_ref thread;
    ledger_ref node;
    uint64_t charged_ns;
    const struct ledger_unprofiled *unprofiled;
};

/* False: there is no such kernel thread. */
bool kernel_thread_table__absent(struct kernel_thread_table *table, pid_t tid,
                                 struct absent_place *place);

/* After each stop and start; see kernel_thread__note_unprofiled. Threads that were adopted, never
 * came by and are gone are taken out. */
void kernel_thread_table__note_unprofiled(struct kernel_thread_table *table);

/* Does or did a Java thread run on the kernel thread that now has that tid? True until it is gone,
 * for it consumes CPU to its very end. */
bool kernel_thread_table__runs_java(struct kernel_thread_table *table, pid_t tid);

/* Did one run on the kernel thread of that tid and start, which may be gone since the last sweep
 * but one? */
bool kernel_thread_table__ran_java(struct kernel_thread_table *table, pid_t tid,
                                   uint64_t start_ticks);

/* Of all kernel threads, those that are gone included. */
struct slow_hooks kernel_thread_table__slow_hooks(struct kernel_thread_table *table);

/* Takes out the kernel threads that are gone, for others to use their entries. */
void kernel_thread_table__sweep(struct kernel_thread_table *table);

/* The calling kernel thread, the only one of a forked process, will end without giving its entry
 * back, whose lock somebody may have held. Async-signal-safe. */
void kernel_thread_table__abandon(struct kernel_thread_table *table);

static inline struct kernel_thread *kernel_thread_table__mine(void)
{
    return kernel_thread_mine;
}

#endif
