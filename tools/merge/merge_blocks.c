#include "tools/merge/merge_parts.h"

static void copy_path(const struct merge_input *input, const ledger_ref from[BLOCK_FRAMES],
                      ledger_ref to[BLOCK_FRAMES])
{
    unsigned frames = 0;

    for (unsigned i = 0; i < BLOCK_FRAMES; i++) {
        ledger_ref method = merge__method(input, from[i]);

        if (method)
            to[frames++] = method;
    }
    while (frames < BLOCK_FRAMES)
        to[frames++] = 0;
}

/* Blocks of different inputs stay apart. A report has one row for two locks of different processes
 * only if they have the same class and the same identity hash. */
static void copy_block(struct ledger_merge *merge, struct merge_input *input, ledger_ref ref)
{
    const struct ledger_block *record = ledger_reader__block(input->reader, ref);
    ledger_ref to;

    if (!record->key)
        return;
    to = merge__take(merge, LEDGER_BLOCKS, sizeof(*record));
    if (!to)
        return;
    struct ledger_block *block = ledger__at(&merge->ledger, to);
    *block = *record;
    block->class_name = merge__string(merge, input, record->class_name, ref);
    block->waiter = merge__prefixed(merge, input, record->waiter, ref);
    block->holder = record->holder ? merge__prefixed(merge, input, record->holder, ref) : 0;
    copy_path(input, record->waiter_path, block->waiter_path);
    copy_path(input, record->holder_path, block->holder_path);
    input->to[ref] = to;
}

/* A wait that was under way at the input's end is over in the merge. */
static void end_wait(struct ledger_merge *merge, const struct merge_input *input,
                     const struct ledger_thread *record)
{
    uint64_t wait_ns =
        input->asof_ns > record->blocked_ns ? input->asof_ns - record->blocked_ns : 0;
    struct ledger_block *block;
    unsigned bucket = 0;

    if (!record->kind || record->end_ns || !ledger_reader__block(input->reader, record->block) ||
        !input->to[record->block])
        return;
    block = ledger__at(&merge->ledger, input->to[record->block]);
    while (bucket < BLOCK_BUCKETS - 1 && wait_ns / 1000 >> bucket)
        bucket++;
    block->count++;
    block->wait_ns += wait_ns;
    block->wait_max_ns = wait_ns > block->wait_max_ns ? wait_ns : block->wait_max_ns;
    block->waits[bucket]++;
}

void merge_blocks__add(struct ledger_merge *merge, struct merge_input *input)
{
    ledger_ref ref = 0;

    while ((ref = ledger_reader__next(input->reader, LEDGER_BLOCKS, ref)) != 0 && !merge->full)
        copy_block(merge, input, ref);
    while ((ref = ledger_reader__next(input->reader, LEDGER_THREADS, ref)) != 0 && !merge->full)
        end_wait(merge, input, ledger_reader__thread(input->reader, ref));
}
