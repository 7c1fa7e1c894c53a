/* Charges what a kernel thread consumed to the current node, where the straight line of
 * kernel_thread.h does not suffice. */
#include "native/metrics/kernel_metrics.h"
#include "native/metrics/metric_bits.h"
#include "native/metrics/metric_reader.h"
#include "native/metrics/task_status.h"
#include "native/thread/side_metrics.h"
#include "native/thread/stopped_waits.h"
#include "native/thread/wait_bracket.h"

#include <sched.h>
#include <unistd.h>

/* Where the clock cannot see switches, a longer wait counts as one, and the metrics are read. */
#define PLAIN_WAIT_NS 20000u

/* Between two looks at the kernel's own clock too much time may be charged (interrupts, stolen
 * time). The excess is taken back at the next look, from the thread that runs then, and it becomes
 * a part of the wait that the thread is in. So a look comes before another thread does, and before
 * a wait. It does not if the last look is more recent than this: the excess is then worth less than
 * a look. */
#define UNCHECKED_NS 50000u

/* At most so many nodes are asked for what was charged too much. */
#define NEARBY_NODES 64u

#define RUN_QUEUE_DELAY_BIT (UINT64_C(1) << METRIC_RUN_QUEUE_DELAY)

static const struct ledger_unprofiled *unprofiled_of(const struct kernel_thread *kernel_thread)
{
    return __atomic_load_n(&kernel_thread->unprofiled, __ATOMIC_ACQUIRE);
}

void kernel_thread__count(struct kernel_thread *kernel_thread, enum ledger_metric metric)
{
    uint64_t *total = &kernel_thread->thread->totals[metric];

    __atomic_store_n(total, *total + 1, __ATOMIC_RELAXED);
    side_metrics__add(kernel_thread, kernel_thread->thread, kernel_thread->tree.current,
                      (unsigned)metric, 1);
}

/* Consumes the deltas of the metrics in `bits`: adds them to the thread's totals and, for metrics
 * that are charged to nodes, to the current node. The run queue delay also tells what was no stop.
 */
static void consume(struct kernel_thread *kernel_thread, uint64_t bits,
                    const uint64_t value[LEDGER_METRIC_SLOTS])
{
    uint64_t *reading = kernel_thread->record->readings;
    uint64_t delay_ns = reading[METRIC_RUN_QUEUE_DELAY];
    bool tells_delay = bits & RUN_QUEUE_DELAY_BIT;
    unsigned metric;

    while (metric_bits__take(&bits, &metric)) {
        uint64_t delta = value[metric] - reading[metric];

        /* Totals that the kernel scales (user, system) may step back for a moment. */
        if (value[metric] <= reading[metric])
            continue;
        __atomic_store_n(&reading[metric], value[metric], __ATOMIC_RELAXED);
        kernel_thread->thread->totals[metric] += delta;
        if (kernel_thread->setup->metrics_charged & 1ull << metric)
            side_metrics__add(kernel_thread, kernel_thread->thread, kernel_thread->tree.current,
                              metric, delta);
    }
    if (tells_delay)
        stopped_waits__read(kernel_thread, reading[METRIC_RUN_QUEUE_DELAY] - delay_ns);
}

static void take_off_unprofiled(const struct kernel_thread *kernel_thread, uint64_t bits,
                                uint64_t value[LEDGER_METRIC_SLOTS])
{
    const struct ledger_unprofiled *unprofiled = unprofiled_of(kernel_thread);
    bool profiling = kernel_thread__is_profiling(kernel_thread);
    uint64_t left = unprofiled ? bits : 0;
    unsigned metric;

    while (metric_bits__take(&left, &metric))
        value[metric] = unprofiled__value(unprofiled, profiling, metric, value[metric]);
}

