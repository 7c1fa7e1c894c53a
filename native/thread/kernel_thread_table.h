/*
 * The kernel thread table: tid → kernel thread → the Java thread that runs on it or last ran on it.
 *
 * Kernel threads are reused: by pools, by native code that attaches and detaches, by the kernel's
 * recycling of tids. When a Java thread starts on a tid, the entry of the tid is looked up, and
 * gets a new generation if the tid now belongs to another kernel thread.
 *
 * The calling thread finds its own entry with one load (kernel_thread_table__mine). All other
 * functions take the table's lock, are called when threads start and end, and are not for hooks.
 */
#ifndef TREADLE_KERNEL_THREAD_TABLE_H
#define TREADLE_KERNEL_THREAD_TABLE_H

#include "native/thread/kernel_thread.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

/* At most this many ended threads are kept before entries are reused. */
#define KERNEL_THREADS_ENDED_MAX 64u

/* If more threads than this end between two sweeps, any ended thread is taken for one that may have
 * run Java. */
#define KERNEL_THREADS_DEPARTED_MAX 2048u

struct kernel_thread_entry;

/* Ended kernel threads whose entries were removed between two sweeps. */
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
    struct kernel_thread *spare; /* of ended kernel threads; their records are kept with them */
    _Atomic unsigned made;       /* entries, which are never freed */
    bool has_key;
    pthread_key_t at_thread_end;
    struct hook_times times;             /* sums of ended kernel threads; under the lock */
    struct departed_threads departed[2]; /* since the last sweep, and since the sweep before */
};

/* The calling kernel thread's own entry, or NULL: the one thread-local pointer. initial-exec: one
 * load, and no allocation on first use inside a signal handler. */
extern __thread struct kernel_thread *kernel_thread_mine __attribute__((tls_model("initial-exec")));

/* There was once no room for the calling thread; its events do not try again. */
extern __thread bool kernel_thread_refused __attribute__((tls_model("initial-exec")));

/* Bytes of memory of all entries. Any thread. */
size_t kernel_thread_table__bytes(const struct kernel_thread_table *table);

static inline bool kernel_thread_table__refused_me(void)
{
    return kernel_thread_refused;
}

/* 0 or -errno. The table lives as long as the process, because threads may end at any time. */
int kernel_thread_table__init(struct kernel_thread_table *table,
                              const struct kernel_thread_setup *setup);

/* Frees a table that no thread has used yet; an all-zero table is allowed. */
void kernel_thread_table__destroy(struct kernel_thread_table *table);

/* Returns the calling kernel thread's entry, which is made on first use and released when the
 * thread ends. NULL when memory or the ledger is full (counted as a dropped thread). */
struct kernel_thread *kernel_thread_table__enter(struct kernel_thread_table *table);

/* Adopts a kernel thread that runs a Java thread already: opens accounts in the thread's absence,
 * unless it has some. The thread takes the accounts over at its own first event. Returns the record
 * of the Java thread. Returns none if the kernel thread has accounts already, is gone, or cannot be
 * recorded (counted). A kernel thread whose accounts are of another Java thread, or that is a
 * carrier, is marked as unidentified: the running Java thread must be identified before the next
 * event counts. */
ledger_ref kernel_thread_table__adopt(struct kernel_thread_table *table, pid_t tid,
                                      const struct java_thread_facts *facts);

/* Returns the calling kernel thread's entry, or NULL if it has none. An entry that was made in the
 * thread's absence becomes the thread's own. */
struct kernel_thread *kernel_thread_table__find_mine(struct kernel_thread_table *table);

/* The position of the Java thread that runs on a kernel thread. */
struct kernel_thread_place {
    ledger_ref thread;
    ledger_ref node;
    const void *host; /* the host's handle of the thread, see struct kernel_thread; or NULL */
};

/* False: no Java thread runs there, or it is not known. The thread may have moved on when this
 * returns. */
bool kernel_thread_table__place(struct kernel_thread_table *table, pid_t tid,
                                struct kernel_thread_place *place);

/* Before the coming epoch begins: calls visit, under the lock, for the kernel thread of that tid if
 * it has accounts. */
void kernel_thread_table__visit(struct kernel_thread_table *table, pid_t tid,
                                void (*visit)(struct kernel_thread *kernel_thread, void *context),
                                void *context);

/* The position of the Java thread on a kernel thread that was adopted and has had no event. */
struct absent_place {
    ledger_ref thread;
    ledger_ref node;
    uint64_t charged_ns;
    const struct ledger_unprofiled *unprofiled;
};

/* False: there is no such kernel thread. */
bool kernel_thread_table__absent(struct kernel_thread_table *table, pid_t tid,
                                 struct absent_place *place);

/* To be called after each stop and start; see kernel_thread__note_unprofiled. After a stop, adopted
 * threads that have had no event are charged: they may end before profiling starts again. Removes
 * those that have ended. */
void kernel_thread_table__note_unprofiled(struct kernel_thread_table *table);

/* True if a Java thread runs or ran on the kernel thread that has that tid now. True until the
 * kernel thread has ended, because it consumes CPU time to its very end. */
bool kernel_thread_table__runs_java(struct kernel_thread_table *table, pid_t tid);

/* True if a Java thread ran on the kernel thread with that tid and start, which may have ended
 * since the last sweep but one. */
bool kernel_thread_table__ran_java(struct kernel_thread_table *table, pid_t tid,
                                   uint64_t start_ticks);

/* Sums over all kernel threads, ended ones included. */
struct hook_times kernel_thread_table__hook_times(struct kernel_thread_table *table);

/* Removes the entries of ended kernel threads for reuse. */
void kernel_thread_table__sweep(struct kernel_thread_table *table);

/* For the only thread of a forked child: the thread will end without releasing its entry, because
 * another thread of the parent may have held the table's lock. Async-signal-safe. */
void kernel_thread_table__abandon(struct kernel_thread_table *table);

static inline struct kernel_thread *kernel_thread_table__mine(void)
{
    return kernel_thread_mine;
}

#endif
