#include "native/thread/thread_parts.h"

#include "native/thread/open_calls.h"

#define PATH_STEPS 100000u /* nodes that are looked at in search of logical frames */

static ledger_ref name_of(const struct ledger *ledger, const struct ledger_thread *thread)
{
    const struct ledger_rename *rename = ledger__at(ledger, thread->renames);

    return thread->renames ? rename->name : thread->name;
}

/* The logical frames of the current path. */
static void describe_path(const struct call_tree *tree, struct ledger_part *part)
{
    const struct ledger_node *node = tree->current;

    for (unsigned steps = 0; node && steps < PATH_STEPS; steps++) {
        if (ledger_key__is_logical(node->key)) {
            if (part->depth < PART_FRAMES)
                part->path[part->depth] = node->method;
            part->depth++;
        }
        node = node->parent ? call_tree__node(tree, node->parent) : NULL;
    }
}

bool thread_parts__begin(struct kernel_thread *mine, struct chain_parts *parts,
                         const uint64_t id[2], uint32_t flags, uint64_t token)
{
    const struct ledger *ledger = mine->setup->ledger;
    struct ledger_part part = {
        .id = {id[0], id[1]},
        .begin_ns = clock_ns(CLOCK_MONOTONIC),
        .java_id = mine->thread->java_id,
        .tid = mine->record->tid,
        .pid = ledger->header->pid,
        .flags = flags | (mine->thread->kind == THREAD_VIRTUAL ? PART_VIRTUAL : 0),
        .thread = name_of(ledger, mine->thread),
    };

    describe_path(&mine->tree, &part);
    return open_calls__begin_part(mine, parts, &part, token);
}
