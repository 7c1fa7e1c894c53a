#include "native/thread/kernel_thread_table.h"

#include "native/hash_table.h"
#include "native/metrics/metric_reader.h"
#include "native/metrics/task_status.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Destructors of thread-local data run in up to four rounds; ours waits for the third, so that a
 * destructor that detaches the thread from the JVM still finds the entry. */
#define ROUNDS_TO_WAIT 2

struct kernel_thread_entry {
    struct kernel_thread thread; /* first: the two are one allocation */
    struct kernel_thread_table *table;
    pid_t tid;
    bool absent; /* adopted, and its kernel thread has had no event yet */
    bool ended;
    unsigned rounds;
    UT_hash_handle hh;
};

__thread struct kernel_thread *kernel_thread_mine __attribute__((tls_model("initial-exec")));

__thread bool kernel_thread_refused __attribute__((tls_model("initial-exec")));

static struct kernel_thread_entry *entry_of(struct kernel_thread *thread)
{
    return (struct kernel_thread_entry *)thread;
}

static void remember_departed(struct departed_threads *departed,
                              const struct kernel_thread_entry *entry)
{
    if (departed->count < KERNEL_THREADS_DEPARTED_MAX) {
        departed->thread[departed->count].tid = entry->tid;
        departed->thread[departed->count].start_ticks = entry->thread.record->start_ticks;
    }
    departed->count++;
}

static bool has_departed(const struct departed_threads *departed, pid_t tid, uint64_t start_ticks)
{
    if (departed->count > KERNEL_THREADS_DEPARTED_MAX)
        return true;
    for (unsigned i = 0; i < departed->count; i++)
        if (departed->thread[i].tid == tid && departed->thread[i].start_ticks == start_ticks)
            return true;
    return false;
}

/* Under the lock. */
static void give_back(struct kernel_thread_table *table, struct kernel_thread_entry *entry)
{
    hook_times__add(&table->times, &entry->thread.times);
    memset(&entry->thread.times, 0, sizeof(entry->thread.times));
    /* If `ended` is not set, the thread ended without its destructors, or never had an event. */
    if (!entry->ended && entry->thread.thread)
        entry->thread.thread->flags |= THREAD_TERMINATED;
    remember_departed(&table->departed[0], entry);
    HASH_DEL(table->entries, entry);
    table->ended -= entry->ended;
    __atomic_store_n(&entry->thread.record->tid, 0, __ATOMIC_RELEASE);
    entry->thread.next_spare = table->spare;
    table->spare = &entry->thread;
}

static void at_thread_end(void *value)
{
    struct kernel_thread *thread = value;
    struct kernel_thread_entry *entry = entry_of(thread);
    struct kernel_thread_table *table = entry->table;

    if (entry->rounds++ < ROUNDS_TO_WAIT) {
        pthread_setspecific(table->at_thread_end, thread);
        return;
    }
    kernel_thread__end(thread);
    kernel_thread_mine = NULL;
    pthread_mutex_lock(&table->lock);
    entry->ended = true;
    table->ended++;
    pthread_mutex_unlock(&table->lock);
}

/* True if the kernel thread of the entry is gone, or its tid now is that of another one. */
static bool is_gone(const struct kernel_thread_entry *entry)
{
    uint64_t cpu_ns, start_ticks;

    if (!entry->ended && !entry->absent)
        return false;
    return task_cpu__read(getpid(), entry->tid, &cpu_ns) != 0 ||
           task_start__read(getpid(), entry->tid, &start_ticks) != 0 ||
           start_ticks != entry->thread.record->start_ticks;
}

/* Under the lock. */
static void sweep(struct kernel_thread_table *table)
{
    struct kernel_thread_entry *entry, *next;

    HASH_ITER (hh, table->entries, entry, next)
        if (is_gone(entry))
            give_back(table, entry);
}

