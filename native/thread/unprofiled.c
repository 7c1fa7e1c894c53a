#include "native/thread/unprofiled.h"

#include "native/hash_table.h"
#include "native/metrics/metric_bits.h"
#include "native/metrics/task_status.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct unprofiled_entry {
    pid_t tid;
    bool seen;
    struct ledger_unprofiled *record;
    struct unprofiled_entry *next_spare;
    UT_hash_handle hh;
};

void unprofiled_table__init(struct unprofiled_table *table, struct ledger *ledger, uint64_t metrics)
{
    memset(table, 0, sizeof(*table));
    table->ledger = ledger;
    table->metrics = metrics;
    pthread_mutex_init(&table->lock, NULL);
}

int ledger__read_process_cpu(struct ledger_header *header)
{
    uint64_t cpu_ns, user_ns, system_ns;
    int error = process_cpu__read(header->pid, &cpu_ns, &user_ns, &system_ns);

    if (error)
        return error;
    header->process_cpu_ns = unprofiled__less(cpu_ns, header->unprofiled_cpu_ns);
    header->process_user_ns = unprofiled__less(user_ns, header->unprofiled_user_ns);
    header->process_system_ns = unprofiled__less(system_ns, header->unprofiled_system_ns);
    return 0;
}

static struct unprofiled_entry *make_entry(struct unprofiled_table *table)
{
    struct unprofiled_entry *entry = table->spare;
    ledger_ref ref;

    if (entry) {
        table->spare = entry->next_spare;
        return entry;
    }
    entry = calloc(1, sizeof(*entry));
    ref = entry ? ledger__take_shared(table->ledger, LEDGER_UNPROFILED,
                                      sizeof(struct ledger_unprofiled) / LEDGER_CELL_BYTES)
                : 0;
    if (!ref) {
        free(entry);
        return NULL;
    }
    entry->record = ledger__at(table->ledger, ref);
    return entry;
}

static void give_back(struct unprofiled_table *table, struct unprofiled_entry *entry)
{
    __atomic_store_n(&entry->record->tid, 0, __ATOMIC_RELEASE);
    entry->next_spare = table->spare;
    table->spare = entry;
}

/* Under the lock. NULL if memory is short: that thread then is profiled throughout. */
static struct unprofiled_entry *find_or_add(struct unprofiled_table *table, pid_t tid,
                                            uint64_t start_ticks)
{
    struct unprofiled_entry *entry;

    HASH_FIND_INT(table->entries, &tid, entry);
    if (entry && entry->record->start_ticks == start_ticks)
        return entry;
    if (entry) {
        HASH_DEL(table->entries, entry);
        give_back(table, entry);
    }
    entry = make_entry(table);
    if (!entry)
        return NULL;
    memset(entry->record, 0, sizeof(*entry->record));
    entry->record->start_ticks = start_ticks;
    __atomic_store_n(&entry->record->tid, tid, __ATOMIC_RELEASE);
    entry->tid = tid;
    HASH_ADD_INT(table->entries, tid, entry);
    if (!entry->hh.tbl) {
        give_back(table, entry);
        return NULL;
    }
    return entry;
}

static void note(uint64_t reading, bool start, uint64_t *unprofiled, uint64_t *stopped)
{
    if (start)
        __atomic_store_n(unprofiled, unprofiled__less(reading, *stopped), __ATOMIC_RELAXED);
    else
        __atomic_store_n(stopped, unprofiled__less(reading, *unprofiled), __ATOMIC_RELAXED);
}

static void look_at(struct unprofiled_table *table, pid_t tid, bool start)
{
    struct unprofiled_entry *entry;
    struct task_status status;
    unsigned metric;

    if (task_status__read(&status, getpid(), tid, table->metrics) != 0)
        return;
    entry = find_or_add(table, tid, status.start_ticks);
    if (!entry)
        return;
    entry->seen = true;
    while (metric_bits__take(&status.bits, &metric))
        note(status.value[metric], start, &entry->record->value[metric],
             &entry->record->stopped_value[metric]);
}

