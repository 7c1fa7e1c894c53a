/* Events of hooks that the fast path in kernel_thread.h leaves to a function, and their time. */
#include "native/thread/kernel_thread.h"

/* A hook that took longer is left out: its thread probably did not run all the time. */
#define SLOW_HOOK_TICKS_MOST 200000u

/* Counts a hook. Returns the cycle counter if this hook is to be timed, else 0. */
static uint64_t begin_slowly(struct kernel_thread *kernel_thread)
{
    struct slow_hooks *slow = &kernel_thread->slow_hooks;

    __atomic_store_n(&slow->calls, slow->calls + 1, __ATOMIC_RELAXED);
    return slow->calls % SLOW_HOOKS_TIMED == 0 ? cycle_counter__read() : 0;
}

static void end_slowly(struct kernel_thread *kernel_thread, uint64_t began)
{
    struct slow_hooks *slow = &kernel_thread->slow_hooks;
    uint64_t ticks = began ? cycle_counter__read() - began : 0;

    if (!ticks || ticks > SLOW_HOOK_TICKS_MOST)
        return;
    __atomic_store_n(&slow->timed, slow->timed + 1, __ATOMIC_RELAXED);
    __atomic_store_n(&slow->timed_ticks, slow->timed_ticks + ticks, __ATOMIC_RELAXED);
}

bool kernel_thread__push_folded(struct kernel_thread *kernel_thread, uint64_t key, uint64_t *token)
{
    struct call_tree *tree = &kernel_thread->tree;
    uint64_t now_ns, began;

    if (tree->lost_depth != CALL_TREE_FOLDED)
        return false;
    now_ns = kernel_thread__fast_now_ns(kernel_thread);
    if (!now_ns)
        return false;
    began = begin_slowly(kernel_thread);
    kernel_thread__charge_cpu(kernel_thread->record, tree->current, now_ns);
    *token = tree->token++;
    call_tree__enter_slowly(tree, key, true);
    if (tree->hand.has_worked)
        kernel_thread__charge_pruning(kernel_thread);
    kernel_thread__publish(kernel_thread);
    end_slowly(kernel_thread, began);
    return true;
}

bool kernel_thread__pop_folded(struct kernel_thread *kernel_thread, uint64_t token)
{
    struct call_tree *tree = &kernel_thread->tree;
    uint64_t now_ns, began;

    if (tree->lost_depth != CALL_TREE_FOLDED || token + 1 != tree->token)
        return false;
    now_ns = kernel_thread__fast_now_ns(kernel_thread);
    if (!now_ns)
        return false;
    began = begin_slowly(kernel_thread);
    kernel_thread__charge_cpu(kernel_thread->record, tree->current, now_ns);
    call_tree__go_back(tree);
    tree->token = token;
    kernel_thread__publish(kernel_thread);
    end_slowly(kernel_thread, began);
    return true;
}

uint64_t kernel_thread__push_slowly(struct kernel_thread *kernel_thread, uint64_t key)
{
    uint64_t began, token;

    if (!kernel_thread__counts(kernel_thread))
        return CALL_TOKEN_NONE;
    began = begin_slowly(kernel_thread);
    kernel_thread__charge(kernel_thread);
    if (call_tree__is_unseen(&kernel_thread->tree))
        kernel_thread__stand_on_nothing(kernel_thread);
    token = call_tree__push(&kernel_thread->tree, key);
    if (kernel_thread->tree.hand.has_worked)
        kernel_thread__charge_pruning(kernel_thread);
    kernel_thread__publish(kernel_thread);
    end_slowly(kernel_thread, began);
    return token;
}

void kernel_thread__pop_slowly(struct kernel_thread *kernel_thread, uint64_t token)
{
    uint64_t began;

    if (!kernel_thread__counts(kernel_thread))
        return;
    began = begin_slowly(kernel_thread);
    kernel_thread__charge(kernel_thread);
    if (call_tree__is_unseen(&kernel_thread->tree))
        kernel_thread__stand_on_nothing(kernel_thread);
    call_tree__pop(&kernel_thread->tree, token);
    kernel_thread__publish(kernel_thread);
    end_slowly(kernel_thread, began);
}
