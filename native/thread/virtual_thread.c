#include "native/thread/virtual_thread.h"

#include "native/thread/wait_bracket.h"

#include <sched.h>

#define JOIN_ATTEMPTS 1000u /* placing a thread takes as long as making a few nodes */

static uint64_t unprofiled_wall_ns(const struct kernel_thread *carrier)
{
    return __atomic_load_n(&carrier->setup->ledger->header->unprofiled_wall_ns, __ATOMIC_RELAXED);
}

/* Takes the position of the running Java thread, with its returns. */
static struct java_position take_position(struct kernel_thread *carrier)
{
    struct java_position position = {
        .thread = carrier->thread,
        .node = ledger__ref(carrier->setup->ledger, carrier->tree.current),
        .token = carrier->tree.token,
        .lost_depth = carrier->tree.lost_depth,
        .floor = carrier->tree.floor,
        .unsure = carrier->tree.unsure,
    };

    position.returns = call_tree__yield_returns(&carrier->tree);
    position.open_calls = open_calls__yield(carrier);
    return position;
}

/* Notes a kernel thread that ran the thread, if it is among the first LEDGER_THREAD_TIDS. */
static void note_tid(struct ledger_thread *thread, int32_t tid)
{
    uint32_t known = thread->tid_count;

    for (uint32_t i = 0; i < known; i++)
        if (thread->tids[i] == tid)
            return;
    if (known == LEDGER_THREAD_TIDS) {
        thread->flags |= THREAD_MORE_TIDS;
        return;
    }
    thread->tids[known] = tid;
    thread->tid_count = known + 1;
}

ledger_ref virtual_thread__begin(struct kernel_thread *carrier,
                                 const struct java_thread_facts *facts)
{
    struct ledger *ledger = carrier->setup->ledger;
    ledger_ref ref = kernel_thread__add_thread(carrier, facts);
    struct ledger_thread *thread;

    if (!ref) {
        ledger__count(&ledger->header->dropped_threads, 1);
        return 0;
    }
    thread = ledger__at(ledger, ref);
    thread->current = thread->root;
    thread->unmounted_ns = thread->start_ns;
    thread->unprofiled_wall_ns = unprofiled_wall_ns(carrier);
    if (!facts->may_stand)
        thread->token = (uint64_t)__atomic_load_n(&carrier->setup->epoch, __ATOMIC_ACQUIRE) << 32;
    return ref;
}

static void add_wait(struct kernel_thread *carrier, struct ledger_thread *thread,
                     struct ledger_node *node, uint64_t waited_ns)
{
    __atomic_store_n(&node->wait_ns, node->wait_ns + waited_ns, __ATOMIC_RELAXED);
    wait_bracket__charge_unmounted(carrier, thread, node, waited_ns);
}

/* Charges the time since a virtual thread was unmounted to the node where it waits. A thread that
 * was unmounted in an earlier epoch may wait elsewhere by now: the part of the time after the last
 * start is then returned, not charged. */
static uint64_t charge_parked(struct kernel_thread *carrier, struct ledger_thread *thread)
{
    const struct ledger_header *header = carrier->setup->ledger->header;
    bool is_of_epoch = token__is_of_epoch(thread->token, carrier->epoch);
    struct ledger_node *node = ledger__at(carrier->setup->ledger, thread->current);
    uint64_t unprofiled_ns = unprofiled_wall_ns(carrier) - thread->unprofiled_wall_ns;
    uint64_t until_ns = thread->unmounted_ns + unprofiled_ns;
    uint64_t now_ns = ledger_kernel_thread__last_ns(carrier->record);
    uint64_t later_ns = 0;

    if (!thread->unmounted_ns || now_ns <= until_ns)
        return 0;
    thread->parked_ns += now_ns - until_ns;
    if (!is_of_epoch && header->since_ns < now_ns)
        later_ns = now_ns - (header->since_ns > until_ns ? header->since_ns : until_ns);
    add_wait(carrier, thread, node, now_ns - until_ns - later_ns);
    return later_ns;
}

static void identify(struct kernel_thread *carrier, ledger_ref ref)
{
    const struct ledger_thread *thread = ref ? ledger__at(carrier->setup->ledger, ref) : NULL;

    __atomic_store_n(&carrier->unidentified, false, __ATOMIC_RELEASE);
    carrier->identified = __atomic_load_n(&carrier->setup->epoch, __ATOMIC_ACQUIRE);
    if (carrier->paused)
        kernel_thread__resume(carrier);
    if (!virtual_thread__is_mounted(carrier) ||
        (thread && carrier->thread == thread && !thread->unmounted_ns))
        return;
    kernel_thread__switch_to(carrier, &carrier->carrier);
    carrier->carrier.thread = NULL;
}

