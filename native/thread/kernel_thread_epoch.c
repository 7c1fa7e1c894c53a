/* How a thread takes part in an epoch: it joins at its first event, or another thread places it. */
#include "native/thread/kernel_thread.h"
#include "native/thread/wait_bracket.h"

#include <sched.h>
#include <string.h>

void kernel_thread__hold(struct kernel_thread *kernel_thread)
{
    while (__atomic_exchange_n(&kernel_thread->held, true, __ATOMIC_ACQUIRE))
        sched_yield();
}

void kernel_thread__let_go(struct kernel_thread *kernel_thread)
{
    __atomic_store_n(&kernel_thread->held, false, __ATOMIC_RELEASE);
}

/* Makes the carrier current again. A virtual thread that was mounted when profiling was stopped may
 * by now be mounted elsewhere, or have ended: its record is then for another kernel thread to
 * write. */
static void leave_mounted(struct kernel_thread *kernel_thread)
{
    kernel_thread->thread = kernel_thread->carrier.thread;
    kernel_thread->carrier.thread = NULL;
    kernel_thread->tree.thread = kernel_thread->thread;
    return_stack__clear(&kernel_thread->tree.pool, &kernel_thread->carrier.returns);
    open_calls__clear(&kernel_thread->tree.pool, &kernel_thread->open_calls);
    open_calls__clear(&kernel_thread->tree.pool, &kernel_thread->carrier.open_calls);
    __atomic_store_n(&kernel_thread->record->thread,
                     ledger__ref(kernel_thread->setup->ledger, kernel_thread->thread),
                     __ATOMIC_RELEASE);
}

/* A wait in which the thread was placed is over, or about to be. */
static void leave_wait(struct kernel_thread *kernel_thread)
{
    if (kernel_thread->thread->wait_reason)
        kernel_thread__charge_slowly(kernel_thread);
    wait_bracket__forget(kernel_thread->thread);
}

/* What was consumed at the end of the last epoch is charged to the Java thread that ran then, if it
 * still runs. The new epoch begins at the position where another thread placed this one, or else at
 * the root. */
static void begin_epoch(struct kernel_thread *kernel_thread, uint32_t epoch)
{
    struct call_tree *tree = &kernel_thread->tree;

    kernel_thread__pass_over_metrics(kernel_thread);
    if (kernel_thread->carrier.thread && kernel_thread->identified != epoch) {
        leave_mounted(kernel_thread);
        call_tree__go_to(tree, kernel_thread->thread->root, 0);
    }
    if (kernel_thread->placed != epoch) {
        kernel_thread__charge_until_stop(kernel_thread);
        wait_bracket__forget(kernel_thread->thread);
        call_tree__go_to(tree, kernel_thread->thread->root, 0);
        call_tree__begin_epoch(tree, epoch);
        kernel_thread__publish(kernel_thread);
    }
    tree->lost_depth |= CALL_TREE_UNSEEN;
    tree->unsure = true;
    kernel_thread->clock.suspect_after_ns = 0; /* the clock knows nothing of the time in between */
    leave_wait(kernel_thread);
    memset(&kernel_thread->look, 0, sizeof(kernel_thread->look));
    kernel_thread->look.begin_ns = kernel_thread->record->charged_cpu_ns;
    kernel_thread->joined = epoch;
}

void kernel_thread__place(struct kernel_thread *kernel_thread, uint32_t epoch, const uint64_t *keys,
                          uint32_t count)
{
    struct call_tree *tree = &kernel_thread->tree;

    kernel_thread__hold(kernel_thread);
    if (!kernel_thread->idle && kernel_thread->thread) {
        if (kernel_thread->carrier.thread) {
            leave_mounted(kernel_thread);
            call_tree__go_to(tree, kernel_thread->thread->root, 0);
        }
        kernel_thread__charge_until_stop(kernel_thread);
        wait_bracket__forget(kernel_thread->thread);
        call_tree__go_to(tree, kernel_thread->thread->root, 0);
        call_tree__begin_epoch(tree, epoch);
        kernel_thread__stand_on(kernel_thread, keys, count, true);
        kernel_thread->placed = epoch;
    }
    kernel_thread__let_go(kernel_thread);
}

/* A carrier stays unidentified until its first event, which finds out which virtual thread is
 * mounted. */
bool kernel_thread__is_silent(const struct kernel_thread *kernel_thread, uint32_t epoch)
{
    const struct ledger_thread *thread = kernel_thread->thread;
    bool carries = kernel_thread->carrier.thread || (thread && thread->kind == THREAD_CARRIER);

    return !kernel_thread->idle && kernel_thread__is_unidentified(kernel_thread) == carries &&
           kernel_thread->placed == epoch &&
           !__atomic_load_n(&kernel_thread->joining, __ATOMIC_SEQ_CST) &&
           __atomic_load_n(&kernel_thread->joined, __ATOMIC_RELAXED) != epoch;
}

bool kernel_thread__begin_placing(struct kernel_thread *kernel_thread, uint32_t epoch)
{
    kernel_thread__hold(kernel_thread);
    __atomic_store_n(&kernel_thread->placing, true, __ATOMIC_SEQ_CST);
    return kernel_thread__is_silent(kernel_thread, epoch);
}

void kernel_thread__end_placing(struct kernel_thread *kernel_thread)
{
    __atomic_store_n(&kernel_thread->placing, false, __ATOMIC_SEQ_CST);
    kernel_thread__let_go(kernel_thread);
}

void kernel_thread__place_again(struct kernel_thread *kernel_thread, uint32_t epoch,
                                const uint64_t *keys, uint32_t count)
{
    struct call_tree *tree = &kernel_thread->tree;

    if (kernel_thread__begin_placing(kernel_thread, epoch)) {
        kernel_thread__charge_absent(kernel_thread);
        call_tree__go_to(tree, kernel_thread->thread->root, 0);
        call_tree__begin_epoch(tree, epoch);
        kernel_thread__stand_on(kernel_thread, keys, count, true);
    }
    kernel_thread__end_placing(kernel_thread);
}

bool kernel_thread__begin_joining(struct kernel_thread *kernel_thread)
{
    __atomic_store_n(&kernel_thread->joining, true, __ATOMIC_SEQ_CST);
    if (!__atomic_load_n(&kernel_thread->placing, __ATOMIC_SEQ_CST))
        return true;
    __atomic_store_n(&kernel_thread->joining, false, __ATOMIC_SEQ_CST);
    return false;
}

void kernel_thread__end_joining(struct kernel_thread *kernel_thread)
{
    __atomic_store_n(&kernel_thread->joining, false, __ATOMIC_SEQ_CST);
}

bool kernel_thread__join(struct kernel_thread *kernel_thread)
{
    uint32_t epoch = __atomic_load_n(&kernel_thread->setup->epoch, __ATOMIC_ACQUIRE);

    if (kernel_thread->idle || kernel_thread->paused || epoch == EPOCH_STOPPED ||
        kernel_thread__is_unidentified(kernel_thread))
        return false;
    if (kernel_thread->joined != epoch) {
        if (!kernel_thread__begin_joining(kernel_thread))
            return false;
        begin_epoch(kernel_thread, epoch);
        kernel_thread__end_joining(kernel_thread);
    }
    kernel_thread->epoch = epoch;
    return true;
}
