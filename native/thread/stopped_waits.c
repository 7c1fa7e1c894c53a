#include "native/thread/stopped_waits.h"

#include "native/metrics/metric_bits.h"
#include "native/thread/wait_bracket.h"

/* By which the host may tell late of a stop. */
#define LATE_NS 20000000u
/* Charged for stops since the last reading of the run queue delay, a reading is worth its price. */
#define UNREAD_NS 500000u

enum { IN_LAST_WAIT, BEFORE };

/* Of stops at two nodes, those at the first one are not taken back any more. */
static void charge(struct kernel_thread *kernel_thread, struct ledger_thread *thread,
                   struct ledger_node *node, uint64_t stopped_ns, unsigned when)
{
    struct stopped_waits *stops = &kernel_thread->stops;
    ledger_ref ref = ledger__ref(kernel_thread->setup->ledger, node);

    wait_bracket__add(kernel_thread, thread, node, METRIC_SAFEPOINT, (int64_t)stopped_ns);
    if (stops->unread.thread != thread || stops->unread.node[when] != ref) {
        stops->unread.rest_ns += (int64_t)stops->unread.ns[when];
        stops->unread.ns[when] = 0;
    }
    stops->unread.thread = thread;
    stops->unread.node[when] = ref;
    stops->unread.ns[when] += stopped_ns;
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
    struct stopped_waits *stops = &kernel_thread->stops;
    uint64_t now_ns = ledger_kernel_thread__last_ns(kernel_thread->record);
    struct ledger_node *node;
    uint64_t most_ns;

    if (!stops->unexplained.ns || stops->unexplained.thread != thread ||
        now_ns - stops->unexplained.end_ns > LATE_NS)
        return;
    node = ledger__at(kernel_thread->setup->ledger, stops->unexplained.node);
    most_ns = without_reason_ns(kernel_thread->setup->ledger, node);
    if (most_ns > stops->unexplained.ns)
        most_ns = stops->unexplained.ns;
    if (stopped_ns > most_ns)
        stopped_ns = most_ns;
    stops->unread.rest_ns -= (int64_t)stopped_ns;
    charge(kernel_thread, thread, node, stopped_ns, BEFORE);
    stops->unexplained.ns = 0;
}

static void note_unexplained(struct kernel_thread *kernel_thread,
                             const struct ledger_thread *thread, const struct ledger_node *node,
                             uint64_t waited_ns)
{
    struct stopped_waits *stops = &kernel_thread->stops;
    uint64_t now_ns = ledger_kernel_thread__last_ns(kernel_thread->record);

    if (waited_ns <= stops->unexplained.ns && now_ns - stops->unexplained.end_ns <= LATE_NS)
        return;
    stops->unexplained.thread = thread;
    stops->unexplained.node = ledger__ref(kernel_thread->setup->ledger, node);
    stops->unexplained.ns = waited_ns;
    stops->unexplained.end_ns = now_ns;
}

void stopped_waits__charge(struct kernel_thread *kernel_thread, struct ledger_thread *thread,
                           struct ledger_node *node, uint64_t waited_ns)
{
    uint64_t now_ns = stopped_time__ns(&kernel_thread->setup->stopped);
    uint64_t stopped_ns = now_ns - kernel_thread->stops.seen_ns;
    uint64_t here_ns = stopped_ns < waited_ns ? stopped_ns : waited_ns;

    kernel_thread->stops.seen_ns = now_ns;
    if (here_ns)
        charge(kernel_thread, thread, node, here_ns, IN_LAST_WAIT);
    stopped_waits__add_other(kernel_thread, (int64_t)(waited_ns - here_ns));
    if (stopped_ns > here_ns)
        explain_late(kernel_thread, thread, stopped_ns - here_ns);
    if (waited_ns > here_ns)
        note_unexplained(kernel_thread, thread, node, waited_ns - here_ns);
}

bool stopped_waits__are_unread(const struct kernel_thread *kernel_thread)
{
    const struct stopped_waits *stops = &kernel_thread->stops;

    return stops->unread.ns[IN_LAST_WAIT] + stops->unread.ns[BEFORE] > UNREAD_NS;
}

/* As much of what was charged at a time as it was too much. What another thread was charged stays
 * with that thread. */
static int64_t take_back(struct kernel_thread *kernel_thread, unsigned when, int64_t over_ns)
{
    struct stopped_waits *stops = &kernel_thread->stops;
    int64_t charged_ns = (int64_t)stops->unread.ns[when];
    int64_t ns = over_ns < charged_ns ? over_ns : charged_ns;

    stops->unread.ns[when] = 0;
    if (ns <= 0)
        return 0;
    if (stops->unread.thread == kernel_thread->thread)
        wait_bracket__add(kernel_thread, kernel_thread->thread,
                          ledger__at(kernel_thread->setup->ledger, stops->unread.node[when]),
                          METRIC_SAFEPOINT, -ns);
    return ns;
}

void stopped_waits__read(struct kernel_thread *kernel_thread, uint64_t delay_ns)
{
    struct stopped_waits *stops = &kernel_thread->stops;
    int64_t left_ns = stops->unread.rest_ns - (int64_t)delay_ns;

    if (left_ns < 0) {
        left_ns += take_back(kernel_thread, IN_LAST_WAIT, -left_ns);
        left_ns += take_back(kernel_thread, BEFORE, -left_ns);
    }
    stops->unread.ns[IN_LAST_WAIT] = stops->unread.ns[BEFORE] = 0;
    /* The thread was preempted between its clock's reading and the delay's: the wait comes with the
     * next charge. */
    if (left_ns < -(int64_t)delay_ns)
        left_ns = -(int64_t)delay_ns;
    /* What may still turn out to have been a stop. */
    if ((int64_t)stops->unexplained.ns > left_ns)
        stops->unexplained.ns = left_ns > 0 ? (uint64_t)left_ns : 0;
    stops->unread.rest_ns = left_ns < 0 ? left_ns : (int64_t)stops->unexplained.ns;
}

void stopped_waits__pass(struct kernel_thread *kernel_thread)
{
    kernel_thread->stops.seen_ns = stopped_time__ns(&kernel_thread->setup->stopped);
    kernel_thread->stops.unexplained.ns = 0;
}
