#include "tools/report/report_locks.h"

#include "tools/report/index_table.h"
#include "tools/report/memory.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#define P99_OF 100u

static bool counts(const struct report_block *block, const char *glob)
{
    return block->count && (!glob || fnmatch(glob, block->waiter.bytes, 0) == 0);
}

static void add_path(struct lock_paths *paths, const struct report_path *path, bool is_known,
                     uint64_t ns)
{
    paths->paths =
        memory__grown(paths->paths, &paths->room, paths->count + 1, sizeof(*paths->paths));
    paths->paths[paths->count++] = (struct lock_path){*path, is_known, ns};
}

static uint64_t larger(uint64_t x, uint64_t y)
{
    return x > y ? x : y;
}

static void add_block(struct report_lock *lock, const struct report_block *block)
{
    lock->contentions += block->count;
    lock->wait_ns += block->wait_ns;
    lock->wait_max_ns = larger(lock->wait_max_ns, block->wait_max_ns);
    lock->blocked_ns += block->hold_ns;
    lock->blocked_max_ns = larger(lock->blocked_max_ns, block->hold_max_ns);
    lock->owner_unknown += block->holder_known ? 0 : block->count;
    if (block->depth_max > lock->depth_max)
        lock->depth_max = block->depth_max;
    for (unsigned i = 0; i < BLOCK_BUCKETS; i++)
        lock->waits[i] += block->waits[i];
    add_path(&lock->waiters, &block->waiter_path, true, block->wait_ns);
    add_path(&lock->blockers, &block->holder_path, block->holder_known, block->hold_ns);
}

static void add_hold(struct report_lock *lock, const struct report_block *hold)
{
    lock->holds += hold->count;
    lock->hold_ns += hold->wait_ns;
    lock->hold_max_ns = larger(lock->hold_max_ns, hold->wait_max_ns);
    for (unsigned i = 0; i < BLOCK_BUCKETS; i++)
        lock->held[i] += hold->waits[i];
    add_path(&lock->holders, &hold->waiter_path, true, hold->wait_ns);
}

static uint64_t p99_of(const uint64_t buckets[BLOCK_BUCKETS], uint64_t count, uint64_t longest_ns)
{
    uint64_t below = 0, p99_ns;
    unsigned bucket = 0;

    for (; bucket < BLOCK_BUCKETS - 1; bucket++) {
        below += buckets[bucket];
        if ((count - below) * P99_OF <= count)
            break;
    }
    p99_ns = UINT64_C(1000) << bucket;
    return bucket == BLOCK_BUCKETS - 1 || p99_ns > longest_ns ? longest_ns : p99_ns;
}

static uint64_t hash_of(const struct report_block *block)
{
    return index_table__hash_bytes(block->identity, block->class_name.bytes,
                                   block->class_name.length);
}

/* NULL: there is none yet. */
static struct report_lock *find_lock(const struct report_locks *locks,
                                     const struct index_table *table,
                                     const struct report_block *block)
{
    uint64_t hash = hash_of(block);
    size_t probe = 0;
    uint32_t index;

    while ((index = index_table__next(table, hash, &probe)) != INDEX_TABLE_NONE) {
        struct report_lock *lock = &locks->locks[index];

        if (lock->identity == block->identity && lock->kind == block->kind &&
            text__compare(lock->class_name, block->class_name) == 0)
            return lock;
    }
    return NULL;
}

static struct report_lock *lock_of(struct report_locks *locks, struct index_table *table,
                                   const struct report_block *block)
{
    struct report_lock *found = find_lock(locks, table, block);

    if (found)
        return found;
    index_table__add(table, hash_of(block), locks->count);
    locks->locks[locks->count] = (struct report_lock){
        .class_name = block->class_name, .identity = block->identity, .kind = block->kind};
    return &locks->locks[locks->count++];
}

/* Which of its blocks counts them says nothing of that block. lock NULL: it is not shown. */
static void add_acquisitions(struct report_lock *lock, const struct report_block *block)
{
    if (lock)
        lock->acquisitions += block->acquisitions;
}

/* The larger first. */
static int descending(uint64_t x, uint64_t y)
{
    return (x < y) - (x > y);
}

static int by_path(const void *a, const void *b)
{
    const struct lock_path *x = a, *y = b;
    const struct report_path *left = &x->path, *right = &y->path;
    int order = (int)y->is_known - (int)x->is_known;

    for (uint32_t i = 0; !order && i < left->frames && i < right->frames; i++)
        order = (left->methods[i] > right->methods[i]) - (left->methods[i] < right->methods[i]);
    return order ? order : (left->frames > right->frames) - (left->frames < right->frames);
}

static int by_time(const void *a, const void *b)
{
    const struct lock_path *x = a, *y = b;
    int order = descending(x->ns, y->ns);

    return order ? order : by_path(a, b);
}

/* Equal paths become one. */
static void join_paths(struct lock_paths *paths)
{
    uint32_t kept = 0;

    if (!paths->count)
        return;
    qsort(paths->paths, paths->count, sizeof(*paths->paths), by_path);
    for (uint32_t i = 0; i < paths->count; i++)
        if (kept && by_path(&paths->paths[kept - 1], &paths->paths[i]) == 0)
            paths->paths[kept - 1].ns += paths->paths[i].ns;
        else
            paths->paths[kept++] = paths->paths[i];
    paths->count = kept;
    qsort(paths->paths, paths->count, sizeof(*paths->paths), by_time);
}