static int look_at_all(struct unprofiled_table *table, bool start)
{
    DIR *tasks = opendir("/proc/self/task");
    struct dirent *task;

    if (!tasks)
        return -errno;
    while ((task = readdir(tasks))) {
        long tid = strtol(task->d_name, NULL, 10);

        if (tid > 0)
            look_at(table, (pid_t)tid, start);
    }
    closedir(tasks);
    return 0;
}

struct process_clocks {
    uint64_t cpu_ns;
    uint64_t user_ns;
    uint64_t system_ns;
};

static int read_process(struct process_clocks *clocks)
{
    return process_cpu__read(getpid(), &clocks->cpu_ns, &clocks->user_ns, &clocks->system_ns);
}

static uint64_t middle(uint64_t from, uint64_t to)
{
    return to > from ? from + (to - from) / 2 : from;
}

/* Reads the CPU clocks of all threads, as close together in time as possible. */
static void look_at_tasks(struct unprofiled_table *table, bool start)
{
    struct unprofiled_entry *entry, *next;
    uint64_t cpu_ns;

    HASH_ITER (hh, table->entries, entry, next) {
        if (!entry->seen || task_cpu__read(getpid(), entry->tid, &cpu_ns) != 0) {
            HASH_DEL(table->entries, entry);
            give_back(table, entry);
            continue;
        }
        entry->seen = false;
        note(cpu_ns, start, &entry->record->cpu_ns, &entry->record->stopped_cpu_ns);
    }
}

/* The threads run on while their clocks are read. So the process's clocks are taken as of the
 * middle of that time: any number of stops and starts leaves no drift between the two. */
static void look_at_clocks(struct unprofiled_table *table, bool start)
{
    struct ledger_header *header = table->ledger->header;
    struct process_clocks before, after;
    int error = read_process(&before);

    look_at_tasks(table, start);
    if (error || read_process(&after) != 0)
        return;
    note(middle(before.cpu_ns, after.cpu_ns), start, &header->unprofiled_cpu_ns,
         &header->process_cpu_ns);
    note(middle(before.user_ns, after.user_ns), start, &header->unprofiled_user_ns,
         &header->process_user_ns);
    note(middle(before.system_ns, after.system_ns), start, &header->unprofiled_system_ns,
         &header->process_system_ns);
}

static int prepare(struct unprofiled_table *table, bool start)
{
    int error;

    pthread_mutex_lock(&table->lock);
    error = look_at_all(table, start);
    pthread_mutex_unlock(&table->lock);
    return error;
}

int unprofiled_table__prepare_stop(struct unprofiled_table *table)
{
    return prepare(table, false);
}

int unprofiled_table__prepare_start(struct unprofiled_table *table)
{
    return prepare(table, true);
}

static void look(struct unprofiled_table *table, bool start)
{
    pthread_mutex_lock(&table->lock);
    look_at_clocks(table, start);
    pthread_mutex_unlock(&table->lock);
}

void unprofiled_table__stop(struct unprofiled_table *table, uint64_t now_ns)
{
    struct ledger_header *header = table->ledger->header;

    __atomic_store_n(&header->since_ns, now_ns, __ATOMIC_RELAXED);
    __atomic_store_n(&header->profiling, 0, __ATOMIC_RELEASE);
    header->asof_ns = now_ns;
    look(table, false);
}

void unprofiled_table__start(struct unprofiled_table *table, uint64_t now_ns)
{
    struct ledger_header *header = table->ledger->header;

    look(table, true);
    __atomic_store_n(&header->unprofiled_wall_ns,
                     header->unprofiled_wall_ns + now_ns - header->since_ns, __ATOMIC_RELAXED);
    __atomic_store_n(&header->since_ns, now_ns, __ATOMIC_RELAXED);
    header->starts++;
    __atomic_store_n(&header->profiling, 1, __ATOMIC_RELEASE);
}

const struct ledger_unprofiled *unprofiled_table__find(struct unprofiled_table *table, pid_t tid,
                                                       uint64_t start_ticks)
{
    const struct ledger_unprofiled *record = NULL;
    const struct unprofiled_entry *entry;

    pthread_mutex_lock(&table->lock);
    HASH_FIND_INT(table->entries, &tid, entry);
    if (entry && entry->record->start_ticks == start_ticks)
        record = entry->record;
    pthread_mutex_unlock(&table->lock);
    return record;
}
