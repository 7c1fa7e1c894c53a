#include "native/thread/wait_bracket.h"

#include "native/thread/side_metrics.h"

void wait_bracket__begin(struct kernel_thread *kernel_thread, enum ledger_metric reason)
{
    if (!kernel_thread__counts(kernel_thread) || kernel_thread->thread->wait_reason)
        return;
    kernel_thread__charge_before_wait(kernel_thread);
    __atomic_store_n(&kernel_thread->thread->wait_reason, (uint16_t)reason, __ATOMIC_RELAXED);
}

void wait_bracket__end(struct kernel_thread *kernel_thread, enum ledger_metric reason)
{
    if (!kernel_thread__counts(kernel_thread) || kernel_thread->thread->wait_reason != reason)
        return;
    kernel_thread__charge(kernel_thread);
    wait_bracket__forget(kernel_thread->thread);
}

void wait_bracket__place(struct kernel_thread *kernel_thread, uint32_t epoch, unsigned reason)
{
    if (kernel_thread__begin_placing(kernel_thread, epoch))
        __atomic_store_n(&kernel_thread->thread->wait_reason, (uint16_t)reason, __ATOMIC_RELAXED);
    kernel_thread__end_placing(kernel_thread);
}

void wait_bracket__charge(struct kernel_thread *kernel_thread, struct ledger_thread *thread,
                          struct ledger_node *node, int64_t waited_ns)
{
    unsigned reason = ledger_thread__wait_reason(thread);
    uint64_t *total = &thread->totals[reason];
    uint64_t delta_ns = (uint64_t)waited_ns;

    if (!reason)
        return;
    if (waited_ns >= 0)
        side_metrics__add(kernel_thread, thread, node, reason, delta_ns);
    else
        delta_ns = 0 - side_metrics__take_back(kernel_thread, node, reason, 0 - delta_ns);
    __atomic_store_n(total, *total + delta_ns, __ATOMIC_RELAXED);
}
