/*
 * Events of methods on a kernel thread (native/thread/kernel_thread.h): each charges, moves and
 * publishes. Those of hooks have a fast path in place; kernel_thread_slow_hooks.c has the rest.
 */
#ifndef TREADLE_KERNEL_THREAD_EVENTS_H
#define TREADLE_KERNEL_THREAD_EVENTS_H

#include "native/thread/kernel_thread.h"

/* Bracket what an event changes in the tree, but for the fast paths below: a signal handler that
 * comes meanwhile must not change it. begin: returns what end needs. An event that a handler left
 * by longjmp has no end: its frame lies further in than the one that asks. */
static inline uintptr_t kernel_thread__begin_change(struct kernel_thread *kernel_thread)
{
    uintptr_t around = kernel_thread->busy;

    kernel_thread->busy = (uintptr_t)__builtin_frame_address(0);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    return around;
}

static inline void kernel_thread__end_change(struct kernel_thread *kernel_thread, uintptr_t around)
{
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    kernel_thread->busy = around;
}

/* The events of JVMTI: see call_tree.h. */
static inline void kernel_thread__enter(struct kernel_thread *kernel_thread, uint64_t key)
{
    uintptr_t around;

    if (!kernel_thread__counts(kernel_thread))
        return;
    around = kernel_thread__begin_change(kernel_thread);
    kernel_thread__charge(kernel_thread);
    if (__builtin_expect(call_tree__is_unseen(&kernel_thread->tree), 0))
        kernel_thread__stand_on_nothing(kernel_thread);
    call_tree__enter(&kernel_thread->tree, key);
    if (__builtin_expect(kernel_thread->tree.hand.has_worked, 0))
        kernel_thread__charge_pruning(kernel_thread);
    kernel_thread__publish(kernel_thread);
    if (__builtin_expect(kernel_thread->setup->has_latencies, 0))
        open_calls__enter(kernel_thread, key, kernel_thread->tree.token);
    kernel_thread__end_change(kernel_thread, around);
}

static inline void kernel_thread__leave(struct kernel_thread *kernel_thread, uint64_t key)
{
    uintptr_t around;

    if (!kernel_thread__counts(kernel_thread))
        return;
    around = kernel_thread__begin_change(kernel_thread);
    kernel_thread__charge(kernel_thread);
    if (__builtin_expect(call_tree__is_unseen(&kernel_thread->tree), 0))
        kernel_thread__stand_on_nothing(kernel_thread);
    if (__builtin_expect(kernel_thread->open_calls.top != 0, 0))
        open_calls__leave_method(kernel_thread, key);
    call_tree__leave(&kernel_thread->tree, key);
    kernel_thread__publish(kernel_thread);
    kernel_thread__end_change(kernel_thread, around);
}

/* For a frame that no event names: see call_tree__leave_node. */
static inline void kernel_thread__leave_node(struct kernel_thread *kernel_thread, ledger_ref node)
{
    if (!kernel_thread__counts(kernel_thread))
        return;
    kernel_thread__charge(kernel_thread);
    (void)call_tree__leave_node(&kernel_thread->tree, node);
    kernel_thread__publish(kernel_thread);
}

/* In a fast path, once the tree has its new position: a signal handler that comes from here on sees
 * kernel_thread__is_moving. One that came before may have charged later time than now_ns. */
static inline void kernel_thread__charge_fast(struct ledger_kernel_thread *record,
                                              struct ledger_node *node, uint64_t now_ns)
{
    uint64_t cpu_ns = now_ns - record->waited_ns, more_ns;

    if (__builtin_expect(__builtin_sub_overflow(cpu_ns, record->charged_cpu_ns, &more_ns), 0))
        return;
    __atomic_store_n(&node->cpu_ns, node->cpu_ns + more_ns, __ATOMIC_RELAXED);
    __atomic_store_n(&record->charged_cpu_ns, cpu_ns, __ATOMIC_RELAXED);
}

/* For a signal handler of the thread: true in the middle of a fast path that changes the tree,
 * between its new position and the publication. */
static inline bool kernel_thread__is_moving(const struct kernel_thread *kernel_thread)
{
    return kernel_thread->tree.current &&
           kernel_thread->record->current !=
               ledger__ref(kernel_thread->setup->ledger, kernel_thread->tree.current);
}

/* The events of hooks. Each has a fast path for the common case, without a call in it, and leaves
 * all other cases to a separate function. */
__attribute__((noinline, cold)) uint64_t kernel_thread__push_slowly(
    struct kernel_thread *kernel_thread, uint64_t key);
__attribute__((noinline, cold)) void kernel_thread__pop_slowly(struct kernel_thread *kernel_thread,
                                                               uint64_t token);

/* The fast path while a frame is folded (native/tree/call_tree.h) and nothing else is uncommon.
 * False: nothing was done. */
