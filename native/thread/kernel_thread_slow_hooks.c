/* Events of hooks that the fast path in kernel_thread.h leaves to a function, and their time. */
#include "native/thread/kernel_thread_events.h"

static bool has_timeline(const struct kernel_thread *kernel_thread)
{
    return timeline__is_on(&kernel_thread->setup->timeline_is_on);
}

/* Calls without a node of their own have no method. */
static void note_entered(struct kernel_thread *kernel_thread, uint64_t token)
{
    const struct call_tree *tree = &kernel_thread->tree;

    thread_timeline__entered(kernel_thread, tree->lost_depth ? 0 : tree->current->method, token,
                             ledger_time__now_ns(&kernel_thread->setup->time));
}

bool kernel_thread__push_folded(struct kernel_thread *kernel_thread, uint64_t key, uint64_t *token)
{
    struct call_tree *tree = &kernel_thread->tree;
    uint64_t now_ns, began;
    uintptr_t around;

    if (tree->lost_depth != CALL_TREE_FOLDED)
        return false;
    now_ns = kernel_thread__fast_now_ns(kernel_thread);
    if (!now_ns)
        return false;
    around = kernel_thread__begin_change(kernel_thread);
    began = timed_hooks__begin(&kernel_thread->times.slow);
    kernel_thread__charge_cpu(kernel_thread->record, tree->current, now_ns);
    *token = tree->token++;
    call_tree__enter_slowly(tree, key, true);
    if (tree->hand.has_worked)
        kernel_thread__charge_pruning(kernel_thread);
    kernel_thread__publish(kernel_thread);
    if (kernel_thread->setup->has_latencies)
        open_calls__enter(kernel_thread, key, *token);
    timed_hooks__end(&kernel_thread->times.slow, began);
    if (has_timeline(kernel_thread))
        note_entered(kernel_thread, *token);
    kernel_thread__end_change(kernel_thread, around);
    return true;
}

bool kernel_thread__pop_folded(struct kernel_thread *kernel_thread, uint64_t token)
{
    struct call_tree *tree = &kernel_thread->tree;
    uint64_t now_ns, began;
    uintptr_t around;

    if (tree->lost_depth != CALL_TREE_FOLDED || token + 1 != tree->token)
        return false;
    now_ns = kernel_thread__fast_now_ns(kernel_thread);
    if (!now_ns)
        return false;
    around = kernel_thread__begin_change(kernel_thread);
    began = timed_hooks__begin(&kernel_thread->times.slow);
    kernel_thread__charge_cpu(kernel_thread->record, tree->current, now_ns);
    if (kernel_thread->open_calls.top)
        open_calls__leave(kernel_thread, token);
    call_tree__go_back(tree);
    tree->token = token;
    kernel_thread__publish(kernel_thread);
    timed_hooks__end(&kernel_thread->times.slow, began);
    if (has_timeline(kernel_thread))
        thread_timeline__left(kernel_thread, token, now_ns);
    kernel_thread__end_change(kernel_thread, around);
    return true;
}

uint64_t kernel_thread__push_slowly(struct kernel_thread *kernel_thread, uint64_t key)
{
    uint64_t began, token;
    uintptr_t around;

    if (!kernel_thread__counts(kernel_thread))
        return CALL_TOKEN_NONE;
    around = kernel_thread__begin_change(kernel_thread);
    began = timed_hooks__begin(&kernel_thread->times.slow);
    kernel_thread__charge(kernel_thread);
    if (call_tree__is_unseen(&kernel_thread->tree))
        kernel_thread__stand_on_nothing(kernel_thread);
    token = call_tree__push(&kernel_thread->tree, key);
    if (kernel_thread->tree.hand.has_worked)
        kernel_thread__charge_pruning(kernel_thread);
    kernel_thread__publish(kernel_thread);
    if (kernel_thread->setup->has_latencies)
        open_calls__enter(kernel_thread, key, token);
    timed_hooks__end(&kernel_thread->times.slow, began);
    if (has_timeline(kernel_thread) && token != CALL_TOKEN_NONE)
        note_entered(kernel_thread, token);
    kernel_thread__end_change(kernel_thread, around);
    return token;
}

void kernel_thread__pop_slowly(struct kernel_thread *kernel_thread, uint64_t token)
{
    uint64_t began;
    uintptr_t around;

    if (!kernel_thread__counts(kernel_thread))
        return;
    around = kernel_thread__begin_change(kernel_thread);
    began = timed_hooks__begin(&kernel_thread->times.slow);
    kernel_thread__charge(kernel_thread);
    if (call_tree__is_unseen(&kernel_thread->tree))
        kernel_thread__stand_on_nothing(kernel_thread);
    if (kernel_thread->open_calls.top)
        open_calls__leave(kernel_thread, token);
    call_tree__pop(&kernel_thread->tree, token);
    kernel_thread__publish(kernel_thread);
    timed_hooks__end(&kernel_thread->times.slow, began);
    if (has_timeline(kernel_thread))
        thread_timeline__left(kernel_thread, token,
                              ledger_time__now_ns(&kernel_thread->setup->time));
    kernel_thread__end_change(kernel_thread, around);
}