int kernel_thread_table__init(struct kernel_thread_table *table,
                              const struct kernel_thread_setup *setup)
{
    int error;

    memset(table, 0, sizeof(*table));
    pthread_mutex_init(&table->lock, NULL);
    table->setup = setup;
    error = -pthread_key_create(&table->at_thread_end, at_thread_end);
    table->has_key = !error;
    return error;
}

void kernel_thread_table__destroy(struct kernel_thread_table *table)
{
    if (table->has_key)
        pthread_key_delete(table->at_thread_end);
    table->has_key = false;
}

size_t kernel_thread_table__bytes(const struct kernel_thread_table *table)
{
    return atomic_load_explicit(&table->made, memory_order_relaxed) *
           sizeof(struct kernel_thread_entry);
}

/* Maps counters, which take memory only as they are used and are kept as long as the entry. NULL:
 * none are wanted, or there is no room. */
static uint8_t *map_counters(uint32_t count)
{
    void *counters = count ? mmap(NULL, count, PROT_READ | PROT_WRITE,
                                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)
                           : MAP_FAILED;

    return counters == MAP_FAILED ? NULL : counters;
}

static struct kernel_thread_entry *make_entry(struct kernel_thread_table *table)
{
    const struct kernel_thread_setup *setup = table->setup;
    struct kernel_thread_entry *entry = calloc(1, sizeof(*entry));
    ledger_ref record;

    if (!entry)
        return NULL;
    record = ledger__take_shared(setup->ledger, LEDGER_KERNEL_THREADS,
                                 sizeof(struct ledger_kernel_thread) / LEDGER_CELL_BYTES);
    if (!record) {
        free(entry);
        return NULL;
    }
    atomic_fetch_add_explicit(&table->made, 1, memory_order_relaxed);
    entry->table = table;
    entry->thread.record = ledger__at(setup->ledger, record);
    entry->thread.key_pushes = map_counters(setup->counted_keys);
    call_tree__init(&entry->thread.tree, setup->ledger, setup->resolve, setup->resolve_context);
    return entry;
}

/* Under the lock. Reuses an entry with its record, which then has a new generation, or makes one.
 * NULL: memory or the ledger is full. */
static struct kernel_thread_entry *take_entry(struct kernel_thread_table *table, pid_t tid)
{
    struct kernel_thread_entry *entry;
    struct ledger_kernel_thread *record;
    uint32_t generation;

    if (!table->spare && table->ended >= KERNEL_THREADS_ENDED_MAX)
        sweep(table);
    if (table->spare) {
        entry = entry_of(table->spare);
        table->spare = entry->thread.next_spare;
        memset(entry->thread.tree.cache, 0, sizeof(entry->thread.tree.cache));
    } else {
        entry = make_entry(table);
        if (!entry)
            return NULL;
    }
    record = entry->thread.record;
    generation = record->generation + 1;
    memset(record, 0, sizeof(*record));
    record->generation = generation;
    __atomic_store_n(&record->tid, tid, __ATOMIC_RELEASE);
    entry->tid = tid;
    entry->absent = false;
    entry->ended = false;
    entry->rounds = 0;
    HASH_ADD_INT(table->entries, tid, entry);
    if (!entry->hh.tbl) {
        entry->thread.next_spare = table->spare;
        table->spare = &entry->thread;
        return NULL;
    }
    return entry;
}

/* Under the lock. Drops an entry whose kernel thread ended without its destructors: the tid now is
 * that of another kernel thread. */
static void drop_stale(struct kernel_thread_table *table, struct kernel_thread_entry *stale)
{
    if (!stale->absent) {
        perf_page__close(&stale->thread.clock.perf);
        metric_reader__close(&stale->thread.reader);
    }
    give_back(table, stale);
}

static bool is_same_thread(const struct kernel_thread_entry *entry)
{
    uint64_t start_ticks;

    return task_start__read(getpid(), entry->tid, &start_ticks) == 0 &&
           start_ticks == entry->thread.record->start_ticks;
}