static void charge_bits(struct kernel_thread *kernel_thread, uint64_t bits)
{
    uint64_t value[LEDGER_METRIC_SLOTS];

    bits = metric_reader__read(&kernel_thread->reader, bits, value);
    kernel_thread->record->own_read_bytes = kernel_thread->reader.own_read_bytes;
    take_off_unprofiled(kernel_thread, bits, value);
    consume(kernel_thread, bits, value);
}

static void charge_metrics(struct kernel_thread *kernel_thread, bool switched, uint64_t now_ns)
{
    charge_bits(kernel_thread,
                switched ? kernel_thread->reader.wanted : kernel_thread->metrics_on_interval);
    kernel_thread->metrics_read_ns = now_ns;
}

/* Where the metrics that each switch reads do not tell how much of a stop the thread was ready to
 * run. */
static void read_run_queue_delay(struct kernel_thread *kernel_thread)
{
    uint64_t value[LEDGER_METRIC_SLOTS];

    if (!(kernel_thread->setup->metrics_totals & RUN_QUEUE_DELAY_BIT) ||
        metric_reader__read_run_queue_delay(&kernel_thread->reader,
                                            &value[METRIC_RUN_QUEUE_DELAY]) != 0)
        return;
    kernel_thread->record->own_read_bytes = kernel_thread->reader.own_read_bytes;
    take_off_unprofiled(kernel_thread, RUN_QUEUE_DELAY_BIT, value);
    consume(kernel_thread, RUN_QUEUE_DELAY_BIT, value);
}

void kernel_thread__charge_handover(struct kernel_thread *kernel_thread, bool virtual_leaves)
{
    const struct kernel_thread_setup *setup = kernel_thread->setup;
    const uint64_t of_delay = kernel_metric_source__get(SOURCE_SCHEDSTAT)->bits;
    uint64_t now_ns = ledger_kernel_thread__last_ns(kernel_thread->record);
    bool is_first = !kernel_thread->handover_ns;
    uint64_t bits;

    if (is_first)
        metric_reader__open_more(&kernel_thread->reader,
                                 setup->metrics_totals & ~setup->metrics_charged);
    bits = kernel_thread->reader.more;
    if (!kernel_thread->delay_due && !is_first)
        bits &= ~of_delay;
    if (is_first || (virtual_leaves && now_ns - kernel_thread->handover_ns >= HANDOVER_INTERVAL_NS))
        kernel_thread->handover_ns = now_ns;
    else
        bits &= of_delay;
    kernel_thread->delay_due = false;
    if (bits)
        charge_bits(kernel_thread, bits);
}

/* True if profiling is stopped and the thread's CPU clock was not read at this stop yet:
 * stopped_cpu_ns is then still that of the stop before. */
static bool is_stop_unread(const struct ledger_unprofiled *unprofiled,
                           const struct ledger_kernel_thread *record)
{
    return unprofiled &&
           __atomic_load_n(&unprofiled->stopped_cpu_ns, __ATOMIC_RELAXED) <= record->charged_cpu_ns;
}

/* While profiling is stopped both clocks stand still. An event may be under way when profiling
 * stops: what was consumed until then is charged where the thread stood. */
static void take_off_unprofiled_time(struct kernel_thread *kernel_thread, uint64_t *cpu_ns,
                                     uint64_t *now_ns)
{
    const struct ledger_header *header = kernel_thread->setup->ledger->header;
    struct ledger_kernel_thread *record = kernel_thread->record;
    uint64_t unprofiled_ns = __atomic_load_n(&header->unprofiled_wall_ns, __ATOMIC_RELAXED);
    const struct ledger_unprofiled *unprofiled = unprofiled_of(kernel_thread);
    bool profiling = kernel_thread__is_profiling(kernel_thread);

    *cpu_ns =
        unprofiled__cpu_ns(unprofiled, profiling || is_stop_unread(unprofiled, record), *cpu_ns);
    if (unprofiled_ns != record->unprofiled_wall_ns)
        stopped_waits__pass(kernel_thread);
    record->waited_ns += unprofiled_ns - record->unprofiled_wall_ns;
    record->unprofiled_wall_ns = unprofiled_ns;
    if (!profiling && header->since_ns < *now_ns)
        *now_ns = header->since_ns;
}