void virtual_thread__identify(struct kernel_thread *carrier, ledger_ref ref)
{
    if (!kernel_thread__is_profiling(carrier))
        return;
    for (unsigned attempt = 0; !kernel_thread__begin_joining(carrier); attempt++) {
        if (attempt == JOIN_ATTEMPTS)
            return;
        sched_yield();
    }
    identify(carrier, ref);
    kernel_thread__end_joining(carrier);
}

/* Charges the time from the unmount until profiling was stopped to the node where the virtual
 * thread waited. */
static void charge_parked_until_stop(struct kernel_thread *carrier, struct ledger_thread *thread)
{
    struct ledger_node *node = ledger__at(carrier->setup->ledger, thread->current);
    uint64_t since_ns = carrier->setup->ledger->header->since_ns;
    uint64_t until_ns =
        thread->unmounted_ns + unprofiled_wall_ns(carrier) - thread->unprofiled_wall_ns;

    if (!thread->unmounted_ns || since_ns <= until_ns)
        return;
    thread->parked_ns += since_ns - until_ns;
    add_wait(carrier, thread, node, since_ns - until_ns);
}

static void place(struct kernel_thread *carrier, uint32_t epoch, ledger_ref ref,
                  const uint64_t *keys, uint32_t count)
{
    struct ledger_thread *thread = ledger__at(carrier->setup->ledger, ref);
    bool stays =
        virtual_thread__is_mounted(carrier) && carrier->thread == thread && !thread->unmounted_ns;

    if (virtual_thread__is_mounted(carrier) && !stays) {
        kernel_thread__switch_to(carrier, &carrier->carrier);
        carrier->carrier.thread = NULL;
    }
    kernel_thread__charge_until_stop(carrier);
    if (!stays) {
        charge_parked_until_stop(carrier, thread);
        thread->unmounted_ns = 0;
        return_stack__clear(&carrier->tree.pool, &thread->returns);
        open_calls__clear(&carrier->tree.pool, &thread->open_calls);
        open_calls__clear(&carrier->tree.pool, &carrier->open_calls);
        note_tid(thread, carrier->record->tid);
        carrier->carrier.thread = carrier->thread;
        carrier->record->carries = 1;
        carrier->thread = thread;
        carrier->tree.thread = thread;
    }
    wait_bracket__forget(thread);
    if (stays) {
        return_stack__clear(&carrier->tree.pool, &carrier->carrier.returns);
        open_calls__clear(&carrier->tree.pool, &carrier->carrier.open_calls);
    }
    carrier->carrier = (struct java_position){.thread = carrier->carrier.thread,
                                              .node = carrier->carrier.thread->root,
                                              .token = (uint64_t)epoch << 32,
                                              .lost_depth = CALL_TREE_UNSEEN};
    call_tree__go_to(&carrier->tree, thread->root, 0);
    call_tree__begin_epoch(&carrier->tree, epoch);
    __atomic_store_n(&carrier->record->thread, ref, __ATOMIC_RELEASE);
    kernel_thread__stand_on(carrier, keys, count, true);
    carrier->placed = epoch;
}

ledger_ref virtual_thread__place(struct kernel_thread *carrier, uint32_t epoch, ledger_ref ref,
                                 const struct java_thread_facts *facts, const uint64_t *keys,
                                 uint32_t count)
{
    kernel_thread__hold(carrier);
    if (carrier->idle || !carrier->thread)
        ref = 0;
    else if (!ref)
        ref = virtual_thread__begin(carrier, facts);
    if (ref)
        place(carrier, epoch, ref, keys, count);
    kernel_thread__let_go(carrier);
    return ref;
}

static bool runs(const struct kernel_thread *carrier, ledger_ref ref)
{
    return ref ? virtual_thread__is_mounted(carrier) &&
                     carrier->thread == ledger__at(carrier->setup->ledger, ref)
               : !virtual_thread__is_mounted(carrier);
}

/* If another virtual thread was placed here, it ran elsewhere when the epoch began: all time since
 * then belongs to the one that runs here. */