static int by_lock(const void *a, const void *b, void *context)
{
    const struct report_lock *x = a, *y = b;
    const char *sort = context;
    int order = 0;

    if (strcmp(sort, "hold") == 0)
        order = descending(x->hold_ns, y->hold_ns);
    else if (strcmp(sort, "blocked") == 0)
        order = descending(x->blocked_ns, y->blocked_ns);
    else if (strcmp(sort, "count") == 0)
        order = descending(x->contentions, y->contentions);
    else if (strcmp(sort, "max") == 0)
        order = descending(x->wait_max_ns, y->wait_max_ns);
    else if (strcmp(sort, "wait") == 0)
        order = descending(x->wait_ns, y->wait_ns);
    if (!order)
        order = text__compare(x->class_name, y->class_name);
    if (!order)
        order = (x->identity > y->identity) - (x->identity < y->identity);
    return order ? order : (x->kind > y->kind) - (x->kind < y->kind);
}

struct report_locks *report_locks__new(const struct report_model *model, const char *glob,
                                       const char *sort)
{
    struct report_locks *locks = memory__zeroed(1, sizeof(*locks));
    struct index_table table = {0};

    locks->locks = memory__zeroed(model->block_count + model->hold_count, sizeof(*locks->locks));
    for (uint32_t i = 0; i < model->block_count; i++)
        if (counts(&model->blocks[i], glob))
            add_block(lock_of(locks, &table, &model->blocks[i]), &model->blocks[i]);
    for (uint32_t i = 0; i < model->hold_count; i++)
        if (counts(&model->holds[i], glob))
            add_hold(lock_of(locks, &table, &model->holds[i]), &model->holds[i]);
    for (uint32_t i = 0; i < model->block_count && !glob; i++)
        add_acquisitions(find_lock(locks, &table, &model->blocks[i]), &model->blocks[i]);
    for (uint32_t i = 0; i < locks->count; i++) {
        struct report_lock *lock = &locks->locks[i];

        lock->wait_p99_ns = p99_of(lock->waits, lock->contentions, lock->wait_max_ns);
        lock->hold_p99_ns = p99_of(lock->held, lock->holds, lock->hold_max_ns);
        join_paths(&lock->waiters);
        join_paths(&lock->holders);
        join_paths(&lock->blockers);
    }
    qsort_r(locks->locks, locks->count, sizeof(*locks->locks), by_lock,
            (void *)(uintptr_t)(sort ? sort : "wait"));
    index_table__release(&table);
    return locks;
}

void report_locks__free(struct report_locks *locks)
{
    for (uint32_t i = 0; i < locks->count; i++) {
        free(locks->locks[i].waiters.paths);
        free(locks->locks[i].holders.paths);
        free(locks->locks[i].blockers.paths);
    }
    free(locks->locks);
    free(locks);
}

static struct report_edge *find_edge(struct report_edges *edges, struct index_table *table,
                                     const struct report_edge *like)
{
    uint64_t hash =
        index_table__hash_bytes(like->blocker_known, like->waiter.bytes, like->waiter.length);
    size_t probe = 0;
    uint32_t index;

    hash = index_table__hash_bytes(hash, like->blocker.bytes, like->blocker.length);
    hash = index_table__hash_bytes(hash, like->lock.bytes, like->lock.length);
    while ((index = index_table__next(table, hash, &probe)) != INDEX_TABLE_NONE) {
        struct report_edge *edge = &edges->edges[index];

        if (edge->blocker_known == like->blocker_known &&
            text__compare(edge->waiter, like->waiter) == 0 &&
            text__compare(edge->blocker, like->blocker) == 0 &&
            text__compare(edge->lock, like->lock) == 0)
            return edge;
    }
    index_table__add(table, hash, edges->count);
    edges->edges[edges->count] = *like;
    return &edges->edges[edges->count++];
}

static int by_edge(const void *a, const void *b, void *context)
{
    const struct report_edge *x = a, *y = b;
    const char *sort = context;
    int order = 0;

    if (strcmp(sort, "count") == 0)
        order = descending(x->count, y->count);
    else if (strcmp(sort, "blocker") == 0)
        order = text__compare(x->blocker, y->blocker);
    else if (strcmp(sort, "lock") == 0)
        order = text__compare(x->lock, y->lock);
    else if (strcmp(sort, "wait") == 0)
        order = descending(x->wait_ns, y->wait_ns);
    if (!order)
        order = text__compare(x->waiter, y->waiter);
    if (!order)
        order = text__compare(x->blocker, y->blocker);
    return order ? order : text__compare(x->lock, y->lock);
}

struct report_edges *report_edges__new(const struct report_model *model, const char *glob,
                                       const char *sort, bool fold)
{
    struct report_edges *edges = memory__zeroed(1, sizeof(*edges));
    struct index_table table = {0};

    edges->edges = memory__zeroed(model->block_count, sizeof(*edges->edges));
    for (uint32_t i = 0; i < model->block_count; i++) {
        const struct report_block *block = &model->blocks[i];
        struct report_edge like = {.waiter = block->waiter,
                                   .blocker = block->holder,
                                   .blocker_known = block->holder_known,
                                   .lock = block->class_name};
        struct report_edge *edge;

        if (!counts(block, glob))
            continue;
        if (fold) {
            like.waiter = text__with_digits_folded(&edges->texts, like.waiter);
            like.blocker = text__with_digits_folded(&edges->texts, like.blocker);
        }
        edge = find_edge(edges, &table, &like);
        edge->count += block->count;
        edge->wait_ns += block->wait_ns;
    }
    qsort_r(edges->edges, edges->count, sizeof(*edges->edges), by_edge,
            (void *)(uintptr_t)(sort ? sort : "wait"));
    index_table__release(&table);
    return edges;
}

void report_edges__free(struct report_edges *edges)
{
    text_store__release(&edges->texts);
    free(edges->edges);
    free(edges);
}
