#include "native/thread/kernel_thread.h"

#include "native/metrics/kernel_metrics.h"
#include "native/metrics/task_status.h"

#include <errno.h>
#include <sched.h>
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
    kernel_thread->held = false;
    kernel_thread->placing = false;
    kernel_thread->joining = false;
    kernel_thread->metrics_read_ns = 0;
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
    kernel_thread->tree.thread = kernel_thread->thread;
    kernel_thread->tree.admits_all = kernel_thread->setup->admits_all;
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

    kernel_thread->thread = position->thread;
    tree->thread = position->thread;
    call_tree__go_to(tree, is_of_epoch ? position->node : position->thread->root,
                     is_of_epoch ? position->lost_depth : 0);
    if (is_of_epoch) {
        tree->token = position->token;
        tree->floor = position->floor;
        call_tree__resume_returns(tree, &position->returns);
    } else {
        struct ledger_returns over = position->returns;

        return_stack__clear(&tree->pool, &over);
        call_tree__begin_epoch(tree, epoch);
        tree->lost_depth |= CALL_TREE_UNSEEN;
    }
    memset(kernel_thread->look.callers, 0, sizeof(kernel_thread->look.callers));
    kernel_thread->look.parked_ns = 0;
    /* What begins to run in a later epoch than the first may have been entered before it. */
    tree->unsure = is_of_epoch ? position->unsure : epoch > EPOCH_FIRST;
    __atomic_store_n(&kernel_thread->record->thread,
                     ledger__ref(kernel_thread->setup->ledger, position->thread), __ATOMIC_RELEASE);
    kernel_thread__publish(kernel_thread);
}

/* Nothing more will be charged to the thread from here. */
static void leave_thread(struct kernel_thread *kernel_thread)
{
    struct ledger_kernel_thread *record = kernel_thread->record;
    uint64_t charged_ns = record->charged_cpu_ns - record->before_cpu_ns;

    if (!kernel_thread->thread)
        return;
    if (!record->carries)
        __atomic_store_n(&kernel_thread->thread->left_cpu_ns, charged_ns, __ATOMIC_RELAXED);
    /* Counted once: in the header from here on, not as that of a carrier that is there. */
    if (kernel_thread->thread->kind == THREAD_CARRIER) {
        record->carries = 1;
        __atomic_store_n(&record->before_cpu_ns, record->charged_cpu_ns, __ATOMIC_RELAXED);
        ledger__count(&kernel_thread->setup->ledger->header->carried_cpu_ns, charged_ns);
    }
}

/* The thread is over, and nobody runs it any more. */
static ledger_ref fold(struct kernel_thread *kernel_thread, struct ledger_thread *thread)
{
    return thread_fold__fold(&kernel_thread->folder, &kernel_thread->tree,
                             ledger__ref(kernel_thread->setup->ledger, thread));
}

void kernel_thread__hold(struct kernel_thread *kernel_thread)
{
    while (__atomic_exchange_n(&kernel_thread->held, true, __ATOMIC_ACQUIRE))
        sched_yield();
}

void kernel_thread__let_go(struct kernel_thread *kernel_thread)
{
    __atomic_store_n(&kernel_thread->held, false, __ATOMIC_RELEASE);
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
    thread->end_ns = ledger_kernel_thread__last_ns(kernel_thread->record);
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

/* A virtual thread that was mounted when profiling was stopped may by now be mounted elsewhere, or
 * over: its record is another kernel thread's to write, unless it was found here still. */
static void leave_mounted(struct kernel_thread *kernel_thread)
{
    kernel_thread->thread = kernel_thread->carrier.thread;
    kernel_thread->carrier.thread = NULL;
    kernel_thread->tree.thread = kernel_thread->thread;
    return_stack__clear(&kernel_thread->tree.pool, &kernel_thread->carrier.returns);
    __atomic_store_n(&kernel_thread->record->thread,
                     ledger__ref(kernel_thread->setup->ledger, kernel_thread->thread),
                     __ATOMIC_RELEASE);
}

/* The end of the last epoch is charged to the Java thread that ran then, if it still runs. The new
 * epoch begins at the position where another thread placed this one, or else at the root. */
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
        call_tree__go_to(tree, kernel_thread->thread->root, 0);
        call_tree__begin_epoch(tree, epoch);
        kernel_thread__publish(kernel_thread);
    }
    tree->lost_depth |= CALL_TREE_UNSEEN;
    tree->unsure = true;
    kernel_thread->clock.suspect_after_ns = 0; /* it knows nothing of the time in between */
    memset(&kernel_thread->look, 0, sizeof(kernel_thread->look));
    kernel_thread->look.begin_ns = kernel_thread->record->charged_cpu_ns;
    kernel_thread->joined = epoch;
}

void kernel_thread__doubt(struct kernel_thread *kernel_thread)
{
    kernel_thread->tree.lost_depth |= CALL_TREE_UNSEEN;
}

/* The tokens that are out are of another kind from here on. */
static void renew_tokens(struct call_tree *tree)
{
    tree->token = (tree->token >> 32) + (1u << EPOCH_BITS);
    tree->token = (uint64_t)(uint32_t)tree->token << 32;
}