/* A reader between these stores sees too little wall time, never too much. */
static uint64_t charge_times(struct kernel_thread *kernel_thread, struct ledger_node *node,
                             uint64_t cpu_ns, uint64_t now_ns)
{
    struct ledger_kernel_thread *record = kernel_thread->record;
    uint64_t charged_ns = record->charged_cpu_ns + cpu_ns;
    uint64_t last_ns = ledger_kernel_thread__last_ns(record);
    uint64_t wall_ns = now_ns > last_ns ? now_ns - last_ns : 0;

    __atomic_store_n(&record->waited_ns, now_ns - charged_ns, __ATOMIC_RELEASE);
    __atomic_store_n(&node->cpu_ns, node->cpu_ns + cpu_ns, __ATOMIC_RELAXED);
    __atomic_store_n(&node->wait_ns, node->wait_ns + wall_ns - cpu_ns, __ATOMIC_RELAXED);
    __atomic_store_n(&record->charged_cpu_ns, charged_ns, __ATOMIC_RELEASE);
    return wall_ns;
}

/* Charges CPU time, and wall time up to now. A reader meanwhile may see too little of the reason of
 * a wait. */
static uint64_t charge_both(struct kernel_thread *kernel_thread, struct ledger_node *node,
                            uint64_t cpu_ns, uint64_t now_ns)
{
    uint64_t wall_ns = charge_times(kernel_thread, node, cpu_ns, now_ns);

    if (kernel_thread->setup->tells_waits)
        wait_bracket__charge(kernel_thread, kernel_thread->thread, node,
                             (int64_t)(wall_ns - cpu_ns));
    return wall_ns;
}

/* A thread that goes away and comes back between two looks was seen where it is. */
static void note_processor(struct kernel_thread *kernel_thread, struct ledger_node *node)
{
    int processor = sched_getcpu();
    uint64_t *total = &kernel_thread->thread->totals[METRIC_MIGRATIONS];

    if (kernel_thread->processor >= 0 && processor >= 0 && processor != kernel_thread->processor) {
        __atomic_store_n(total, *total + 1, __ATOMIC_RELAXED);
        side_metrics__add(kernel_thread, kernel_thread->thread, node, METRIC_MIGRATIONS, 1);
    }
    kernel_thread->processor = processor;
}

/* The child that was entered last, or NULL. */
static struct ledger_node *last_child(const struct kernel_thread *kernel_thread,
                                      const struct ledger_node *node)
{
    struct ledger_node *child;

    if (ledger_node__kind(node) == NODE_FOLDED || !node->last_hit)
        return NULL;
    child = call_tree__node(&kernel_thread->tree, node->last_hit);
    return child->parent == ledger__ref(kernel_thread->setup->ledger, node) ? child : NULL;
}

/* Takes back what was charged too much, as far as it was charged to the node. Returns the rest. */
static uint64_t take_back(struct kernel_thread *kernel_thread, struct ledger_node *node,
                          uint64_t excess_ns)
{
    uint64_t last_ns = ledger_kernel_thread__last_ns(kernel_thread->record);
    uint64_t ns = excess_ns < node->cpu_ns ? excess_ns : node->cpu_ns;

    if (!ns)
        return excess_ns;
    (void)charge_times(kernel_thread, node, 0 - ns, last_ns);
    if (kernel_thread->setup->tells_waits)
        stopped_waits__add_other(kernel_thread, (int64_t)ns);
    return excess_ns - ns;
}

/* The same from all nodes at which the thread may have been since the last sync: the calls that
 * were the last ones of the current node, then its callers. */
