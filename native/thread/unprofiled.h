/*
 * Time that is not profiled: before the agent came to a running process, and while profiling is
 * stopped. The kernel's totals of a thread go on meanwhile; what they grow by is kept here, in the
 * ledger, and taken off every reading. So a thread's profiled CPU time stands still while profiling
 * is stopped, and the books need no correction when it goes on.
 *
 * Written by one thread at a time, which stops and starts; read by any.
 */
#ifndef TREADLE_UNPROFILED_H
#define TREADLE_UNPROFILED_H

#include "native/ledger/ledger.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct unprofiled_entry;

struct unprofiled_table {
    struct ledger *ledger;
    uint64_t metrics; /* bits */
    pthread_mutex_t lock;
    struct unprofiled_entry *entries; /* uthash, by tid */
    struct unprofiled_entry *spare;   /* of threads that are gone; with their records */
};

void unprofiled_table__init(struct unprofiled_table *table, struct ledger *ledger,
                            uint64_t metrics);

/* Reads the totals of all kernel threads of this process and of the process itself as profiling
 * stops, or starts; the first start makes everything up to now unprofiled. What takes long comes
 * first, some 50 µs a thread: the threads themselves, and all but their CPU clocks. These are read
 * by stop and start, at now_ns, the ledger's clock; they also keep the header's since_ns,
 * unprofiled_… and process_…. Not for hooks. 0 or -errno. */
int unprofiled_table__prepare_stop(struct unprofiled_table *table);
int unprofiled_table__prepare_start(struct unprofiled_table *table);
void unprofiled_table__stop(struct unprofiled_table *table, uint64_t now_ns);
void unprofiled_table__start(struct unprofiled_table *table, uint64_t now_ns);

/* The record of a kernel thread, or NULL: all of it is profiled. */
const struct ledger_unprofiled *unprofiled_table__find(struct unprofiled_table *table, pid_t tid,
                                                       uint64_t start_ticks);

/* The process's own totals into its ledger's header, less what is not profiled. 0 or -errno. */
int ledger__read_process_cpu(struct ledger_header *header);

/* What of a reading of the kernel's is profiled. `unprofiled` may be NULL. Async-signal-safe. */
static inline uint64_t unprofiled__less(uint64_t reading, uint64_t unprofiled)
{
    return reading > unprofiled ? reading - unprofiled : 0;
}

static inline uint64_t unprofiled__cpu_ns(const struct ledger_unprofiled *unprofiled,
                                          bool profiling, uint64_t cpu_ns)
{
    uint64_t profiled_ns;

    if (!unprofiled)
        return cpu_ns;
    profiled_ns = unprofiled__less(cpu_ns, unprofiled->cpu_ns);
    if (profiling || profiled_ns < unprofiled->stopped_cpu_ns)
        return profiled_ns;
    return unprofiled->stopped_cpu_ns;
}

static inline uint64_t unprofiled__value(const struct ledger_unprofiled *unprofiled, bool profiling,
                                         unsigned metric, uint64_t value)
{
    uint64_t profiled;

    if (!unprofiled)
        return value;
    profiled = unprofiled__less(value, unprofiled->value[metric]);
    if (profiling || profiled < unprofiled->stopped_value[metric])
        return profiled;
    return unprofiled->stopped_value[metric];
}

#endif
