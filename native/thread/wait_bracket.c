#include "native/thread/wait_bracket.h"

#include "native/metrics/metric_bits.h"
#include "native/thread/side_metrics.h"

/* By which the host may tell late of a stop. */
#define LATE_NS 20000000u
/* A thread that was charged this long ago is charged before a timed wait: a snapshot gives all that
 * the thread waited since then to the reason of the wait under way. */
#define TIMED_NS 100000000u

_Static_assert(LEDGER_WAIT_METRICS == ((UINT64_C(1) << WAIT_REASONS) - 1) << METRIC_MONITOR_WAIT,
               "the reasons stand side by side");

void wait_bracket__begin(struct kernel_thread *kernel_thread, enum ledger_metric reason)
{
    if (!kernel_thread__counts(kernel_thread) || kernel_thread->thread->wait_reason)
        return;
    kernel_thread__charge_before_wait(kernel_thread);
    kernel_thread->timed.began_ns = 0;
    __atomic_store_n(&kernel_thread->thread->wait_reason, (uint16_t)reason, __ATOMIC_RELAXED);
    if (timeline__is_on(&kernel_thread->setup->timeline_is_on))
        thread_timeline__wait(kernel_thread, reason);
}

bool wait_bracket__begin_timed(struct kernel_thread *kernel_thread, enum ledger_metric reason)
{
    const struct kernel_thread_setup *setup = kernel_thread->setup;
    struct timed_waits *timed = &kernel_thread->timed;
    struct ledger_thread *thread = kernel_thread->thread;
    uint64_t now_ns;

    if (!kernel_thread__counts(kernel_thread) || thread->wait_reason ||
        thread->kind != THREAD_PLATFORM)
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
    kernel_thread->stopped_ns += stopped_ns - timed->stopped_ns;
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
    wait_bracket__forget(kernel_thread->thread);
}

void wait_bracket__place(struct kernel_thread *kernel_thread, uint32_t epoch, unsigned reason)
{
    if (kernel_thread__begin_placing(kernel_thread, epoch))
        __atomic_store_n(&kernel_thread->thread->wait_reason, (uint16_t)reason, __ATOMIC_RELAXED);
    kernel_thread__end_placing(kernel_thread);
}

static void charge(struct kernel_thread *kernel_thread, struct ledger_thread *thread,
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

/* For how much more of the node's wait there may be a reason. */
static uint64_t without_reason_ns(const struct ledger *ledger, const struct ledger_node *node)
{
    const struct ledger_side *side = node->side ? ledger__at(ledger, node->side) : NULL;
    uint64_t reasons = LEDGER_WAIT_METRICS | LEDGER_INFERRED_WAITS, sum_ns = 0;
    unsigned metric;

    while (side && metric_bits__take(&reasons, &metric))
        sum_ns += side->value[metric];
    return node->wait_ns > sum_ns ? node->wait_ns - sum_ns : 0;
}

/* Threads go on a little before the host counts the stop. The node may have been folded and used
 * anew meanwhile: it gets no more than it waited. */
static void explain_late(struct kernel_thread *kernel_thread, struct ledger_thread *thread,
                         uint64_t stopped_ns)
{
    struct unexplained_wait *unexplained = &kernel_thread->unexplained;
    uint64_t age_ns = ledger_kernel_thread__last_ns(kernel_thread->record) - unexplained->end_ns;
    struct ledger_node *node;
    uint64_t most_ns;

    if (!unexplained->ns || unexplained->thread != thread || age_ns > LATE_NS)
        return;
    node = ledger__at(kernel_thread->setup->ledger, unexplained->node);
    most_ns = without_reason_ns(kernel_thread->setup->ledger, node);
    if (most_ns > unexplained->ns)
        most_ns = unexplained->ns;
    charge(kernel_thread, thread, node, METRIC_SAFEPOINT,
           (int64_t)(stopped_ns < most_ns ? stopped_ns : most_ns));
    unexplained->ns = 0;
}

static void note_unexplained(struct kernel_thread *kernel_thread,
                             const struct ledger_thread *thread, const struct ledger_node *node,
                             uint64_t waited_ns)
{
    struct unexplained_wait *unexplained = &kernel_thread->unexplained;
    uint64_t now_ns = ledger_kernel_thread__last_ns(kernel_thread->record);

    if (waited_ns > unexplained->ns || now_ns - unexplained->end_ns > LATE_NS)
        *unexplained = (struct unexplained_wait){
            thread, ledger__ref(kernel_thread->setup->ledger, node), waited_ns, now_ns};
}

/* Of a wait without a reason that is over: what the host had stopped its threads for. */
static void charge_stops(struct kernel_thread *kernel_thread, struct ledger_thread *thread,
                         struct ledger_node *node, uint64_t waited_ns)
{
    uint64_t now_ns = stopped_time__ns(&kernel_thread->setup->stopped);
    uint64_t stopped_ns = now_ns - kernel_thread->stopped_ns;
    uint64_t here_ns = stopped_ns < waited_ns ? stopped_ns : waited_ns;

    kernel_thread->stopped_ns = now_ns;
    if (here_ns)
        charge(kernel_thread, thread, node, METRIC_SAFEPOINT, (int64_t)here_ns);
    if (stopped_ns > here_ns)
        explain_late(kernel_thread, thread, stopped_ns - here_ns);
    if (waited_ns > here_ns)
        note_unexplained(kernel_thread, thread, node, waited_ns - here_ns);
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
            charge(kernel_thread, thread, node, METRIC_MONITOR_WAIT + i, (int64_t)part_ns);
        left_ns -= part_ns;
    }
    if (!timed->began_ns)
        timed->thread = NULL;
    return waited_ns - left_ns;
}

void wait_bracket__charge(struct kernel_thread *kernel_thread, struct ledger_thread *thread,
                          struct ledger_node *node, int64_t waited_ns)
{
    unsigned reason = ledger_thread__wait_reason(thread);

    if (reason && wait_bracket__is_timed(kernel_thread)) {
        note_timed(kernel_thread, reason, ledger_kernel_thread__last_ns(kernel_thread->record));
        reason = 0;
    }
    if (kernel_thread->timed.thread == thread && waited_ns > 0)
        waited_ns -= (int64_t)charge_timed(kernel_thread, thread, node, (uint64_t)waited_ns);
    if (reason) {
        charge(kernel_thread, thread, node, reason, waited_ns);
        wait_bracket__pass_stops(kernel_thread);
    } else if (kernel_thread->setup->stopped.counters[0] && waited_ns > 0) {
        charge_stops(kernel_thread, thread, node, (uint64_t)waited_ns);
    }
}

void wait_bracket__charge_unmounted(struct kernel_thread *carrier, struct ledger_thread *thread,
                                    struct ledger_node *node, uint64_t waited_ns)
{
    unsigned reason = ledger_thread__wait_reason(thread);

    if (!reason && carrier->setup->tells_waits)
        reason = METRIC_UNMOUNTED;
    if (reason)
        charge(carrier, thread, node, reason, (int64_t)waited_ns);
}
