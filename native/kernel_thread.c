#include "native/kernel_thread.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* A wait shorter than this is not worth a look at the metrics where the clock cannot see switches.
 */
#define PLAIN_WAIT_NS 20000u

void kernel_thread__begin(struct kernel_thread *kernel_thread,
                          const struct kernel_thread_setup *setup,
                          struct ledger_kernel_thread *record)
{
    struct task_status status;

    kernel_thread->setup = setup;
    kernel_thread->record = record;
    kernel_thread->thread = NULL;
    kernel_thread->idle = true;
    kernel_thread->paused = false;
    kernel_thread->metrics_read_ns = 0;
    (void)metric_reader__open(&kernel_thread->reader, setup->metrics_charged);
    kernel_thread->metrics_on_interval =
        kernel_thread->reader.wanted & ~kernel_metrics__of_switches();
    kernel_clock__start(&kernel_thread->clock, setup->clock);
    if (task_status__read(&status, getpid(), record->tid, 0) == 0)
        record->start_ticks = status.start_ticks;
    kernel_thread->reader.own_read_bytes += status.own_read_bytes;
    record->last_ns = ledger_time__now_ns(&setup->time);
}

static void add_to_side(struct kernel_thread *kernel_thread, unsigned metric, uint64_t delta)
{
    struct ledger *ledger = kernel_thread->setup->ledger;
    struct ledger_node *node = kernel_thread->tree.current;
    struct ledger_side *side;
    ledger_ref ref = node->side;

    if (!ref) {
        ref = ledger__take_shared(ledger, LEDGER_SIDES,
                                  sizeof(struct ledger_side) / LEDGER_CELL_BYTES);
        if (!ref) {
            ledger__count(&ledger->header->dropped_side_values, 1);
            return;
        }
        side = ledger__at(ledger, ref);
        side->node = ledger__ref(ledger, node);
        __atomic_store_n(&node->side, ref, __ATOMIC_RELEASE);
    }
    side = ledger__at(ledger, ref);
    __atomic_store_n(&side->value[metric], side->value[metric] + delta, __ATOMIC_RELAXED);
}

/* Consumes the deltas of the metrics in `bits` from a reading: to the thread's totals, and to the
 * current node for those that are charged. */
static void consume(struct kernel_thread *kernel_thread, uint64_t bits,
                    const uint64_t value[LEDGER_METRIC_SLOTS])
{
    uint64_t *reading = kernel_thread->record->readings;

    for (uint64_t left = bits; left; left &= left - 1) {
        unsigned metric = (unsigned)__builtin_ctzll(left);
        uint64_t delta = value[metric] - reading[metric];

        /* Totals that the kernel scales (user, system) may step back for a moment. */
        if (value[metric] <= reading[metric])
            continue;
        __atomic_store_n(&reading[metric], value[metric], __ATOMIC_RELAXED);
        kernel_thread->thread->totals[metric] += delta;
        if (kernel_thread->setup->metrics_charged & 1ull << metric)
            add_to_side(kernel_thread, metric, delta);
    }
}

static void charge_metrics(struct kernel_thread *kernel_thread, bool switched, uint64_t now_ns)
{
    uint64_t value[LEDGER_METRIC_SLOTS];
    uint64_t bits = switched ? kernel_thread->reader.wanted : kernel_thread->metrics_on_interval;

    bits = metric_reader__read(&kernel_thread->reader, bits, value);
    kernel_thread->record->own_read_bytes = kernel_thread->reader.own_read_bytes;
    consume(kernel_thread, bits, value);
    kernel_thread->metrics_read_ns = now_ns;
}

void kernel_thread__charge_slowly(struct kernel_thread *kernel_thread)
{
    const struct kernel_thread_setup *setup = kernel_thread->setup;
    struct ledger_kernel_thread *record = kernel_thread->record;
    struct ledger_node *node = kernel_thread->tree.current;
    uint64_t now_ns, wall_ns, delta_ns;
    bool switched;
    uint64_t cpu_ns = kernel_clock__sync(&kernel_thread->clock, &setup->time, &now_ns, &switched);

    wall_ns = now_ns > record->last_ns ? now_ns - record->last_ns : 0;
    delta_ns = cpu_ns - record->charged_cpu_ns;
    /* Charged too much since the last sync: interrupts and stolen time were not the thread's. What
     * the current node cannot give back is corrected by a later sync. */
    if ((int64_t)delta_ns < 0 && 0 - delta_ns > node->cpu_ns)
        delta_ns = 0 - node->cpu_ns;
    kernel_thread__add(kernel_thread, delta_ns, wall_ns, now_ns);
    if (kernel_thread->clock.kind == LEDGER_CLOCK_PLAIN)
        switched = (int64_t)(wall_ns - delta_ns) > PLAIN_WAIT_NS;
    if (switched || now_ns - kernel_thread->metrics_read_ns > METRICS_INTERVAL_NS)
        charge_metrics(kernel_thread, switched, now_ns);
}

/* Every metric up to now: those that are only known per thread too. */
static void charge_all(struct kernel_thread *kernel_thread)
{
    const struct kernel_thread_setup *setup = kernel_thread->setup;
    uint64_t bits = setup->metrics_totals & ~kernel_thread->reader.wanted;
    struct task_status status;

    kernel_thread__charge_slowly(kernel_thread);
    charge_metrics(kernel_thread, true, kernel_thread->record->last_ns);
    if (bits && task_status__read(&status, getpid(), kernel_thread->record->tid, bits) == 0) {
        status.value[METRIC_READ_BYTES] -= kernel_thread->reader.own_read_bytes;
        kernel_thread->reader.own_read_bytes += status.own_read_bytes;
        kernel_thread->record->own_read_bytes = kernel_thread->reader.own_read_bytes;
        consume(kernel_thread, status.bits & bits, status.value);
    }
}

