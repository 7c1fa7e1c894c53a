/* The position that a thread's stack says it has: older frames below it, and mends by samples. */
#include "native/thread/kernel_thread.h"

#include <string.h>

void kernel_thread__doubt(struct kernel_thread *kernel_thread)
{
    kernel_thread->tree.lost_depth |= CALL_TREE_UNSEEN;
}

/* Makes all tokens invalid that were given out before. */
static void renew_tokens(struct call_tree *tree)
{
    tree->token = (tree->token >> 32) + (1u << EPOCH_BITS);
    tree->token = (uint64_t)(uint32_t)tree->token << 32;
}

void kernel_thread__stand_at_root(struct kernel_thread *kernel_thread)
{
    struct call_tree *tree = &kernel_thread->tree;

    /* What a thread without a known position consumed since the epoch began is charged to the first
     * position that is known. */
    if (!call_tree__is_unseen(tree) || kernel_thread->placed == kernel_thread->joined)
        kernel_thread__charge(kernel_thread);
    if (!call_tree__is_on_floor(tree) && (uint32_t)tree->token)
        renew_tokens(tree);
    call_tree__go_to(tree, kernel_thread->thread->root, 0);
    memset(kernel_thread->look.callers, 0, sizeof(kernel_thread->look.callers));
    kernel_thread__publish(kernel_thread);
}

static void charge_parked(struct kernel_thread *kernel_thread)
{
    struct ledger_node *node = kernel_thread->tree.current;

    __atomic_store_n(&node->wait_ns, node->wait_ns + kernel_thread->look.parked_ns,
                     __ATOMIC_RELAXED);
    kernel_thread->look.parked_ns = 0;
}

void kernel_thread__stand_on_nothing(struct kernel_thread *kernel_thread)
{
    kernel_thread->tree.lost_depth &= ~CALL_TREE_UNSEEN;
    charge_parked(kernel_thread);
}

void kernel_thread__stand_on(struct kernel_thread *kernel_thread, const uint64_t *keys,
                             uint32_t count, bool last)
{
    struct call_tree *tree = &kernel_thread->tree;

    if (kernel_thread->setup->names_exits)
        for (uint32_t i = 0; i < count; i++)
            call_tree__seed(tree, keys[i]);
    else
        call_tree__lay_floor(tree, keys, count);
    if (count)
        kernel_thread->thread->flags |= THREAD_SEEDED;
    if (last)
        charge_parked(kernel_thread);
    kernel_thread__publish(kernel_thread);
}

void kernel_thread__ask_to_mend(struct kernel_thread *kernel_thread,
                                const struct position_mend *mend)
{
    if (kernel_thread__is_to_be_mended(kernel_thread))
        return;
    kernel_thread->mend.from = mend->from;
    kernel_thread->mend.to = mend->to;
    kernel_thread->mend.charged_ns = mend->charged_ns;
    kernel_thread->mend.agreed_ns = mend->agreed_ns;
    __atomic_store_n(&kernel_thread->mend.ready, true, __ATOMIC_RELEASE);
}

static void stand_where_it_stands(struct kernel_thread *kernel_thread,
                                  const struct position_mend *mend)
{
    struct ledger_kernel_thread *record = kernel_thread->record;
    struct call_tree *tree = &kernel_thread->tree;
    const struct ledger *ledger = kernel_thread->setup->ledger;

    if (record->charged_cpu_ns != mend->charged_ns ||
        ledger__ref(ledger, tree->current) != mend->from)
        return;
    __atomic_store_n(&tree->current->cpu_ns, tree->current->cpu_ns + mend->agreed_ns,
                     __ATOMIC_RELAXED);
    __atomic_store_n(&record->charged_cpu_ns, record->charged_cpu_ns + mend->agreed_ns,
                     __ATOMIC_RELAXED);
    call_tree__forget_returns(tree);
    tree->current = call_tree__node(tree, mend->to);
    tree->lost_depth = (tree->lost_depth & ~CALL_TREE_ON_FLOOR) | CALL_TREE_UNSEEN;
    /* The tokens count the frames up to the old position. A frame that is on the stack after all
     * would leave the new position with its token, at the root to no node at all. */
    tree->floor = 0;
    renew_tokens(tree);
    kernel_thread__publish(kernel_thread);
}

void kernel_thread__mend(struct kernel_thread *kernel_thread)
{
    stand_where_it_stands(kernel_thread, &kernel_thread->mend);
    __atomic_store_n(&kernel_thread->mend.ready, false, __ATOMIC_RELEASE);
}

bool kernel_thread__leave_floor(struct kernel_thread *kernel_thread, uint64_t key)
{
    bool left;

    kernel_thread__charge(kernel_thread);
    left = call_tree__leave_floor(&kernel_thread->tree, key);
    if (left) {
        memset(kernel_thread->look.callers, 0, sizeof(kernel_thread->look.callers));
        kernel_thread__publish(kernel_thread);
    }
    return left;
}

void kernel_thread__mend_silent(struct kernel_thread *kernel_thread,
                                const struct position_mend *mend)
{
    uint32_t epoch = __atomic_load_n(&kernel_thread->setup->epoch, __ATOMIC_ACQUIRE);

    if (kernel_thread__begin_placing(kernel_thread, epoch))
        stand_where_it_stands(kernel_thread, mend);
    kernel_thread__end_placing(kernel_thread);
}
