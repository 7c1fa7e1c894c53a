/*
 * The kernel threads of a process that run no Java thread: GC, JIT and other VM threads, and native
 * threads. Each gets a row in the ledger (a thread record with a root node only), so that all rows
 * together are the whole process. /proc/PID/task is scanned periodically; what a thread consumes
 * between its last scan and its end is missed.
 *
 * One scan at a time; not for hooks.
 */
#ifndef TREADLE_PROCESS_SCAN_H
#define TREADLE_PROCESS_SCAN_H

#include "native/ledger/ledger.h"
#include "native/ledger/ledger_time.h"

#include <stdbool.h>
#include <sys/types.h>

struct scanned_row;

/* Which kernel threads a scan leaves to other code. `context` is passed to each callback. */
struct scan_java {
    /* True if a Java thread runs or ran on the kernel thread that has that tid now. */
    bool (*runs_java)(void *context, pid_t tid);
    /* True if a Java thread ran on that kernel thread, which has ended. NULL for a copy, in which
     * no threads begin: a kernel thread then gets its row at the first scan. Otherwise it gets its
     * row at the second scan or when it ends. */
    bool (*ran_java)(void *context, pid_t tid, uint64_t start_ticks);
    /* The kernel thread's unprofiled part, or NULL. */
    const struct ledger_unprofiled *(*unprofiled)(void *context, pid_t tid, uint64_t start_ticks);
    /* A scan is complete: answers about ended threads are no longer needed. NULL for a copy. */
    void (*forget_gone)(void *context);
    void *context;
};

struct process_scan {
    struct ledger *ledger;
    pid_t pid;
    uint64_t metrics; /* bits to keep totals of */
    struct scan_java java;
    struct scanned_row *rows; /* uthash, by tid */
    struct ledger_arena nodes;
    unsigned pass;
    /* profiled CPU time of the rows that this scanner reads, by kind of work */
    uint64_t compilers_cpu_ns; /* C1 and C2 */
    uint64_t service_cpu_ns;   /* the Service Thread */
    pid_t vm_thread;           /* atomic; the VM Thread's tid, 0: not seen yet */
};

void process_scan__init(struct process_scan *scan, struct ledger *ledger, pid_t pid,
                        uint64_t metrics, const struct scan_java *java);

/* Takes over the rows that the ledger (a copy of a live one) already has. */
void process_scan__adopt(struct process_scan *scan);

enum scan_depth {
    SCAN_CPU, /* CPU time only, of threads that have a row: one clock read each */
    SCAN_ALL, /* every metric */
};

/* Scans all kernel threads now. now_ns is on the ledger's clock. 0 or -errno. */
int process_scan__run(struct process_scan *scan, uint64_t now_ns, enum scan_depth depth);

/* The thread record of a row, or none. */
ledger_ref process_scan__row(const struct process_scan *scan, pid_t tid);

/* How many kernel threads the last scan found that run no Java thread. */
size_t process_scan__count(const struct process_scan *scan);

/* Only updates the CPU time of the rows, as fast as possible. */
void process_scan__refresh(struct process_scan *scan, uint64_t now_ns);

void process_scan__close(struct process_scan *scan);

#endif
