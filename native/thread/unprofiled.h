/*
 * Time that is not profiled: before the agent was loaded into a running process, and while
 * profiling is stopped. The kernel's totals of a thread grow meanwhile. The growth is kept here, in
 * the ledger, and subtracted from every reading. So a thread's profiled CPU time stands still while
 * profiling is stopped, and no account needs a correction when profiling starts again.
 *
 * Written by one thread at a time, the one that stops and starts; read by any thread.
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
    struct unprofiled_entry *spare;   /* of ended threads; their records are kept with them */
};

void unprofiled_table__init(struct unprofiled_table *table, struct ledger *ledger,
                            uint64_t metrics);

/* Reads the totals of all kernel threads of this process, and of the process itself, as profiling
 * stops or starts. The first start makes everything up to now unprofiled. The slow part comes
 * first, some 50 µs a thread: the list of threads and all totals but their CPU clocks. stop and
 * start then read the CPU clocks, at now_ns on the ledger's clock. They also maintain the header's
 * since_ns, unprofiled_… and process_…. Not for hooks. 0 or -errno. */
int unprofiled_table__prepare_stop(struct unprofiled_table *table);
int unprofiled_table__prepare_start(struct unprofiled_table *table);
void unprofiled_table__stop(struct unprofiled_table *table, uint64_t now_ns);
void unprofiled_table__start(struct unprofiled_table *table, uint64_t now_ns);

/* Returns the record of a kernel thread, or NULL: all of the thread's consumption is profiled. */
const struct ledger_unprofiled *unprofiled_table__find(struct unprofiled_table *table, pid_t tid,
                                                       uint64_t start_ticks);

/* Writes the process's own totals, less the unprofiled part, into the ledger's header. 0 or -errno.
 */
int ledger__read_process_cpu(struct ledger_header *header);

/* Returns the profiled part of a kernel reading. `unprofiled` may be NULL. Async-signal-safe. */
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