/* Under the lock. The calling thread's entry, new or adopted; NULL: memory or the ledger is full.
 */
static struct kernel_thread_entry *own_entry(struct kernel_thread_table *table, bool *adopted)
{
    struct kernel_thread_entry *entry;
    pid_t tid = gettid();

    HASH_FIND_INT(table->entries, &tid, entry);
    *adopted = entry && entry->absent && is_same_thread(entry);
    if (*adopted) {
        entry->absent = false;
        return entry;
    }
    if (entry)
        drop_stale(table, entry);
    return take_entry(table, tid);
}

struct kernel_thread *kernel_thread_table__enter(struct kernel_thread_table *table)
{
    struct kernel_thread_entry *entry;
    bool adopted;

    if (kernel_thread_mine || kernel_thread_refused)
        return kernel_thread_mine;
    pthread_mutex_lock(&table->lock);
    entry = own_entry(table, &adopted);
    pthread_mutex_unlock(&table->lock);
    if (!entry) {
        ledger__count(&table->setup->ledger->header->dropped_threads, 1);
        kernel_thread_refused = true;
        return NULL;
    }
    if (adopted)
        kernel_thread__take_over(&entry->thread);
    else
        kernel_thread__begin(&entry->thread, table->setup, entry->thread.record);
    pthread_setspecific(table->at_thread_end, &entry->thread);
    kernel_thread_mine = &entry->thread;
    return kernel_thread_mine;
}

struct kernel_thread *kernel_thread_table__find_mine(struct kernel_thread_table *table)
{
    if (!kernel_thread_mine && kernel_thread_table__runs_java(table, gettid()))
        return kernel_thread_table__enter(table);
    return kernel_thread_mine;
}

/* Under the lock. Marks a kernel thread that may run another Java thread than its accounts say. */
static void check_who_runs(struct kernel_thread_entry *entry, const struct java_thread_facts *facts)
{
    const struct ledger_thread *thread = entry->thread.thread;

    if (facts->kind == THREAD_CARRIER || !thread || thread->java_id != facts->java_id)
        __atomic_store_n(&entry->thread.unidentified, true, __ATOMIC_RELEASE);
}

ledger_ref kernel_thread_table__adopt(struct kernel_thread_table *table, pid_t tid,
                                      const struct java_thread_facts *facts)
{
    struct kernel_thread_entry *entry;
    ledger_ref ref = 0;

    pthread_mutex_lock(&table->lock);
    HASH_FIND_INT(table->entries, &tid, entry);
    if (!entry) {
        entry = take_entry(table, tid);
        if (entry && kernel_thread__begin_absent(&entry->thread, table->setup, entry->thread.record,
                                                 facts) != 0) {
            give_back(table, entry);
        } else if (entry) {
            entry->absent = true;
            ref = entry->thread.record->thread;
        }
    }
    if (entry)
        check_who_runs(entry, facts);
    pthread_mutex_unlock(&table->lock);
    return ref;
}

/* Under the lock, which keeps adopted threads from taking over their accounts meanwhile. */
static void note_unprofiled(struct kernel_thread_entry *entry)
{
    kernel_thread__note_unprofiled(&entry->thread);
    if (!entry->absent || kernel_thread__is_profiling(&entry->thread))
        return;
    kernel_thread__hold(&entry->thread);
    kernel_thread__charge_until_stop(&entry->thread);
    kernel_thread__let_go(&entry->thread);
}

void kernel_thread_table__note_unprofiled(struct kernel_thread_table *table)
{
    struct kernel_thread_entry *entry, *next;

    pthread_mutex_lock(&table->lock);
    HASH_ITER (hh, table->entries, entry, next)
        if (entry->absent && is_gone(entry))
            give_back(table, entry);
        else
            note_unprofiled(entry);
    pthread_mutex_unlock(&table->lock);
}

