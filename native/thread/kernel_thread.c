#include "native/thread/kernel_thread.h"

#include "native/metrics/kernel_metrics.h"
#include "native/metrics/task_status.h"
#include "native/thread/stopped_waits.h"
#include "native/thread/wait_bracket.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static void open_clock_and_metrics(struct kernel_thread *kernel_thread)
{
    const struct kernel_thread_setup *setup = kernel_thread->setup;

    (void)metric_reader__open(&kernel_thread->reader, setup->metrics_charged);
    kernel_thread->metrics_on_interval =
        kernel_thread->reader.wanted & ~kernel_metrics__of_switches();
    kernel_clock__start(&kernel_thread->clock, setup->clock);
}

/* Wall time counts from here on. */
static void note_beginning(struct kernel_thread *kernel_thread)
{
    struct ledger_kernel_thread *record = kernel_thread->record;

    record->waited_ns = ledger_time__now_ns(&kernel_thread->setup->time) - record->charged_cpu_ns;
}

static void set_up(struct kernel_thread *kernel_thread, const struct kernel_thread_setup *setup,
                   struct ledger_kernel_thread *record)
{
    kernel_thread->setup = setup;
    kernel_thread->record = record;
    kernel_thread->thread = NULL;
    kernel_thread->unprofiled = NULL;
    kernel_thread->unidentified = false;
    kernel_thread->idle = true;
    kernel_thread->refused = false;
    kernel_thread->paused = false;
    kernel_thread->carrier.thread = NULL;
    kernel_thread->identified = EPOCH_STOPPED;
    kernel_thread->epoch = EPOCH_NONE;
    kernel_thread->joined = EPOCH_STOPPED;
    kernel_thread->placed = EPOCH_STOPPED;
    kernel_thread->mend.ready = false;
    kernel_thread->open_calls = (struct ledger_open_calls){0};
    kernel_thread->processor = -1;
    kernel_thread->held = false;
    kernel_thread->placing = false;
    kernel_thread->joining = false;
    kernel_thread->metrics_read_ns = 0;
    kernel_thread->delay_due = false;
    kernel_thread->handover_ns = 0;
    kernel_thread->stops = (struct stopped_waits){0};
    stopped_waits__pass(kernel_thread);
    kernel_thread->timed = (struct timed_waits){0};
    kernel_thread->uncharged_wait_ns = 0;
    kernel_thread->unblocked_signals = 0;
    kernel_thread->timeline_mark = (struct timeline_mark){0};
    record->unprofiled_wall_ns = setup->ledger->header->unprofiled_wall_ns;
    note_beginning(kernel_thread);
}

void kernel_thread__begin(struct kernel_thread *kernel_thread,
                          const struct kernel_thread_setup *setup,
                          struct ledger_kernel_thread *record)
{
    struct task_status status;

    set_up(kernel_thread, setup, record);
    open_clock_and_metrics(kernel_thread);
    if (task_status__read(&status, getpid(), record->tid, 0) == 0)
        record->start_ticks = status.start_ticks;
    kernel_thread->reader.own_read_bytes += status.own_read_bytes;
    kernel_thread__note_unprofiled(kernel_thread);
    note_beginning(kernel_thread);
}

void kernel_thread__note_unprofiled(struct kernel_thread *kernel_thread)
{
    const struct ledger_kernel_thread *record = kernel_thread->record;
    struct unprofiled_table *table = kernel_thread->setup->unprofiled;

    if (table)
        __atomic_store_n(&kernel_thread->unprofiled,
                         unprofiled_table__find(table, record->tid, record->start_ticks),
                         __ATOMIC_RELEASE);
}