void virtual_thread__place_again(struct kernel_thread *carrier, uint32_t epoch, ledger_ref ref,
                                 const uint64_t *keys, uint32_t count)
{
    if (runs(carrier, ref)) {
        kernel_thread__place_again(carrier, epoch, keys, count);
        return;
    }
    if (!kernel_thread__begin_placing(carrier, epoch)) {
        kernel_thread__end_placing(carrier);
        return;
    }
    if (ref) {
        place(carrier, epoch, ref, keys, count);
    } else {
        kernel_thread__switch_to(carrier, &carrier->carrier);
        carrier->carrier.thread = NULL;
        call_tree__go_to(&carrier->tree, carrier->thread->root, 0);
        call_tree__begin_epoch(&carrier->tree, epoch);
        kernel_thread__stand_on(carrier, keys, count, true);
    }
    kernel_thread__end_placing(carrier);
}

bool virtual_thread__mount(struct kernel_thread *carrier, ledger_ref ref)
{
    struct ledger_thread *thread = ledger__at(carrier->setup->ledger, ref);
    struct java_position position;
    uint64_t parked_ns;

    if (!kernel_thread__counts(carrier))
        return false;
    if (virtual_thread__is_mounted(carrier))
        virtual_thread__unmount(carrier);
    kernel_thread__charge_checked(carrier);
    kernel_thread__charge_handover(carrier, false);
    parked_ns = charge_parked(carrier, thread);
    if (!token__is_of_epoch(thread->token, carrier->epoch))
        wait_bracket__forget(thread);
    position = (struct java_position){.thread = thread,
                                      .node = thread->current,
                                      .token = thread->token,
                                      .lost_depth = thread->lost_depth,
                                      .floor = thread->floor,
                                      .returns = thread->returns,
                                      .open_calls = thread->open_calls,
                                      .unsure = thread->unsure};
    thread->unmounted_ns = 0;
    thread->mounts++;
    note_tid(thread, carrier->record->tid);
    thread->returns = (struct ledger_returns){0};
    thread->open_calls = (struct ledger_open_calls){0};
    carrier->carrier = take_position(carrier);
    carrier->record->carries = 1;
    kernel_thread__switch_to(carrier, &position);
    carrier->look.parked_ns = parked_ns;
    return true;
}

void virtual_thread__unmount(struct kernel_thread *carrier)
{
    bool counts = kernel_thread__counts(carrier);
    struct ledger_thread *thread = carrier->thread;
    struct java_position position;

    if (!virtual_thread__is_mounted(carrier))
        return;
    if (counts) {
        kernel_thread__charge_checked(carrier);
        kernel_thread__charge_handover(carrier, true);
    }
    if (carrier->look.parked_ns)
        kernel_thread__stand_on_nothing(carrier);
    position = take_position(carrier);
    thread->current = position.node;
    thread->token = position.token;
    thread->lost_depth = position.lost_depth;
    thread->floor = position.floor;
    thread->returns = position.returns;
    thread->open_calls = position.open_calls;
    thread->unsure = position.unsure;
    thread->unprofiled_wall_ns = unprofiled_wall_ns(carrier);
    thread->unmounted_ns = ledger_kernel_thread__last_ns(carrier->record);
    kernel_thread__switch_to(carrier, &carrier->carrier);
    carrier->carrier.thread = NULL;
}

bool virtual_thread__end(struct kernel_thread *carrier, ledger_ref ref)
{
    struct ledger_thread *thread = ledger__at(carrier->setup->ledger, ref);

    bool kept;

    kernel_thread__hold(carrier);
    if (carrier->thread == thread)
        virtual_thread__unmount(carrier);
    return_stack__clear(&carrier->tree.pool, &thread->returns);
    open_calls__clear(&carrier->tree.pool, &thread->open_calls);
    thread->end_ns = ledger_kernel_thread__last_ns(carrier->record);
    thread->unmounted_ns = 0;
    wait_bracket__forget(thread);
    __atomic_store_n(&thread->flags, thread->flags | THREAD_TERMINATED, __ATOMIC_RELEASE);
    kept = thread_fold__fold(&carrier->folder, &carrier->tree, ref) == 0;
    kernel_thread__let_go(carrier);
    return kept;
}

void virtual_thread__pinned(struct kernel_thread *carrier)
{
    carrier->thread->pinned++;
    kernel_thread__count(carrier, METRIC_PINNED);
}