__attribute__((noinline)) bool kernel_thread__push_folded(struct kernel_thread *kernel_thread,
                                                          uint64_t key, uint64_t *token);
__attribute__((noinline)) bool kernel_thread__pop_folded(struct kernel_thread *kernel_thread,
                                                         uint64_t token);

/* Returns the time if events count and all time since the last event was CPU time; else 0. */
static inline uint64_t kernel_thread__fast_now_ns(const struct kernel_thread *kernel_thread)
{
    const struct kernel_thread_setup *setup = kernel_thread->setup;
    uint64_t ticks, now_ns;

    if (__builtin_expect(kernel_thread->epoch != __atomic_load_n(&setup->epoch, __ATOMIC_ACQUIRE),
                         0))
        return 0;
    ticks = cycle_counter__read() - setup->time.tsc_zero;
    now_ns = (uint64_t)((unsigned __int128)ticks * setup->time.tsc_mult >> 64);
    if (__builtin_expect(*kernel_thread->clock.word != kernel_thread->clock.expected, 0))
        return 0;
    return __builtin_expect(now_ns < kernel_thread->clock.suspect_after_ns, 1) ? now_ns : 0;
}

/* False: nothing was done; this is not the common case. */
static inline bool kernel_thread__push_fast(struct kernel_thread *kernel_thread, uint64_t key,
                                            uint64_t *token)
{
    struct call_tree *tree = &kernel_thread->tree;
    struct ledger_kernel_thread *record = kernel_thread->record;
    struct ledger_node *node = tree->current, *child;
    uint64_t now_ns;
    ledger_ref ref;

    if (__builtin_expect(tree->lost_depth != 0, 0))
        return false;
    now_ns = kernel_thread__fast_now_ns(kernel_thread);
    if (__builtin_expect(now_ns == 0, 0))
        return false;
    ref = node->last_hit;
    child = call_tree__node(tree, ref);
    if (__builtin_expect(child->key != key, 0) ||
        __builtin_expect(child->kind_and_level & NODE_TIMED, 0))
        return false;
    *token = tree->token;
    __atomic_store_n(&tree->current, child, __ATOMIC_RELAXED);
    tree->token++;
    kernel_thread__charge_fast(record, node, now_ns);
    __atomic_store_n(&child->calls, child->calls + 1, __ATOMIC_RELAXED);
    __atomic_store_n(&record->current, ref, __ATOMIC_RELEASE);
    if (timeline__is_on(&kernel_thread->setup->timeline_is_on))
        thread_timeline__entered(kernel_thread, child->method, *token, now_ns);
    return true;
}

static inline uint64_t kernel_thread__push(struct kernel_thread *kernel_thread, uint64_t key)
{
    uint64_t token;

    if (__builtin_expect(kernel_thread__push_fast(kernel_thread, key, &token), 1))
        return token;
    return kernel_thread__push_slowly(kernel_thread, key);
}

static inline bool kernel_thread__pop_fast(struct kernel_thread *kernel_thread, uint64_t token)
{
    struct call_tree *tree = &kernel_thread->tree;
    struct ledger_kernel_thread *record = kernel_thread->record;
    struct ledger_node *node = tree->current;
    uint64_t now_ns;
    ledger_ref ref;

    if (__builtin_expect(tree->lost_depth != 0, 0) ||
        __builtin_expect(node->kind_and_level & NODE_TIMED, 0))
        return false;
    now_ns = kernel_thread__fast_now_ns(kernel_thread);
    if (__builtin_expect(now_ns == 0, 0) || __builtin_expect(token + 1 != tree->token, 0))
        return false;
    ref = node->parent;
    __atomic_store_n(&tree->current, call_tree__node(tree, ref), __ATOMIC_RELAXED);
    tree->token = token;
    kernel_thread__charge_fast(record, node, now_ns);
    __atomic_store_n(&record->current, ref, __ATOMIC_RELEASE);
    if (timeline__is_on(&kernel_thread->setup->timeline_is_on))
        thread_timeline__left(kernel_thread, token, now_ns);
    return true;
}

static inline void kernel_thread__pop(struct kernel_thread *kernel_thread, uint64_t token)
{
    if (__builtin_expect(!kernel_thread__pop_fast(kernel_thread, token), 0))
        kernel_thread__pop_slowly(kernel_thread, token);
}

static inline void kernel_thread__catch(struct kernel_thread *kernel_thread, uint64_t token)
{
    if (!kernel_thread__counts(kernel_thread))
        return;
    kernel_thread__charge(kernel_thread);
    if (__builtin_expect(call_tree__is_unseen(&kernel_thread->tree), 0))
        kernel_thread__stand_on_nothing(kernel_thread);
    call_tree__catch(&kernel_thread->tree, token);
    kernel_thread__publish(kernel_thread);
}

#endif