ledger_ref kernel_thread__add_thread(struct kernel_thread *kernel_thread,
                                     const struct java_thread_facts *facts)
{
    struct ledger *ledger = kernel_thread->setup->ledger;
    struct record_pool *pool = &kernel_thread->tree.pool;
    struct ledger_thread *thread;
    ledger_ref root, ref;

    pool->takes_reserved = RESERVE_ALL;
    root = call_tree__add_plain_node(&kernel_thread->tree, 0, NODE_ROOT);
    pool->takes_reserved = RESERVE_NONE;
    ref = root ? record_pool__thread(pool) : 0;
    if (!ref) {
        record_pool__give_node(pool, root);
        return 0;
    }
    thread = ledger__at(ledger, ref);
    thread->name = record_pool__string(pool, facts->name, facts->name_length);
    thread->group_name = facts->group_name;
    thread->parent = facts->parent;
    if (facts->parent)
        thread->parent_id =
            ((const struct ledger_thread *)ledger__at(ledger, facts->parent))->java_id;
    thread->root = root;
    thread->flags = facts->flags;
    thread->java_id = facts->java_id;
    thread->priority = facts->priority;
    thread->start_ns = ledger_time__now_ns(&kernel_thread->setup->time);
    thread->tid_count = 1;
    thread->tids[0] = kernel_thread->record->tid;
    __atomic_store_n(&thread->kind, facts->kind, __ATOMIC_RELEASE);
    return ref;
}

static void make_current(struct kernel_thread *kernel_thread, ledger_ref ref, ledger_ref node)
{
    struct ledger_kernel_thread *record = kernel_thread->record;

    open_calls__clear(&kernel_thread->tree.pool, &kernel_thread->open_calls);
    kernel_thread->thread = ledger__at(kernel_thread->setup->ledger, ref);
    kernel_thread->tree.thread = kernel_thread->thread;
    kernel_thread->tree.admits_all = kernel_thread->setup->admits_all;
    call_tree__go_to(&kernel_thread->tree, node, 0);
    __atomic_store_n(&record->before_cpu_ns, record->charged_cpu_ns, __ATOMIC_RELAXED);
    __atomic_store_n(&record->thread, ref, __ATOMIC_RELEASE);
    kernel_thread__publish(kernel_thread);
}

/* All that the kernel thread consumed before belongs to its first Java thread, which therefore
 * began at least that long ago. */
static void charge_beginning(struct kernel_thread *kernel_thread)
{
    struct ledger_thread *thread = kernel_thread->thread;
    struct ledger_node *root = kernel_thread->tree.current;

    kernel_thread__charge_slowly(kernel_thread);
    kernel_thread__charge_metrics(kernel_thread);
    if ((int64_t)root->wait_ns < 0) {
        uint64_t before_ns = 0 - root->wait_ns;

        root->wait_ns = 0;
        thread->start_ns -= before_ns < thread->start_ns ? before_ns : thread->start_ns;
    }
}

void kernel_thread__switch_to(struct kernel_thread *kernel_thread,
                              const struct java_position *position)
{
    uint32_t epoch = __atomic_load_n(&kernel_thread->setup->epoch, __ATOMIC_ACQUIRE);
    bool is_of_epoch = epoch == EPOCH_STOPPED || token__is_of_epoch(position->token, epoch);
    struct call_tree *tree = &kernel_thread->tree;

    open_calls__clear(&tree->pool, &kernel_thread->open_calls);
    kernel_thread->thread = position->thread;
    tree->thread = position->thread;
    call_tree__go_to(tree, is_of_epoch ? position->node : position->thread->root,
                     is_of_epoch ? position->lost_depth : 0);
    if (is_of_epoch) {
        tree->token = position->token;
        tree->floor = position->floor;
        call_tree__resume_returns(tree, &position->returns);
        open_calls__resume(kernel_thread, &position->open_calls);
    } else {
        struct ledger_returns over = position->returns;

        struct ledger_open_calls calls = position->open_calls;

        return_stack__clear(&tree->pool, &over);
        open_calls__clear(&tree->pool, &calls);
        call_tree__begin_epoch(tree, epoch);
        tree->lost_depth |= CALL_TREE_UNSEEN;
    }
    memset(kernel_thread->look.callers, 0, sizeof(kernel_thread->look.callers));
    kernel_thread->look.parked_ns = 0;
    /* A thread that begins to run in a later epoch than the first may have frames from before. */
    tree->unsure = is_of_epoch ? position->unsure : epoch > EPOCH_FIRST;
    __atomic_store_n(&kernel_thread->record->thread,
                     ledger__ref(kernel_thread->setup->ledger, position->thread), __ATOMIC_RELEASE);
    kernel_thread__publish(kernel_thread);
}

