#include "tools/timeline/timeline_store.h"

#include "tools/report/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SWITCH_PART 2u /* of the bytes */

static void ring__begin(struct timeline_ring *ring, size_t item_bytes, uint64_t bytes)
{
    ring->item_bytes = item_bytes;
    ring->most = (size_t)(bytes / item_bytes);
    if (!ring->most)
        ring->most = 1;
}

void timeline_store__begin(struct timeline_store *store, uint64_t bytes)
{
    memset(store, 0, sizeof(*store));
    ring__begin(&store->switches, sizeof(struct timeline_switch), bytes / SWITCH_PART);
    ring__begin(&store->events, sizeof(struct timeline_event), bytes - bytes / SWITCH_PART);
}

void timeline_store__release(struct timeline_store *store)
{
    free(store->switches.items);
    free(store->events.items);
    free(store->waiting);
    free(store->tasks);
    index_table__release(&store->task_table);
    memset(store, 0, sizeof(*store));
}

static void ring__push(struct timeline_ring *ring, const void *item)
{
    size_t at = (size_t)(ring->pushed++ % ring->most);

    if (at >= ring->room && ring->room * 2 > ring->most) {
        ring->items = realloc(ring->items, ring->most * ring->item_bytes);
        ring->room = ring->most;
        if (!ring->items)
            ring->items = memory__grown(NULL, &(size_t){0}, ring->most, ring->item_bytes);
    } else if (at >= ring->room) {
        ring->items = memory__grown(ring->items, &ring->room, at + 1, ring->item_bytes);
    }
    memcpy((char *)ring->items + at * ring->item_bytes, item, ring->item_bytes);
}

void timeline_store__add_switch(struct timeline_store *store, const struct timeline_switch *one)
{
    ring__push(&store->switches, one);
}

void timeline_store__add_event(struct timeline_store *store, const struct timeline_event *event)
{
    if (event->kind >= TIMELINE_ON) {
        struct timeline_switch one = {.at_ns = event->at_ns,
                                      .tid = event->tid,
                                      .processor = event->reason,
                                      .kind = event->kind};

        timeline_store__add_switch(store, &one);
    } else {
        ring__push(&store->events, event);
    }
}

static struct timeline_task *find_task(const struct timeline_store *store, int32_t tid)
{
    uint64_t hash = index_table__hash_number(0, (uint32_t)tid);
    size_t probe = 0;
    uint32_t index;

    while ((index = index_table__next(&store->task_table, hash, &probe)) != INDEX_TABLE_NONE)
        if (store->tasks[index].tid == tid)
            return &store->tasks[index];
    return NULL;
}

void timeline_store__add_task(struct timeline_store *store, int32_t tid, const char *name,
                              uint64_t at_ns)
{
    struct timeline_task *task = find_task(store, tid);

    if (!task) {
        index_table__add(&store->task_table, index_table__hash_number(0, (uint32_t)tid),
                         (uint32_t)store->task_count);
        store->tasks = memory__grown(store->tasks, &store->task_room, store->task_count + 1,
                                     sizeof(*store->tasks));
        task = &store->tasks[store->task_count++];
        *task = (struct timeline_task){.tid = tid};
    }
    if (at_ns < task->since_ns)
        return;
    task->since_ns = at_ns;
    snprintf(task->name, sizeof(task->name), "%s", name);
}

uint64_t timeline_ring__overwritten(const struct timeline_ring *ring)
{
    return ring->pushed > ring->most ? ring->pushed - ring->most : 0;
}

static int compare(uint64_t x, uint64_t y)
{
    return (x > y) - (x < y);
}

static int by_time_of_switch(const void *a, const void *b)
{
    const struct timeline_switch *x = a, *y = b;

    return compare(x->at_ns, y->at_ns);
}

/* An event's sequence is its place here by now, so that those of the same time stay in order. */
static int by_time_of_event(const void *a, const void *b)
{
    const struct timeline_event *x = a, *y = b;
    int order = compare(x->at_ns, y->at_ns);

    return order ? order : compare(x->sequence, y->sequence);
}

static size_t ring__count(const struct timeline_ring *ring)
{
    return (size_t)(ring->pushed < ring->most ? ring->pushed : ring->most);
}

size_t timeline_store__sort_switches(struct timeline_store *store)
{
    size_t count = ring__count(&store->switches);

    if (count)
        qsort(store->switches.items, count, sizeof(struct timeline_switch), by_time_of_switch);
    return count;
}

size_t timeline_store__sort_events(struct timeline_store *store)
{
    size_t count = ring__count(&store->events);
    size_t oldest = (size_t)(timeline_ring__overwritten(&store->events) % store->events.most);
    struct timeline_event *events = store->events.items;

    for (size_t i = 0; i < count; i++)
        events[(oldest + i) % count].sequence = i;
    if (count)
        qsort(events, count, sizeof(*events), by_time_of_event);
    return count;
}
