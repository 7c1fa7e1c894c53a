/*
 * The way of one sample's frames into the tree, from an exact node up to the top frame. Recursion
 * is folded as among exact nodes (recursion=N): if the path has a frame's function N times above
 * the exact node already, the frame is that of the nearest such node, and what it calls hangs below
 * that node. So a tree is no deeper than its functions are many.
 *
 * For the writer of sampled nodes, see sample_tree.h. Does not allocate, lock or block.
 */
#ifndef TREADLE_SAMPLED_PATH_H
#define TREADLE_SAMPLED_PATH_H

#include "native/tree/sample_tree.h"

#define SAMPLED_PATH_SEEN_WORDS 64u
#define SAMPLED_PATH_FOLDS_MOST 16u

struct sampled_path {
    struct record_pool *pool;
    ledger_ref base;
    ledger_ref node;                        /* of the last frame; `base` before the first one */
    bool is_folded;                         /* the last frame came back to a node of the path */
    uint64_t seen[SAMPLED_PATH_SEEN_WORDS]; /* a bit by a hash of each method on the path */
    struct {
        ledger_ref node;
        uint32_t frames; /* of deeper recursion: the node's level, which further nodes do not get */
    } folds[SAMPLED_PATH_FOLDS_MOST];
    uint32_t fold_count;
};

/* base: the exact node below which the frames lie. */
void sampled_path__begin(struct sampled_path *path, struct record_pool *pool, ledger_ref base);

/* The next frame, which the last one called. method: none for the kernel as a whole. Returns its
 * node, which is path->node now; none if the ledger is full. */
ledger_ref sampled_path__call(struct sampled_path *path, enum ledger_node_kind kind,
                              ledger_ref method);

#endif