/* The kernel thread leaves its Java thread, to which nothing more is charged from here. */
static void leave_thread(struct kernel_thread *kernel_thread)
{
    struct ledger_kernel_thread *record = kernel_thread->record;
    uint64_t charged_ns = record->charged_cpu_ns - record->before_cpu_ns;

    if (!kernel_thread->thread)
        return;
    if (!record->carries)
        __atomic_store_n(&kernel_thread->thread->left_cpu_ns, charged_ns, __ATOMIC_RELAXED);
    /* A carrier's CPU time counts once: from here on in the header's carried_cpu_ns, no longer as
     * that of a running carrier. */
    if (kernel_thread->thread->kind == THREAD_CARRIER) {
        record->carries = 1;
        __atomic_store_n(&record->before_cpu_ns, record->charged_cpu_ns, __ATOMIC_RELAXED);
        ledger__count(&kernel_thread->setup->ledger->header->carried_cpu_ns, charged_ns);
    }
}

/* Folds a thread that has ended and that no kernel thread runs any more. */
static ledger_ref fold(struct kernel_thread *kernel_thread, struct ledger_thread *thread)
{
    return thread_fold__fold(&kernel_thread->folder, &kernel_thread->tree,
                             ledger__ref(kernel_thread->setup->ledger, thread));
}

static int start_java(struct kernel_thread *kernel_thread, const struct java_thread_facts *facts)
{
    struct ledger_thread *before = kernel_thread->thread;
    bool reused = before != NULL;
    bool gap_is_new = reused && kernel_thread->setup->reuse_new;
    ledger_ref ref, root, gap;

    if (reused && !gap_is_new)
        kernel_thread__charge_all(kernel_thread);
    if (reused && !kernel_thread->idle) {
        kernel_thread->thread->end_ns = ledger_time__now_ns(&kernel_thread->setup->time);
        kernel_thread->thread->flags |= THREAD_TERMINATED;
        wait_bracket__forget(kernel_thread->thread);
    }
    ref = kernel_thread__add_thread(kernel_thread, facts);
    if (!ref) {
        ledger__count(&kernel_thread->setup->ledger->header->dropped_threads,
                      !kernel_thread->refused);
        kernel_thread->refused = true;
        kernel_thread->idle = true;
        kernel_thread->epoch = EPOCH_NONE;
        return -ENOMEM;
    }
    leave_thread(kernel_thread);
    root = ((const struct ledger_thread *)ledger__at(kernel_thread->setup->ledger, ref))->root;
    gap = gap_is_new ? call_tree__add_plain_node(&kernel_thread->tree, root, NODE_GAP) : 0;
    make_current(kernel_thread, ref, gap ? gap : root);
    if (gap) {
        kernel_thread__charge_all(kernel_thread);
        call_tree__go_to(&kernel_thread->tree, root, 0);
        kernel_thread__publish(kernel_thread);
    } else if (!reused) {
        charge_beginning(kernel_thread);
    }
    if (reused)
        (void)fold(kernel_thread, before);
    kernel_thread->idle = false;
    kernel_thread->refused = false;
    kernel_thread->joined = __atomic_load_n(&kernel_thread->setup->epoch, __ATOMIC_ACQUIRE);
    call_tree__begin_epoch(&kernel_thread->tree, kernel_thread->joined);
    return 0;
}

