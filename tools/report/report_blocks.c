#include "tools/report/report_blocks.h"

#include "tools/report/loader.h"
#include "tools/report/memory.h"

#include <stdlib.h>

bool report_blocks__are_known(const struct ledger_header *header)
{
    return header->metrics_charged >> METRIC_MONITOR_WAIT & 1;
}

/* Methods that the ledger lost are left out. */
static struct report_path load_path(const struct loader *loader,
                                    const ledger_ref innermost[BLOCK_FRAMES])
{
    struct report_path path = {.frames = 0};

    for (unsigned i = BLOCK_FRAMES; i-- > 0;) {
        uint32_t method = ledger_reader__method(loader->reader, innermost[i])
                              ? loader__index_or_none(loader, innermost[i])
                              : REPORT_NONE;

        if (method != REPORT_NONE)
            path.methods[path.frames++] = method;
    }
    return path;
}

enum ledger_block_kind lock_kind__of(uint32_t kind)
{
    switch (kind) {
    case BLOCK_PARK:
    case BLOCK_HELD_PARK:
        return BLOCK_PARK;
    case BLOCK_NATIVE:
    case BLOCK_HELD_NATIVE:
        return BLOCK_NATIVE;
    default:
        return BLOCK_MONITOR;
    }
}

const char *lock_kind__name(enum ledger_block_kind kind)
{
    return kind == BLOCK_PARK ? "park" : kind == BLOCK_NATIVE ? "native" : "monitor";
}

static void load_block(struct loader *loader, ledger_ref ref, struct report_block *block)
{
    const struct ledger_block *record = ledger_reader__block(loader->reader, ref);

    *block = (struct report_block){
        .ref = ref,
        .key = record->key,
        .identity = record->identity,
        .kind = lock_kind__of(record->kind),
        .holder_known = record->holder != 0,
        .waiter_path = load_path(loader, record->waiter_path),
        .holder_path = load_path(loader, record->holder_path),
        .waiter_priority = record->waiter_priority,
        .holder_priority = record->holder_priority,
        .count = record->count,
        .wait_ns = record->wait_ns,
        .wait_max_ns = record->wait_max_ns,
        .hold_ns = record->hold_ns,
        .hold_max_ns = record->hold_max_ns,
        .acquisitions = record->acquisitions,
        .depth_max = record->depth_max,
    };
    block->class_name = loader__text(loader, record->class_name, ref);
    block->waiter = loader__text(loader, record->waiter, ref);
    block->holder = loader__text(loader, record->holder, ref);
    for (unsigned i = 0; i < BLOCK_BUCKETS; i++)
        block->waits[i] = record->waits[i];
}

static int by_ref(const void *a, const void *b)
{
    const struct report_block *x = a, *y = b;

    return (x->ref > y->ref) - (x->ref < y->ref);
}

static struct report_block *find_among(struct report_block *blocks, uint32_t count, ledger_ref ref)
{
    const struct report_block like = {.ref = ref};

    return count ? bsearch(&like, blocks, count, sizeof(like), by_ref) : NULL;
}

static struct report_block *find(const struct report_model *model, ledger_ref ref)
{
    return find_among(model->blocks, model->block_count, ref);
}

const struct report_block *report_blocks__find(const struct report_model *model, ledger_ref ref)
{
    return ref ? find(model, ref) : NULL;
}

/* As lock_blocks.c counts one that is over. */
static void add_wait(struct report_block *block, uint64_t wait_ns)
{
    unsigned bucket = 0;

    while (bucket < BLOCK_BUCKETS - 1 && wait_ns / 1000 >> bucket)
        bucket++;
    block->count++;
    block->wait_ns += wait_ns;
    if (wait_ns > block->wait_max_ns)
        block->wait_max_ns = wait_ns;
    block->waits[bucket]++;
}

static void add_unfinished(struct loader *loader)
{
    uint64_t asof_ns = report_model__profiled_to_ns(loader->model);
    ledger_ref ref = 0;

    while ((ref = ledger_reader__next(loader->reader, LEDGER_THREADS, ref)) != 0) {
        const struct ledger_thread *thread = ledger_reader__thread(loader->reader, ref);
        struct report_block *block = find(loader->model, thread->block);

        if (block && thread->kind && !thread->end_ns)
            add_wait(block, asof_ns > thread->blocked_ns ? asof_ns - thread->blocked_ns : 0);
    }
}

static bool is_hold(const struct ledger_block *block)
{
    return block->kind == BLOCK_HELD_MONITOR || block->kind == BLOCK_HELD_PARK ||
           block->kind == BLOCK_HELD_NATIVE;
}

void loader__load_blocks(struct loader *loader)
{
    struct report_model *model = loader->model;
    ledger_ref last = 0, ref = 0;
    uint32_t count = loader__count_records(loader, LEDGER_BLOCKS, &last);

    model->blocks = memory__zeroed(count, sizeof(*model->blocks));
    model->holds = memory__zeroed(count, sizeof(*model->holds));
    while ((ref = ledger_reader__next(loader->reader, LEDGER_BLOCKS, ref)) != 0) {
        const struct ledger_block *record = ledger_reader__block(loader->reader, ref);

        if (record->key && is_hold(record))
            load_block(loader, ref, &model->holds[model->hold_count++]);
        else if (record->key)
            load_block(loader, ref, &model->blocks[model->block_count++]);
    }
    add_unfinished(loader);
}

static uint64_t growth(uint64_t now, uint64_t before)
{
    return now > before ? now - before : 0;
}

static void subtract(struct report_block *blocks, uint32_t count, const struct report_block *before,
                     uint32_t before_count)
{
    for (uint32_t i = 0; i < before_count; i++) {
        const struct report_block *old = &before[i];
        struct report_block *block = find_among(blocks, count, old->ref);

        if (!block || block->key != old->key)
            continue;
        block->count = growth(block->count, old->count);
        block->wait_ns = growth(block->wait_ns, old->wait_ns);
        block->hold_ns = growth(block->hold_ns, old->hold_ns);
        block->acquisitions = growth(block->acquisitions, old->acquisitions);
        for (unsigned bucket = 0; bucket < BLOCK_BUCKETS; bucket++)
            block->waits[bucket] = growth(block->waits[bucket], old->waits[bucket]);
    }
}

void report_blocks__subtract(struct report_model *model, const struct report_model *before)
{
    subtract(model->blocks, model->block_count, before->blocks, before->block_count);
    subtract(model->holds, model->hold_count, before->holds, before->hold_count);
}
