#include "native/thread/wait_bracket.h"

#include "native/metrics/metric_bits.h"
#include "native/thread/side_metrics.h"
#include "native/thread/stopped_waits.h"

/* A thread that was charged this long ago is charged before a timed wait: a snapshot gives all that
 * the thread waited since then to the reason of the wait under way. */
#define TIMED_NS 100000000u

_Static_assert(LEDGER_WAIT_METRICS == ((UINT64_C(1) << WAIT_REASONS) - 1) << METRIC_MONITOR_WAIT,
               "the reasons stand side by side");

/* Most I/O is over at once. So where the thread has run all the time since its last charge, and has
 * waited for nothing yet, its wait's begin is not charged. Returns the time then, else 0. */
static uint64_t begin_uncharged(const struct kernel_thread *kernel_thread,
                                enum ledger_metric reason, bool timeline)
{
    uint64_t now_ns;

    if (reason != METRIC_IO_WAIT || kernel_thread->thread->kind != THREAD_PLATFORM || timeline)
        return 0;
    now_ns = ledger_time__now_ns(&kernel_thread->setup->time);
    return kernel_clock__ran_through(&kernel_thread->clock, now_ns) ? now_ns : 0;
}

void wait_bracket__begin(struct kernel_thread *kernel_thread, enum ledger_metric reason)
{
    bool timeline = timeline__is_on(&kernel_thread->setup->timeline_is_on);

    if (!kernel_thread__counts(kernel_thread) || kernel_thread->thread->wait_reason)
        return;
    kernel_thread->uncharged_wait_ns = begin_uncharged(kernel_thread, reason, timeline);
    if (!kernel_thread->uncharged_wait_ns)
        kernel_thread__charge_before_wait(kernel_thread);
    kernel_thread->timed.began_ns = 0;
    __atomic_store_n(&kernel_thread->thread->wait_reason, (uint16_t)reason, __ATOMIC_RELAXED);
    if (timeline)
        thread_timeline__wait(kernel_thread, reason);
}

bool wait_bracket__begin_timed(struct kernel_thread *kernel_thread, enum ledger_metric reason)
{
    const struct kernel_thread_setup *setup = kernel_thread->setup;
    struct timed_waits *timed = &kernel_thread->timed;
    struct ledger_thread *thread = kernel_thread->thread;
    uint64_t now_ns;

    if (!kernel_thread__counts(kernel_thread) || thread->wait_reason ||
        (thread->kind != THREAD_PLATFORM && thread->kind != THREAD_NATIVE))
        return false;
    now_ns = ledger_time__now_ns(&setup->time);
    if (now_ns > ledger_kernel_thread__last_ns(kernel_thread->record) + TIMED_NS)
        kernel_thread__charge_before_wait(kernel_thread);
    if (timed->thread != thread)
        *timed = (struct timed_waits){.thread = thread};
    timed->began_ns = now_ns;
    timed->stopped_ns = stopped_time__ns(&setup->stopped);
    timed->unprofiled_ns =
        __atomic_load_n(&setup->ledger->header->unprofiled_wall_ns, __ATOMIC_RELAXED);
    __atomic_store_n(&thread->wait_reason, (uint16_t)reason, __ATOMIC_RELAXED);
    return true;
}

/* After a stop and a start of profiling the thread has been placed in its wait. */
bool wait_bracket__is_timed(const struct kernel_thread *kernel_thread)
{
    const struct ledger_header *header = kernel_thread->setup->ledger->header;
    const struct timed_waits *timed = &kernel_thread->timed;

    return timed->began_ns && timed->thread == kernel_thread->thread &&
           timed->unprofiled_ns == __atomic_load_n(&header->unprofiled_wall_ns, __ATOMIC_RELAXED);
}

/* Notes the part of the timed wait until now. What the host stopped its threads for meanwhile is
 * explained by that wait. */
static void note_timed(struct kernel_thread *kernel_thread, unsigned reason, uint64_t now_ns)
{
    struct timed_waits *timed = &kernel_thread->timed;
    uint64_t stopped_ns = stopped_time__ns(&kernel_thread->setup->stopped);

    if (now_ns > timed->began_ns) {
        timed->ns[reason - METRIC_MONITOR_WAIT] += now_ns - timed->began_ns;
        timed->began_ns = now_ns;
    }
    kernel_thread->stops.seen_ns += stopped_ns - timed->stopped_ns;
    timed->stopped_ns = stopped_ns;
}

void wait_bracket__end(struct kernel_thread *kernel_thread, enum ledger_metric reason)
{
    bool timed = wait_bracket__is_timed(kernel_thread);

    if (!kernel_thread__counts(kernel_thread) || kernel_thread->thread->wait_reason != reason)
        return;
    if (timed)
        note_timed(kernel_thread, reason, ledger_time__now_ns(&kernel_thread->setup->time));
    kernel_thread->timed.began_ns = 0;
    if (timed) {
        wait_bracket__forget(kernel_thread->thread);
        return;
    }
    if (timeline__is_on(&kernel_thread->setup->timeline_is_on))
        thread_timeline__waited(kernel_thread, reason);
    kernel_thread__charge(kernel_thread);
    kernel_thread->uncharged_wait_ns = 0;
    wait_bracket__forget(kernel_thread->thread);
}