static void take_back_nearby(struct kernel_thread *kernel_thread, uint64_t excess_ns)
{
    struct ledger_node *current = kernel_thread->tree.current, *node;
    unsigned nodes = 0;

    for (node = current; excess_ns && nodes < NEARBY_NODES; nodes++) {
        excess_ns = take_back(kernel_thread, node, excess_ns);
        node = last_child(kernel_thread, node);
        if (!node)
            break;
    }
    for (node = current; node->parent && excess_ns && nodes < NEARBY_NODES; nodes++) {
        node = call_tree__node(&kernel_thread->tree, node->parent);
        excess_ns = take_back(kernel_thread, node, excess_ns);
    }
}

/* Charges CPU and wall time to the given node; and metrics, if they can have changed, to the
 * current node. Before a wait the next charge does that: the wait's end has to read them anyway. */
static void charge_slowly(struct kernel_thread *kernel_thread, struct ledger_node *node,
                          bool before_wait)
{
    const struct kernel_thread_setup *setup = kernel_thread->setup;
    struct ledger_kernel_thread *record = kernel_thread->record;
    uint64_t now_ns, wall_ns, delta_ns, excess_ns = 0;
    bool switched;
    uint64_t cpu_ns = kernel_clock__sync(&kernel_thread->clock, &setup->time, &now_ns, &switched);

    take_off_unprofiled_time(kernel_thread, &cpu_ns, &now_ns);
    delta_ns = cpu_ns - record->charged_cpu_ns;
    /* Too much was charged since the last sync: interrupts and stolen time were not the thread's.
     * What no node nearby can give back is corrected by a later sync. */
    if ((int64_t)delta_ns < 0 && 0 - delta_ns > node->cpu_ns) {
        excess_ns = 0 - delta_ns - node->cpu_ns;
        delta_ns = 0 - node->cpu_ns;
    }
    wall_ns = charge_both(kernel_thread, node, delta_ns, now_ns);
    if (excess_ns)
        take_back_nearby(kernel_thread, excess_ns);
    if (kernel_thread->clock.kind == LEDGER_CLOCK_PLAIN)
        switched = (int64_t)(wall_ns - delta_ns) > PLAIN_WAIT_NS;
    if (switched) {
        note_processor(kernel_thread, node);
        kernel_thread->delay_due = true;
    }
    switched |= kernel_thread->metrics_due;
    kernel_thread->metrics_due = switched && before_wait;
    if (kernel_thread->metrics_due)
        kernel_thread->clock.suspect_after_ns = 0;
    else if (switched || now_ns - kernel_thread->metrics_read_ns > METRICS_INTERVAL_NS)
        charge_metrics(kernel_thread, switched, now_ns);
    if (stopped_waits__are_unread(kernel_thread))
        read_run_queue_delay(kernel_thread);
}

void kernel_thread__charge_slowly(struct kernel_thread *kernel_thread)
{
    charge_slowly(kernel_thread, kernel_thread->tree.current, false);
}

static void charge_checked(struct kernel_thread *kernel_thread, bool before_wait)
{
    uint64_t now_ns = ledger_time__now_ns(&kernel_thread->setup->time);

    if (kernel_clock__ran_through(&kernel_thread->clock,
                                  now_ns + KERNEL_CLOCK_RESYNC_NS - UNCHECKED_NS))
        kernel_thread__charge_cpu(kernel_thread->record, kernel_thread->tree.current, now_ns);
    else
        charge_slowly(kernel_thread, kernel_thread->tree.current, before_wait);
}

void kernel_thread__charge_checked(struct kernel_thread *kernel_thread)
{
    charge_checked(kernel_thread, false);
}

void kernel_thread__charge_before_wait(struct kernel_thread *kernel_thread)
{
    charge_checked(kernel_thread, true);
}