bool kernel_thread_table__runs_java(struct kernel_thread_table *table, pid_t tid)
{
    struct kernel_thread_entry *entry;

    pthread_mutex_lock(&table->lock);
    HASH_FIND_INT(table->entries, &tid, entry);
    if (entry && is_gone(entry)) {
        give_back(table, entry);
        entry = NULL;
    }
    pthread_mutex_unlock(&table->lock);
    return entry != NULL;
}

bool kernel_thread_table__ran_java(struct kernel_thread_table *table, pid_t tid,
                                   uint64_t start_ticks)
{
    struct kernel_thread_entry *entry;
    bool ran;

    pthread_mutex_lock(&table->lock);
    HASH_FIND_INT(table->entries, &tid, entry);
    ran = (entry && entry->thread.record->start_ticks == start_ticks) ||
          has_departed(&table->departed[0], tid, start_ticks) ||
          has_departed(&table->departed[1], tid, start_ticks);
    pthread_mutex_unlock(&table->lock);
    return ran;
}

struct hook_times kernel_thread_table__hook_times(struct kernel_thread_table *table)
{
    struct kernel_thread_entry *entry, *next;
    struct hook_times sum;

    pthread_mutex_lock(&table->lock);
    sum = table->times;
    HASH_ITER (hh, table->entries, entry, next)
        hook_times__add(&sum, &entry->thread.times);
    pthread_mutex_unlock(&table->lock);
    return sum;
}

void kernel_thread_table__sweep(struct kernel_thread_table *table)
{
    pthread_mutex_lock(&table->lock);
    table->departed[1] = table->departed[0];
    table->departed[0].count = 0;
    if (table->ended)
        sweep(table);
    pthread_mutex_unlock(&table->lock);
}

void kernel_thread_table__abandon(struct kernel_thread_table *table)
{
    if (pthread_getspecific(table->at_thread_end))
        pthread_setspecific(table->at_thread_end, NULL);
}

bool kernel_thread_table__place(struct kernel_thread_table *table, pid_t tid,
                                struct kernel_thread_place *place)
{
    struct kernel_thread_entry *entry;
    bool runs = false;

    pthread_mutex_lock(&table->lock);
    HASH_FIND_INT(table->entries, &tid, entry);
    if (entry && !__atomic_load_n(&entry->thread.idle, __ATOMIC_ACQUIRE)) {
        const struct ledger_kernel_thread *record = entry->thread.record;

        place->host = entry->thread.host;
        place->thread = __atomic_load_n(&record->thread, __ATOMIC_ACQUIRE);
        place->node = __atomic_load_n(&record->current, __ATOMIC_ACQUIRE);
        runs = place->thread && place->node;
    }
    pthread_mutex_unlock(&table->lock);
    return runs;
}

void kernel_thread_table__visit(struct kernel_thread_table *table, pid_t tid,
                                void (*visit)(struct kernel_thread *kernel_thread, void *context),
                                void *context)
{
    struct kernel_thread_entry *entry;

    pthread_mutex_lock(&table->lock);
    HASH_FIND_INT(table->entries, &tid, entry);
    if (entry && !entry->ended)
        visit(&entry->thread, context);
    pthread_mutex_unlock(&table->lock);
}

bool kernel_thread_table__absent(struct kernel_thread_table *table, pid_t tid,
                                 struct absent_place *place)
{
    struct kernel_thread_entry *entry;
    bool absent;

    pthread_mutex_lock(&table->lock);
    HASH_FIND_INT(table->entries, &tid, entry);
    absent = entry && entry->absent && entry->thread.record->thread;
    if (absent)
        *place = (struct absent_place){.thread = entry->thread.record->thread,
                                       .node = entry->thread.record->current,
                                       .charged_ns = entry->thread.record->charged_cpu_ns,
                                       .unprofiled = entry->thread.unprofiled};
    pthread_mutex_unlock(&table->lock);
    return absent;
}
