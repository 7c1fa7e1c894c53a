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

#include "native/ledger.h"
#include "native/ledger_time.h"

#include <stdbool.h>
#include <sys/types.h>

struct scanned_row;

struct process_scan {
    struct ledger *ledger;
    pid_t pid;
    uint64_t metrics; /* bits to keep totals of */
    /* Does a Java thread run on that tid, or did one? Such tids get no row here. */
    bool (*runs_java)(void *context, pid_t tid);
    void *context;
    struct scanned_row *rows; /* uthash, by tid */
    struct ledger_arena nodes;
    unsigned pass;
};

void process_scan__init(struct process_scan *scan, struct ledger *ledger, pid_t pid,
                        uint64_t metrics, bool (*runs_java)(void *context, pid_t tid),
                        void *context);

/* Takes up the rows that are in the ledger already (a copy of a live one). */
void process_scan__adopt(struct process_scan *scan);

enum scan_depth {
    SCAN_CPU, /* CPU time only, of threads that have a row already: one clock read each */
    SCAN_ALL, /* every metric */
};

/* Looks at all kernel threads now. now_ns is the ledger's clock. 0 or -errno. */
int process_scan__run(struct process_scan *scan, uint64_t now_ns, enum scan_depth depth);

/* Only brings the CPU time of the rows up to date, as fast as can be. */
void process_scan__refresh(struct process_scan *scan, uint64_t now_ns);

void process_scan__close(struct process_scan *scan);

/* Is that the name of one of the JVM's own threads, as the kernel knows it (15 bytes)? */
bool process_scan__is_vm_thread(const char *name);

#endif