void wait_bracket__place(struct kernel_thread *kernel_thread, uint32_t epoch, unsigned reason)
{
    if (kernel_thread__begin_placing(kernel_thread, epoch))
        __atomic_store_n(&kernel_thread->thread->wait_reason, (uint16_t)reason, __ATOMIC_RELAXED);
    kernel_thread__end_placing(kernel_thread);
}

void wait_bracket__add(struct kernel_thread *kernel_thread, struct ledger_thread *thread,
                       struct ledger_node *node, unsigned reason, int64_t waited_ns)
{
    uint64_t *total = &thread->totals[reason];
    uint64_t delta_ns = (uint64_t)waited_ns;

    if (waited_ns >= 0)
        side_metrics__add(kernel_thread, thread, node, reason, delta_ns);
    else
        delta_ns = 0 - side_metrics__take_back(kernel_thread, node, reason, 0 - delta_ns);
    __atomic_store_n(total, *total + delta_ns, __ATOMIC_RELAXED);
}

/* Gives waits that were timed since the last charge their parts of it, and says how much that is.
 */
static uint64_t charge_timed(struct kernel_thread *kernel_thread, struct ledger_thread *thread,
                             struct ledger_node *node, uint64_t waited_ns)
{
    struct timed_waits *timed = &kernel_thread->timed;
    uint64_t left_ns = waited_ns;

    for (unsigned i = 0; i < WAIT_REASONS; i++) {
        uint64_t part_ns = timed->ns[i] < left_ns ? timed->ns[i] : left_ns;

        timed->ns[i] = 0;
        if (part_ns)
            wait_bracket__add(kernel_thread, thread, node, METRIC_MONITOR_WAIT + i,
                              (int64_t)part_ns);
        left_ns -= part_ns;
    }
    if (!timed->began_ns)
        timed->thread = NULL;
    return waited_ns - left_ns;
}

static void charge_without_reason(struct kernel_thread *kernel_thread, struct ledger_thread *thread,
                                  struct ledger_node *node, int64_t waited_ns)
{
    if (kernel_thread->setup->stopped.counters[0] && waited_ns > 0)
        stopped_waits__charge(kernel_thread, thread, node, (uint64_t)waited_ns);
    else
        stopped_waits__add_other(kernel_thread, waited_ns);
}

/* The first charge in a wait whose begin was not charged. Takes off what is longer than the wait:
 * until the wait began the thread ran, and too much CPU time was charged. */
static int64_t take_off_excess(struct kernel_thread *kernel_thread, struct ledger_thread *thread,
                               struct ledger_node *node, int64_t waited_ns)
{
    uint64_t now_ns = ledger_kernel_thread__last_ns(kernel_thread->record);
    int64_t most_ns = (int64_t)(now_ns - kernel_thread->uncharged_wait_ns);

    kernel_thread->uncharged_wait_ns = 0;
    if (waited_ns <= most_ns || most_ns < 0)
        return waited_ns;
    charge_without_reason(kernel_thread, thread, node, waited_ns - most_ns);
    return most_ns;
}

void wait_bracket__charge(struct kernel_thread *kernel_thread, struct ledger_thread *thread,
                          struct ledger_node *node, int64_t waited_ns)
{
    unsigned reason = ledger_thread__wait_reason(thread);

    if (reason && wait_bracket__is_timed(kernel_thread)) {
        note_timed(kernel_thread, reason, ledger_kernel_thread__last_ns(kernel_thread->record));
        reason = 0;
    }
    if (kernel_thread->timed.thread == thread && waited_ns > 0) {
        uint64_t timed_ns = charge_timed(kernel_thread, thread, node, (uint64_t)waited_ns);

        stopped_waits__add_other(kernel_thread, (int64_t)timed_ns);
        waited_ns -= (int64_t)timed_ns;
    }
    if (!reason) {
        charge_without_reason(kernel_thread, thread, node, waited_ns);
        return;
    }
    if (kernel_thread->uncharged_wait_ns)
        waited_ns = take_off_excess(kernel_thread, thread, node, waited_ns);
    wait_bracket__add(kernel_thread, thread, node, reason, waited_ns);
    stopped_waits__add_other(kernel_thread, waited_ns);
    stopped_waits__pass(kernel_thread);
}

void wait_bracket__charge_unmounted(struct kernel_thread *carrier, struct ledger_thread *thread,
                                    struct ledger_node *node, uint64_t waited_ns)
{
    unsigned reason = ledger_thread__wait_reason(thread);

    if (!reason && carrier->setup->tells_waits)
        reason = METRIC_UNMOUNTED;
    if (reason)
        wait_bracket__add(carrier, thread, node, reason, (int64_t)waited_ns);
}
