#include "agent/threads/java_thread_table.h"

#include "native/hash_table.h"

#include <stdbool.h>
#include <stdlib.h>

struct java_thread_entry {
    uint64_t id;
    ledger_ref thread; /* none until it runs */
    struct java_thread_origin origin;
    UT_hash_handle hh;
};

void java_thread_table__init(struct java_thread_table *table)
{
    pthread_mutex_init(&table->lock, NULL);
    table->entries = NULL;
}

/* Under the lock. */
static struct java_thread_entry *find(struct java_thread_table *table, uint64_t id)
{
    struct java_thread_entry *entry;

    HASH_FIND(hh, table->entries, &id, sizeof(id), entry);
    return entry;
}

/* Under the lock. NULL if memory is short. */
static struct java_thread_entry *find_or_add(struct java_thread_table *table, uint64_t id)
{
    struct java_thread_entry *entry = find(table, id);

    if (entry)
        return entry;
    entry = calloc(1, sizeof(*entry));
    if (!entry)
        return NULL;
    entry->id = id;
    HASH_ADD(hh, table->entries, id, sizeof(entry->id), entry);
    if (!entry->hh.tbl) {
        free(entry);
        return NULL;
    }
    return entry;
}

static void drop(struct java_thread_table *table, uint64_t id, bool only_unstarted)
{
    struct java_thread_entry *entry;

    pthread_mutex_lock(&table->lock);
    entry = find(table, id);
    if (entry && !(only_unstarted && entry->thread)) {
        HASH_DEL(table->entries, entry);
        free(entry);
    }
    pthread_mutex_unlock(&table->lock);
}

void java_thread_table__starting(struct java_thread_table *table, uint64_t id,
                                 struct java_thread_origin origin)
{
    struct java_thread_entry *entry;

    pthread_mutex_lock(&table->lock);
    entry = find_or_add(table, id);
    if (entry && !entry->thread)
        entry->origin = origin;
    pthread_mutex_unlock(&table->lock);
}

void java_thread_table__not_started(struct java_thread_table *table, uint64_t id)
{
    drop(table, id, true);
}

struct java_thread_origin java_thread_table__origin(struct java_thread_table *table, uint64_t id)
{
    struct java_thread_origin origin = {0, 0};
    struct java_thread_entry *entry;

    pthread_mutex_lock(&table->lock);
    entry = find(table, id);
    if (entry)
        origin = entry->origin;
    pthread_mutex_unlock(&table->lock);
    return origin;
}

void java_thread_table__started(struct java_thread_table *table, uint64_t id, ledger_ref thread)
{
    struct java_thread_entry *entry;

    pthread_mutex_lock(&table->lock);
    entry = find_or_add(table, id);
    if (entry)
        entry->thread = thread;
    pthread_mutex_unlock(&table->lock);
}

void java_thread_table__ended(struct java_thread_table *table, uint64_t id)
{
    drop(table, id, false);
}

ledger_ref java_thread_table__find(struct java_thread_table *table, uint64_t id)
{
    struct java_thread_entry *entry;
    ledger_ref thread;

    pthread_mutex_lock(&table->lock);
    entry = find(table, id);
    thread = entry ? entry->thread : 0;
    pthread_mutex_unlock(&table->lock);
    return thread;
}