void kernel_thread__charge_pruning(struct kernel_thread *kernel_thread)
{
    struct call_tree *tree = &kernel_thread->tree;
    struct ledger_node *root = call_tree__node(tree, tree->thread->root);
    uint64_t now_ns = ledger_time__now_ns(&kernel_thread->setup->time);

    tree->hand.has_worked = false;
    if (kernel_clock__ran_through(&kernel_thread->clock, now_ns))
        kernel_thread__charge_cpu(kernel_thread->record, root, now_ns);
    else
        charge_slowly(kernel_thread, root, false);
}

void kernel_thread__charge_until_stop(struct kernel_thread *kernel_thread)
{
    const struct ledger_header *header = kernel_thread->setup->ledger->header;
    const struct ledger_unprofiled *unprofiled = unprofiled_of(kernel_thread);
    struct ledger_kernel_thread *record = kernel_thread->record;
    uint64_t unprofiled_ns = __atomic_load_n(&header->unprofiled_wall_ns, __ATOMIC_RELAXED);
    uint64_t cpu_ns = unprofiled ? unprofiled->stopped_cpu_ns : 0;

    record->waited_ns += unprofiled_ns - record->unprofiled_wall_ns;
    record->unprofiled_wall_ns = unprofiled_ns;
    if (header->since_ns <= ledger_kernel_thread__last_ns(record))
        return;
    cpu_ns = cpu_ns > record->charged_cpu_ns ? cpu_ns - record->charged_cpu_ns : 0;
    (void)charge_both(kernel_thread, kernel_thread->tree.current, cpu_ns, header->since_ns);
    if (unprofiled)
        consume(kernel_thread,
                (kernel_thread->setup->metrics_charged | kernel_thread->setup->metrics_totals) &
                    kernel_metrics__of_others(),
                unprofiled->stopped_value);
}

void kernel_thread__charge_absent(struct kernel_thread *kernel_thread)
{
    struct ledger_kernel_thread *record = kernel_thread->record;
    uint64_t cpu_ns;

    if (task_cpu__read(getpid(), record->tid, &cpu_ns) != 0)
        return;
    cpu_ns = unprofiled__cpu_ns(unprofiled_of(kernel_thread), true, cpu_ns);
    (void)charge_both(kernel_thread, kernel_thread->tree.current,
                      unprofiled__less(cpu_ns, record->charged_cpu_ns),
                      ledger_time__now_ns(&kernel_thread->setup->time));
}

void kernel_thread__charge_metrics(struct kernel_thread *kernel_thread)
{
    charge_metrics(kernel_thread, true, ledger_kernel_thread__last_ns(kernel_thread->record));
}

void kernel_thread__charge_all(struct kernel_thread *kernel_thread)
{
    const struct kernel_thread_setup *setup = kernel_thread->setup;
    uint64_t bits = setup->metrics_totals & ~kernel_thread->reader.wanted;
    struct task_status status;

    kernel_thread__charge_slowly(kernel_thread);
    kernel_thread__charge_metrics(kernel_thread);
    if (bits && task_status__read(&status, getpid(), kernel_thread->record->tid, bits) == 0) {
        status.value[METRIC_READ_BYTES] =
            unprofiled__less(status.value[METRIC_READ_BYTES], kernel_thread->reader.own_read_bytes);
        kernel_thread->reader.own_read_bytes += status.own_read_bytes;
        kernel_thread->record->own_read_bytes = kernel_thread->reader.own_read_bytes;
        take_off_unprofiled(kernel_thread, status.bits & bits, status.value);
        consume(kernel_thread, status.bits & bits, status.value);
    }
}

void kernel_thread__pass_over_metrics(struct kernel_thread *kernel_thread)
{
    uint64_t bits = kernel_thread->reader.wanted & ~kernel_metrics__of_others();
    uint64_t *reading = kernel_thread->record->readings;
    uint64_t value[LEDGER_METRIC_SLOTS];
    unsigned metric;

    if (!unprofiled_of(kernel_thread))
        return;
    bits = metric_reader__read(&kernel_thread->reader, bits, value);
    while (metric_bits__take(&bits, &metric))
        reading[metric] = value[metric];
}
