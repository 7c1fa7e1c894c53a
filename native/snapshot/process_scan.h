/*
 * The kernel threads of a process that run no Java thread: GC, JIT and other VM threads, and native
 * threads. Each gets a row in the ledger (a thread record with a root node only), so that all rows
 * together are the process. Looked up in /proc/PID/task every so often, so that one that comes and
 * goes is missed by its last moments at most.
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

/* Which kernel threads are none of a scan's business. `context` comes back in each call. */
struct scan_java {
    /* Does or did a Java thread run on the kernel thread that has that tid now? */
    bool (*runs_java)(void *context, pid_t tid);
    /* Did one run on that kernel thread, which is gone by now? NULL for a copy, in which nothing
     * begins: a thread then gets its row at the first look, else at the second or when it ends. */
    bool (*ran_java)(void *context, pid_t tid, uint64_t start_ticks);
    /* What of it is not profiled, or NULL. */
    const struct ledger_unprofiled *(*unprofiled)(void *context, pid_t tid, uint64_t start_ticks);
    /* A scan is done: the answers for threads that are gone are needed no more. NULL for a copy. */
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
    /* of rows that it looked at itself: profiled CPU time, by what the threads do */
    uint64_t compilers_cpu_ns; /* C1 and C2 */
    uint64_t service_cpu_ns;   /* the Service Thread */
    pid_t vm_thread;           /* atomic; the VM Thread's tid, 0: not seen yet */
};

void process_scan__init(struct process_scan *scan, struct ledger *ledger, pid_t pid,
                        uint64_t metrics, const struct scan_java *java);

/* Takes up the rows that are in the ledger already (a copy of a live one). */
void process_scan__adopt(struct process_scan *scan);

enum scan_depth {
    SCAN_CPU, /* CPU time only, of threads that have a row already: one clock read each */
    SCAN_ALL, /* every metric */
};

/* Looks at all kernel threads now. now_ns is the ledger's clock. 0 or -errno. */
int process_scan__run(struct process_scan *scan, uint64_t now_ns, enum scan_depth depth);

/* The thread record of a row, or none. */
ledger_ref process_scan__row(const struct process_scan *scan, pid_t tid);

/* Only brings the CPU time of the rows up to date, as fast as can be. */
void process_scan__refresh(struct process_scan *scan, uint64_t now_ns);

void process_scan__close(struct process_scan *scan);

/* Is that the name of one of the JVM's own threads, as the kernel knows it (15 bytes)? */
bool process_scan__is_vm_thread(const char *name);

#endif