static ledger_ref add_thread(struct kernel_thread *kernel_thread,
                             const struct java_thread_facts *facts)
{
    struct ledger *ledger = kernel_thread->setup->ledger;
    ledger_ref root = call_tree__add_plain_node(&kernel_thread->tree, 0, NODE_ROOT);
    ledger_ref ref = root ? ledger__take_shared(ledger, LEDGER_THREADS,
                                                sizeof(struct ledger_thread) / LEDGER_CELL_BYTES)
                          : 0;
    struct ledger_thread *thread;

    if (!ref)
        return 0;
    thread = ledger__at(ledger, ref);
    thread->name = ledger__string(ledger, facts->name, facts->name_length);
    thread->parent = facts->parent;
    thread->root = root;
    thread->flags = facts->flags;
    thread->java_id = facts->java_id;
    thread->start_ns = ledger_time__now_ns(&kernel_thread->setup->time);
    thread->tid_count = 1;
    thread->tids[0] = kernel_thread->record->tid;
    __atomic_store_n(&thread->kind, facts->kind, __ATOMIC_RELEASE);
    return ref;
}

static void make_current(struct kernel_thread *kernel_thread, ledger_ref ref, ledger_ref node)
{
    struct ledger_kernel_thread *record = kernel_thread->record;

    kernel_thread->thread = ledger__at(kernel_thread->setup->ledger, ref);
    call_tree__go_to(&kernel_thread->tree, node, 0);
    __atomic_store_n(&record->before_cpu_ns, record->charged_cpu_ns, __ATOMIC_RELAXED);
    __atomic_store_n(&record->thread, ref, __ATOMIC_RELEASE);
    kernel_thread__publish(kernel_thread);
}

/* Rule 2: all that the kernel thread consumed before belongs to its first Java thread, which so
 * began at least that long ago. */
static void charge_beginning(struct kernel_thread *kernel_thread)
{
    struct ledger_thread *thread = kernel_thread->thread;
    struct ledger_node *root = kernel_thread->tree.current;

    kernel_thread__charge_slowly(kernel_thread);
    charge_metrics(kernel_thread, true, kernel_thread->record->last_ns);
    if (root->wall_ns < root->cpu_ns) {
        uint64_t before_ns = root->cpu_ns - root->wall_ns;

        root->wall_ns = root->cpu_ns;
        thread->start_ns -= before_ns < thread->start_ns ? before_ns : thread->start_ns;
    }
}

/* Nothing more will be charged to the thread from here. */
static void leave_thread(struct kernel_thread *kernel_thread)
{
    const struct ledger_kernel_thread *record = kernel_thread->record;

    if (kernel_thread->thread)
        __atomic_store_n(&kernel_thread->thread->left_cpu_ns,
                         record->charged_cpu_ns - record->before_cpu_ns, __ATOMIC_RELAXED);
}

int kernel_thread__start_java(struct kernel_thread *kernel_thread,
                              const struct java_thread_facts *facts)
{
    bool reused = kernel_thread->thread != NULL;
    bool gap_is_new = reused && kernel_thread->setup->reuse_new;
    ledger_ref ref, root, gap;

    if (reused && !gap_is_new)
        charge_all(kernel_thread);
    if (reused && !kernel_thread->idle) {
        kernel_thread->thread->end_ns = ledger_time__now_ns(&kernel_thread->setup->time);
        kernel_thread->thread->flags |= THREAD_TERMINATED;
    }
    ref = add_thread(kernel_thread, facts);
    if (!ref) {
        ledger__count(&kernel_thread->setup->ledger->header->dropped_threads, 1);
        kernel_thread->idle = true;
        return -ENOMEM;
    }
    leave_thread(kernel_thread);
    root = ((const struct ledger_thread *)ledger__at(kernel_thread->setup->ledger, ref))->root;
    gap = gap_is_new ? call_tree__add_plain_node(&kernel_thread->tree, root, NODE_GAP) : 0;
    make_current(kernel_thread, ref, gap ? gap : root);
    if (gap) {
        charge_all(kernel_thread);
        call_tree__go_to(&kernel_thread->tree, root, 0);
        kernel_thread__publish(kernel_thread);
    } else if (!reused) {
        charge_beginning(kernel_thread);
    }
    kernel_thread->idle = false;
    return 0;
}

void kernel_thread__end_java(struct kernel_thread *kernel_thread)
{
    struct ledger_thread *thread = kernel_thread->thread;
    ledger_ref gap;

    if (!thread)
        return;
    charge_all(kernel_thread);
    if (kernel_thread->idle)
        return;
    kernel_thread->idle = true;
    thread->end_ns = kernel_thread->record->last_ns;
    __atomic_store_n(&thread->flags, thread->flags | THREAD_TERMINATED, __ATOMIC_RELEASE);
    gap = call_tree__add_plain_node(&kernel_thread->tree, thread->root, NODE_GAP);
    call_tree__go_to(&kernel_thread->tree, gap ? gap : thread->root, 0);
    kernel_thread__publish(kernel_thread);
}

void kernel_thread__pause(struct kernel_thread *kernel_thread)
{
    kernel_thread->paused = true;
}

void kernel_thread__resume(struct kernel_thread *kernel_thread)
{
    kernel_thread->paused = false;
    kernel_thread->tree.unsure = true;
}

void kernel_thread__end(struct kernel_thread *kernel_thread)
{
    kernel_thread__end_java(kernel_thread);
    leave_thread(kernel_thread);
    kernel_thread->idle = true;
    kernel_clock__stop(&kernel_thread->clock);
    metric_reader__close(&kernel_thread->reader);
}
