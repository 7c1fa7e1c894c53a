/* How frames end: by the key of the method that is left, or by the token of a frame. */
#include "native/tree/call_tree.h"
#include "native/tree/folded_calls.h"

/* The youngest `count` calls without room for a node are over. */
static void end_folded(struct call_tree *tree, uint64_t count)
{
    folded_calls__end(tree, tree->lost_depth & ~CALL_TREE_FLAGS, count);
    tree->lost_depth -= count;
}

void call_tree__go_back(struct call_tree *tree)
{
    const struct ledger_node *node = tree->current;

    if (!(tree->lost_depth & CALL_TREE_FOLDED)) {
        tree->current = call_tree__node(tree, node->parent);
        return;
    }
    if (tree->returns.above) {
        tree->returns.above--;
        tree->current = call_tree__node(tree, node->parent);
        return;
    }
    tree->current = call_tree__node(tree, return_stack__pop(&tree->pool, &tree->returns));
    for (const struct ledger_node *left = tree->current; left->method;
         left = call_tree__node(tree, left->parent)) {
        left_frames__take(&tree->left, left->key);
        if (left == node)
            break;
    }
    if (return_stack__is_empty(&tree->returns))
        call_tree__forget_returns(tree);
}

bool call_tree__leave_floor(struct call_tree *tree, uint64_t key)
{
    if ((tree->lost_depth & ~CALL_TREE_FOLDED) != CALL_TREE_ON_FLOOR || tree->current->key != key)
        return false;
    call_tree__go_back(tree);
    tree->token--;
    tree->floor--;
    if (!tree->floor)
        tree->lost_depth &= CALL_TREE_FOLDED;
    return true;
}

static bool is_seed(const struct call_tree *tree, const struct ledger_node *node)
{
    return tree->floor && node == call_tree__node(tree, (ledger_ref)tree->floor);
}

/* The node of the frame below that of `node`; below: the returns at that frame, then at the next.
 */
static const struct ledger_node *caller_of(const struct call_tree *tree,
                                           const struct ledger_node *node,
                                           struct ledger_returns *below)
{
    if (!return_stack__is_empty(below) && !below->above)
        return call_tree__node(tree, return_stack__look_below(tree->ledger, below));
    below->above -= below->above != 0;
    return call_tree__node(tree, node->parent);
}

/* Counts the frames above the youngest frame of the method, or above that at the given node;
 * *was_seed says whether one of them or that frame is a seed. False: there is no such frame. */
static bool find_frame(const struct call_tree *tree, uint64_t key, const struct ledger_node *at,
                       uint64_t *above, bool *was_seed)
{
    const struct ledger_node *node = tree->current;
    struct ledger_returns below = tree->returns;

    *above = 0;
    *was_seed = is_seed(tree, node);
    for (; node->method && (at ? node != at : node->key != key); ++*above) {
        node = caller_of(tree, node, &below);
        *was_seed |= is_seed(tree, node);
    }
    return node->method != 0;
}

/* Calls without room for a node are the youngest. */
bool call_tree__stands(const struct call_tree *tree, uint64_t token, const struct ledger_node *node,
                       uint64_t most)
{
    uint64_t lost = tree->lost_depth & ~CALL_TREE_FLAGS, above;
    const struct ledger_node *at = tree->current;
    struct ledger_returns below = tree->returns;

    if ((token ^ tree->token) >> 32 || token >= tree->token)
        return false;
    above = tree->token - token - 1;
    if (above < lost)
        return node == at || folded_calls__has(tree, ledger__ref(tree->ledger, node));
    if (lost && tree->thread && tree->thread->folded_depth)
        at = call_tree__node(tree, tree->thread->folded_below);
    for (uint64_t step = 0; at->method && step <= above - lost && step < most; step++) {
        if (at == node)
            return true;
        at = caller_of(tree, at, &below);
    }
    return false;
}

static void go_back_many(struct call_tree *tree, uint64_t frames, bool was_seed)
{
    for (; frames; frames--)
        call_tree__go_back(tree);
    if (was_seed)
        tree->floor = tree->current->method ? ledger__ref(tree->ledger, tree->current) : 0;
    tree->unsure = false;
}

bool call_tree__leave_node(struct call_tree *tree, ledger_ref node)
{
    const struct ledger_node *at = call_tree__node(tree, node);
    bool was_seed, found;
    uint64_t above;

    if (tree->lost_depth & ~CALL_TREE_FLAGS) {
        end_folded(tree, 1);
        return true;
    }
    found = node && find_frame(tree, 0, at, &above, &was_seed);
    if (!tree->unsure && (!found || above))
        ledger__count(&tree->ledger->header->resynchronised, 1);
    if (found)
        go_back_many(tree, above + 1, was_seed);
    return found;
}

void call_tree__leave_slowly(struct call_tree *tree, uint64_t key)
{
    bool was_seed, found;
    uint64_t above;

    if (tree->lost_depth & ~CALL_TREE_FLAGS) {
        end_folded(tree, 1);
        return;
    }
    if (tree->current->key != key && call_tree__leaves_out(tree, key))
        return;
    found = find_frame(tree, key, NULL, &above, &was_seed);
    if (!tree->unsure && (above || !found))
        ledger__count(&tree->ledger->header->resynchronised, 1);
    if (found)
        go_back_many(tree, above + 1, was_seed);
}

/* Goes up to where `token` is the next one. Missed exits are no loss: the frames are over, and
 * their calls were counted at entry. */
static void unwind(struct call_tree *tree, uint64_t token)
{
    bool has_floor = tree->floor != 0;
    uint64_t depth = (uint32_t)token, frames, lost = tree->lost_depth & ~CALL_TREE_FLAGS;

    /* No frame has the depth that push_from_floor leaves out. */
    if (has_floor && depth == tree->floor + 1)
        token++;
    if ((token ^ tree->token) >> 32 || token >= tree->token || depth < tree->floor)
        return;
    frames = tree->token - token - (has_floor && depth <= tree->floor);
    lost = frames < lost ? frames : lost;
    tree->token = token;
    if (lost)
        end_folded(tree, lost);
    for (uint64_t left = frames - lost; left && tree->current->method; left--)
        call_tree__go_back(tree);
    if (has_floor && depth == tree->floor)
        tree->lost_depth |= CALL_TREE_ON_FLOOR;
}

void call_tree__pop_slowly(struct call_tree *tree, uint64_t token)
{
    unwind(tree, token);
}

/* The next token, had the frames ended that stand above the logical ones right above the frame
 * whose callee would get `token`: the frame itself has pushed these. */
static uint64_t above_logical(const struct call_tree *tree, uint64_t token)
{
    uint64_t lost = tree->lost_depth & ~CALL_TREE_FLAGS, kept, frames;
    const struct ledger_node *node = tree->current;
    struct ledger_returns below = tree->returns;

    if (tree->floor && (uint32_t)token == tree->floor + 1)
        token++;
    if ((token ^ tree->token) >> 32 || token + lost >= tree->token)
        return token;
    kept = frames = tree->token - token - lost;
    for (; frames && node->method; frames--) {
        if (!ledger_key__is_logical(node->key))
            kept = frames - 1;
        node = caller_of(tree, node, &below);
    }
    return token + kept;
}

void call_tree__catch_slowly(struct call_tree *tree, uint64_t token)
{
    unwind(tree, above_logical(tree, token + 1));
}