void kernel_thread__stand_at_root(struct kernel_thread *kernel_thread)
{
    struct call_tree *tree = &kernel_thread->tree;

    /* What it consumed since the epoch began is of the first place that is known. */
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
        call_tree__go_to(tree, kernel_thread->thread->root, 0);
        call_tree__begin_epoch(tree, epoch);
        kernel_thread__stand_on(kernel_thread, keys, count, true);
        kernel_thread->placed = epoch;
    }
    kernel_thread__let_go(kernel_thread);
}

/* A carrier's first event finds out who is mounted. */
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

void kernel_thread__mend_silent(struct kernel_thread *kernel_thread,
                                const struct position_mend *mend)
{
    uint32_t epoch = __atomic_load_n(&kernel_thread->setup->epoch, __ATOMIC_ACQUIRE);

    if (kernel_thread__begin_placing(kernel_thread, epoch))
        stand_where_it_stands(kernel_thread, mend);
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

/* What is consumed from here to the kernel thread's very end goes to the group. */
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

/* A thread that was not running meanwhile tells nothing of what the hook took. */
#define SLOW_HOOK_TICKS_MOST 200000u

/* The counter, if this one is to be timed; else 0. */
static uint64_t begin_slowly(struct kernel_thread *kernel_thread)
{
    struct slow_hooks *slow = &kernel_thread->slow_hooks;

    __atomic_store_n(&slow->calls, slow->calls + 1, __ATOMIC_RELAXED);
    return slow->calls % SLOW_HOOKS_TIMED == 0 ? cycle_counter__read() : 0;
}

static void end_slowly(struct kernel_thread *kernel_thread, uint64_t began)
{
    struct slow_hooks *slow = &kernel_thread->slow_hooks;
    uint64_t ticks = began ? cycle_counter__read() - began : 0;

    if (!ticks || ticks > SLOW_HOOK_TICKS_MOST)
        return;
    __atomic_store_n(&slow->timed, slow->timed + 1, __ATOMIC_RELAXED);
    __atomic_store_n(&slow->timed_ticks, slow->timed_ticks + ticks, __ATOMIC_RELAXED);
}

bool kernel_thread__push_folded(struct kernel_thread *kernel_thread, uint64_t key, uint64_t *token)
{
    struct call_tree *tree = &kernel_thread->tree;
    uint64_t now_ns, began;

    if (tree->lost_depth != CALL_TREE_FOLDED)
        return false;
    now_ns = kernel_thread__fast_now_ns(kernel_thread);
    if (!now_ns)
        return false;
    began = begin_slowly(kernel_thread);
    kernel_thread__charge_cpu(kernel_thread->record, tree->current, now_ns);
    *token = tree->token++;
    call_tree__enter_slowly(tree, key, true);
    if (tree->hand.has_worked)
        kernel_thread__charge_pruning(kernel_thread);
    kernel_thread__publish(kernel_thread);
    end_slowly(kernel_thread, began);
    return true;
}

bool kernel_thread__pop_folded(struct kernel_thread *kernel_thread, uint64_t token)
{
    struct call_tree *tree = &kernel_thread->tree;
    uint64_t now_ns, began;

    if (tree->lost_depth != CALL_TREE_FOLDED || token + 1 != tree->token)
        return false;
    now_ns = kernel_thread__fast_now_ns(kernel_thread);
    if (!now_ns)
        return false;
    began = begin_slowly(kernel_thread);
    kernel_thread__charge_cpu(kernel_thread->record, tree->current, now_ns);
    call_tree__go_back(tree);
    tree->token = token;
    kernel_thread__publish(kernel_thread);
    end_slowly(kernel_thread, began);
    return true;
}

uint64_t kernel_thread__push_slowly(struct kernel_thread *kernel_thread, uint64_t key)
{
    uint64_t began, token;

    if (!kernel_thread__counts(kernel_thread))
        return CALL_TOKEN_NONE;
    began = begin_slowly(kernel_thread);
    kernel_thread__charge(kernel_thread);
    if (call_tree__is_unseen(&kernel_thread->tree))
        kernel_thread__stand_on_nothing(kernel_thread);
    token = call_tree__push(&kernel_thread->tree, key);
    if (kernel_thread->tree.hand.has_worked)
        kernel_thread__charge_pruning(kernel_thread);
    kernel_thread__publish(kernel_thread);
    end_slowly(kernel_thread, began);
    return token;
}

void kernel_thread__pop_slowly(struct kernel_thread *kernel_thread, uint64_t token)
{
    uint64_t began;

    if (!kernel_thread__counts(kernel_thread))
        return;
    began = begin_slowly(kernel_thread);
    kernel_thread__charge(kernel_thread);
    if (call_tree__is_unseen(&kernel_thread->tree))
        kernel_thread__stand_on_nothing(kernel_thread);
    call_tree__pop(&kernel_thread->tree, token);
    kernel_thread__publish(kernel_thread);
    end_slowly(kernel_thread, began);
}
