#include "native/tree/sampled_path.h"

#include <string.h>

static struct ledger_node *node_at(const struct sampled_path *path, ledger_ref ref)
{
    return ledger__at(path->pool->ledger, ref);
}

void sampled_path__begin(struct sampled_path *path, struct record_pool *pool, ledger_ref base)
{
    path->pool = pool;
    path->base = path->node = base;
    path->is_folded = false;
    path->fold_count = 0;
    memset(path->seen, 0, sizeof(path->seen));
}

/* Frames that were folded leave their bits behind: a bit says that the path may have the method. */
static bool may_be_on_path(struct sampled_path *path, ledger_ref method)
{
    uint64_t *word = &path->seen[method / 64 % SAMPLED_PATH_SEEN_WORDS], bit = 1ull << method % 64;
    bool was_set = (*word & bit) != 0;

    *word |= bit;
    return was_set;
}

/* The node that has the frame, too; or none. */
static ledger_ref fold_target(const struct sampled_path *path, enum ledger_node_kind kind,
                              ledger_ref method)
{
    uint32_t levels = path->pool->ledger->header->recursion;
    ledger_ref nearest = 0;

    for (ledger_ref ref = path->node; ref != path->base; ref = node_at(path, ref)->parent) {
        const struct ledger_node *node = node_at(path, ref);

        if (node->method != method || ledger_node__kind(node) != (uint32_t)kind)
            continue;
        nearest = nearest ? nearest : ref;
        if (--levels == 0)
            return nearest;
    }
    return 0;
}

static void note_fold(struct sampled_path *path, ledger_ref node)
{
    uint32_t i = 0;

    while (i < path->fold_count && path->folds[i].node != node)
        i++;
    if (i == SAMPLED_PATH_FOLDS_MOST)
        return;
    if (i == path->fold_count) {
        path->folds[i].node = node;
        path->folds[i].frames = 0;
        path->fold_count++;
    }
    path->folds[i].frames++;
    ledger_node__raise_level(node_at(path, node), path->folds[i].frames);
}

ledger_ref sampled_path__call(struct sampled_path *path, enum ledger_node_kind kind,
                              ledger_ref method)
{
    bool folds = method && path->pool->ledger->header->recursion && may_be_on_path(path, method);
    ledger_ref target = folds ? fold_target(path, kind, method) : 0;

    path->is_folded = target != 0;
    if (target)
        note_fold(path, target);
    path->node = target ? target : sample_tree__child(path->pool, path->node, kind, method, false);
    return path->node;
}