int kernel_thread__start_java(struct kernel_thread *kernel_thread,
                              const struct java_thread_facts *facts)
{
    int error;

    kernel_thread__hold(kernel_thread);
    error = start_java(kernel_thread, facts);
    kernel_thread__let_go(kernel_thread);
    return error;
}

static void end_java(struct kernel_thread *kernel_thread)
{
    struct ledger_thread *thread = kernel_thread->thread;
    ledger_ref gap;

    if (!thread)
        return;
    kernel_thread__charge_all(kernel_thread);
    if (kernel_thread->idle)
        return;
    kernel_thread->idle = true;
    kernel_thread->epoch = EPOCH_NONE;
    open_calls__clear(&kernel_thread->tree.pool, &kernel_thread->open_calls);
    thread->end_ns = ledger_kernel_thread__last_ns(kernel_thread->record);
    wait_bracket__forget(thread);
    __atomic_store_n(&thread->flags, thread->flags | THREAD_TERMINATED, __ATOMIC_RELEASE);
    gap = call_tree__add_plain_node(&kernel_thread->tree, thread->root, NODE_GAP);
    call_tree__go_to(&kernel_thread->tree, gap ? gap : thread->root, 0);
    kernel_thread__publish(kernel_thread);
}

void kernel_thread__end_java(struct kernel_thread *kernel_thread)
{
    kernel_thread__hold(kernel_thread);
    end_java(kernel_thread);
    kernel_thread__let_go(kernel_thread);
}

void kernel_thread__pause(struct kernel_thread *kernel_thread)
{
    kernel_thread->paused = true;
    kernel_thread->epoch = EPOCH_NONE;
}

void kernel_thread__resume(struct kernel_thread *kernel_thread)
{
    kernel_thread->paused = false;
    kernel_thread->tree.unsure = true;
}

int kernel_thread__begin_absent(struct kernel_thread *kernel_thread,
                                const struct kernel_thread_setup *setup,
                                struct ledger_kernel_thread *record,
                                const struct java_thread_facts *facts)
{
    int error = task_start__read(getpid(), record->tid, &record->start_ticks);
    ledger_ref ref;

    if (error)
        return error;
    set_up(kernel_thread, setup, record);
    kernel_thread__note_unprofiled(kernel_thread);
    ref = kernel_thread__add_thread(kernel_thread, facts);
    if (!ref) {
        ledger__count(&setup->ledger->header->dropped_threads, 1);
        return -ENOMEM;
    }
    kernel_thread->idle = false;
    kernel_thread->host = facts->host;
    make_current(kernel_thread, ref,
                 ((const struct ledger_thread *)ledger__at(setup->ledger, ref))->root);
    return 0;
}

void kernel_thread__take_over(struct kernel_thread *kernel_thread)
{
    open_clock_and_metrics(kernel_thread);
    kernel_thread__pass_over_metrics(kernel_thread);
}

/* Folds the last Java thread. What the kernel thread consumes from here to its very end goes to the
 * group. */
static void fold_last(struct kernel_thread *kernel_thread)
{
    struct ledger_kernel_thread *record = kernel_thread->record;
    ledger_ref group = kernel_thread->thread ? fold(kernel_thread, kernel_thread->thread) : 0;

    if (!group)
        return;
    record->carries = 1;
    kernel_thread->thread = ledger__at(kernel_thread->setup->ledger, group);
    __atomic_store_n(&record->current, kernel_thread->thread->root, __ATOMIC_RELEASE);
    __atomic_store_n(&record->thread, group, __ATOMIC_RELEASE);
}

void kernel_thread__end(struct kernel_thread *kernel_thread)
{
    kernel_thread__hold(kernel_thread);
    end_java(kernel_thread);
    leave_thread(kernel_thread);
    fold_last(kernel_thread);
    kernel_thread->idle = true;
    kernel_thread__let_go(kernel_thread);
    kernel_clock__stop(&kernel_thread->clock);
    metric_reader__close(&kernel_thread->reader);
}
