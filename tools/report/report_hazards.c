#include "tools/report/report_hazards.h"

#include "tools/report/loader.h"
#include "tools/report/memory.h"
#include "tools/report/report_locks.h"

#include <stdlib.h>
#include <string.h>

#define ORDERS_MOST  512u /* of two locks that are compared with each other */
#define CONVOYS_MOST 64u  /* looked at */

/* ---- records ---- */

static void load_path(struct loader *loader, const ledger_ref from[HAZARD_FRAMES], ledger_ref user,
                      struct hazard_path *path)
{
    for (unsigned i = 0; i < HAZARD_FRAMES && from[i]; i++)
        path->frames[path->count++] = loader__text(loader, from[i], user);
}

static struct hazard_lock load_lock(struct loader *loader, ledger_ref class_name, uint32_t identity,
                                    uint32_t kind, ledger_ref user)
{
    return (struct hazard_lock){.class_name = loader__text(loader, class_name, user),
                                .identity = identity,
                                .kind = lock_kind__of(kind)};
}

static void load_stuck(struct loader *loader, ledger_ref ref, struct report_stuck *stuck)
{
    const struct ledger_stuck *record = ledger_reader__stuck(loader->reader, ref);

    *stuck = (struct report_stuck){
        .process = record->process,
        .deadlock = record->deadlock,
        .since_ns = record->since_ns,
        .found_ns = record->found_ns,
        .ended_ns = record->ended_ns,
        .java_id = record->java_id,
        .position = record->position,
        .threads = record->threads,
        .is_timed = record->flags & STUCK_TIMED,
        .is_virtual = record->flags & STUCK_VIRTUAL,
        .is_behind = record->flags & STUCK_BEHIND,
        .thread = loader__text(loader, record->thread, ref),
        .lock = load_lock(loader, record->class_name, record->identity, record->kind, ref),
    };
    load_path(loader, record->path, ref, &stuck->path);
}

static void load_order(struct loader *loader, ledger_ref ref, struct report_order *order)
{
    const struct ledger_order *record = ledger_reader__order(loader->reader, ref);

    *order = (struct report_order){
        .process = record->process,
        .first_ns = record->first_ns,
        .count = record->count,
        .thread_id = record->thread_id,
        .thread = loader__text(loader, record->thread, ref),
        .knows_locks = record->flags & ORDER_LOCKS_KNOWN,
        .held_frame = record->held_frame,
    };
    for (unsigned i = 0; i < 2; i++)
        order->locks[i] =
            load_lock(loader, record->class_name[i], record->identity[i], record->kind[i], ref);
    for (unsigned i = 0; i < ORDER_GATES && record->gate[i]; i++) {
        order->are_read[i] = record->flags & (uint32_t)ORDER_READ_GATE << i;
        order->gates[order->gate_count++] =
            load_lock(loader, record->gate_class[i], record->gate[i], BLOCK_MONITOR, ref);
    }
    load_path(loader, record->path, ref, &order->path);
}

static int by_deadlock(const void *left, const void *right)
{
    const struct report_stuck *a = left, *b = right;

    if (a->process != b->process)
        return a->process > b->process ? 1 : -1;
    if (a->deadlock != b->deadlock)
        return a->deadlock > b->deadlock ? 1 : -1;
    return (a->position > b->position) - (a->position < b->position);
}

void loader__load_hazards(struct loader *loader)
{
    struct report_model *model = loader->model;
    ledger_ref last = 0, ref = 0;
    uint32_t stuck = loader__count_records(loader, LEDGER_STUCK, &last);
    uint32_t orders = loader__count_records(loader, LEDGER_ORDERS, &last);

    model->stuck = memory__zeroed(stuck, sizeof(*model->stuck));
    model->orders = memory__zeroed(orders, sizeof(*model->orders));
    while ((ref = ledger_reader__next(loader->reader, LEDGER_STUCK, ref)) != 0)
        if (ledger_reader__stuck(loader->reader, ref)->deadlock && model->stuck_count < stuck)
            load_stuck(loader, ref, &model->stuck[model->stuck_count++]);
    while ((ref = ledger_reader__next(loader->reader, LEDGER_ORDERS, ref)) != 0)
        if (ledger_reader__order(loader->reader, ref)->key && model->order_count < orders)
            load_order(loader, ref, &model->orders[model->order_count++]);
    if (model->stuck_count)
        qsort(model->stuck, model->stuck_count, sizeof(*model->stuck), by_deadlock);
}

/* ---- deadlocks ---- */

/* Records of one deadlock stand together. One that claims a position of another makes no sense, nor
 * does one record of several. */
static bool make_sense(const struct report_stuck *parts, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (parts[i].position != i || parts[i].threads != parts[0].threads ||
            parts[i].threads < count)
            return false;
    return count > 1 || parts[0].threads == 1;
}

static void add_deadlock(struct report_hazards *hazards, const struct report_stuck *parts,
                         uint32_t count)
{
    struct hazard_deadlock deadlock = {.parts = parts, .count = count};
    bool is_known = true;

    if (!make_sense(parts, count))
        return;
    if (parts[0].ended_ns) {
        hazards->ended++;
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        deadlock.is_timed |= parts[i].is_timed;
        is_known &= parts[i].since_ns != 0;
        if (parts[i].since_ns > deadlock.since_ns)
            deadlock.since_ns = parts[i].since_ns;
    }
    if (!is_known)
        deadlock.since_ns = 0;
    hazards->deadlocks[hazards->deadlock_count++] = deadlock;
}

static void find_deadlocks(struct report_hazards *hazards, const struct report_model *model)
{
    hazards->deadlocks = memory__zeroed(model->stuck_count, sizeof(*hazards->deadlocks));
    for (uint32_t first = 0, end; first < model->stuck_count; first = end) {
        const struct report_stuck *parts = &model->stuck[first];

        for (end = first + 1; end < model->stuck_count &&
                              model->stuck[end].deadlock == parts->deadlock &&
                              model->stuck[end].process == parts->process;)
            end++;
        add_deadlock(hazards, parts, end - first);
    }
}

/* ---- pairs of locks ---- */

static int compare_locks(const struct hazard_lock *a, const struct hazard_lock *b)
{
    if (a->identity != b->identity)
        return a->identity > b->identity ? 1 : -1;
    return text__compare(a->class_name, b->class_name);
}

static bool is_lock(const struct hazard_lock *a, const struct hazard_lock *b)
{
    return a->identity && compare_locks(a, b) == 0;
}

/* The class of a Lock that nobody has waited for is not known. */
static bool is_gate(const struct hazard_lock *a, const struct hazard_lock *b)
{
    return is_lock(a, b) || (a->identity && a->identity == b->identity &&
                             (!a->class_name.length || !b->class_name.length));
}

static bool share_gate(const struct report_order *a, const struct report_order *b)
{
    for (uint32_t i = 0; i < a->gate_count; i++)
        for (uint32_t j = 0; j < b->gate_count; j++)
            if (is_gate(&a->gates[i], &b->gates[j]) && !(a->are_read[i] && b->are_read[j]))
                return true;
    return false;
}

/* What an order is about, whichever lock came first: the lesser lock comes first here. */
static const struct hazard_lock *lesser(const struct report_order *order)
{
    return &order->locks[compare_locks(&order->locks[0], &order->locks[1]) > 0];
}

static const struct hazard_lock *greater(const struct report_order *order)
{
    return &order->locks[compare_locks(&order->locks[0], &order->locks[1]) <= 0];
}

struct sorted_order {
    const struct report_order *order;
};

static int by_locks(const void *left, const void *right)
{
    const struct report_order *a = ((const struct sorted_order *)left)->order;
    const struct report_order *b = ((const struct sorted_order *)right)->order;
    int order = compare_locks(lesser(a), lesser(b));

    if (!order)
        order = compare_locks(greater(a), greater(b));
    if (!order && a->process != b->process)
        order = a->process > b->process ? 1 : -1;
    return order ? order : (a->first_ns > b->first_ns) - (a->first_ns < b->first_ns);
}

static bool are_about_the_same(const struct report_order *a, const struct report_order *b)
{
    return a->process == b->process && compare_locks(lesser(a), lesser(b)) == 0 &&
           compare_locks(greater(a), greater(b)) == 0;
}

static bool contradict(const struct report_order *a, const struct report_order *b)
{
    return a->thread_id != b->thread_id && is_lock(&a->locks[0], &b->locks[1]) &&
           is_lock(&a->locks[1], &b->locks[0]) && !is_lock(&a->locks[0], &a->locks[1]) &&
           !share_gate(a, b);
}

static bool is_same_path(const struct hazard_path *a, const struct hazard_path *b)
{
    if (a->count != b->count)
        return false;
    for (uint32_t i = 0; i < a->count; i++)
        if (text__compare(a->frames[i], b->frames[i]) != 0)
            return false;
    return true;
}

/* The same was seen once more, when all Locks were known. */
static bool is_outdated(const struct report_order *order, const struct sorted_order *orders,
                        uint32_t count)
{
    for (uint32_t i = 0; !order->knows_locks && i < count; i++)
        if (orders[i].order->knows_locks && is_lock(&orders[i].order->locks[0], &order->locks[0]) &&
            is_same_path(&orders[i].order->path, &order->path))
            return true;
    return false;
}

static bool find_pair(struct report_hazards *hazards, const struct sorted_order *orders,
                      uint32_t count, bool is_sure)
{
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t j = i + 1; j < count; j++) {
            const struct report_order *a = orders[i].order, *b = orders[j].order;

            if ((a->knows_locks && b->knows_locks) != is_sure || !contradict(a, b) ||
                is_outdated(a, orders, count) || is_outdated(b, orders, count))
                continue;
            hazards->pairs[hazards->pair_count++] =
                (struct hazard_pair){.orders = {a, b}, .is_sure = is_sure};
            return true;
        }
    return false;
}

/* One pair for the same two locks; a sure one, if there is any. */
static void find_best_pair(struct report_hazards *hazards, const struct sorted_order *orders,
                           uint32_t count)
{
    if (count > ORDERS_MOST)
        count = ORDERS_MOST;
    if (!find_pair(hazards, orders, count, true))
        (void)find_pair(hazards, orders, count, false);
}

static void find_pairs(struct report_hazards *hazards, const struct report_model *model)
{
    uint32_t count = model->order_count;
    struct sorted_order *orders = memory__zeroed(count, sizeof(*orders));

    hazards->pairs = memory__zeroed(count, sizeof(*hazards->pairs));
    for (uint32_t i = 0; i < count; i++)
        orders[i].order = &model->orders[i];
    if (count)
        qsort(orders, count, sizeof(*orders), by_locks);
    for (uint32_t first = 0, end; first < count; first = end) {
        for (end = first + 1;
             end < count && are_about_the_same(orders[first].order, orders[end].order);)
            end++;
        find_best_pair(hazards, &orders[first], end - first);
    }
    free(orders);
}

/* ---- priorities ---- */

static int longest_wait_first(const void *left, const void *right)
{
    const struct report_block *a = ((const struct hazard_inversion *)left)->block;
    const struct report_block *b = ((const struct hazard_inversion *)right)->block;

    return (a->wait_ns < b->wait_ns) - (a->wait_ns > b->wait_ns);
}

static void find_inversions(struct report_hazards *hazards, const struct report_model *model)
{
    hazards->inversions = memory__zeroed(model->block_count, sizeof(*hazards->inversions));
    for (uint32_t i = 0; i < model->block_count; i++) {
        const struct report_block *block = &model->blocks[i];

        if (block->count && block->holder_priority &&
            block->waiter_priority > block->holder_priority &&
            block->wait_max_ns >= INVERSION_LEAST_NS)
            hazards->inversions[hazards->inversion_count++].block = block;
    }
    if (hazards->inversion_count)
        qsort(hazards->inversions, hazards->inversion_count, sizeof(*hazards->inversions),
              longest_wait_first);
}

/* ---- convoys ---- */

static bool waits_for(const struct report_block *block, const struct report_lock *lock)
{
    return block->count && block->identity == lock->identity && block->kind == lock->kind &&
           text__compare(block->class_name, lock->class_name) == 0;
}

/* Of different names; enough are enough. */
static uint32_t count_waiters(const struct report_model *model, const struct report_lock *lock)
{
    const struct report_block *found[CONVOY_THREADS];
    uint32_t count = 0;

    for (uint32_t i = 0; i < model->block_count && count < CONVOY_THREADS; i++) {
        uint32_t same = 0;

        if (!waits_for(&model->blocks[i], lock))
            continue;
        while (same < count && text__compare(found[same]->waiter, model->blocks[i].waiter) != 0)
            same++;
        if (same == count)
            found[count++] = &model->blocks[i];
    }
    return count;
}

/* False: threads of native code wait there for what others do, or for what is not known, not for
 * their turn. */
static bool has_turns(const struct report_lock *lock)
{
    static const char *const without[] = {
        "pthread_barrier_t", "pthread_cond_t", "pthread_t", "cnd_t", "thrd_t", "futex"};
    size_t length;

    for (size_t i = 0; i < sizeof(without) / sizeof(*without); i++) {
        length = strlen(without[i]);
        if (lock->kind == BLOCK_NATIVE && lock->class_name.length >= length &&
            memcmp(lock->class_name.bytes, without[i], length) == 0)
            return false;
    }
    return true;
}

static bool queues(const struct report_lock *lock, uint64_t wall_ns)
{
    return lock->identity && has_turns(lock) && lock->contentions >= CONVOY_WAITS &&
           lock->blocked_ns >= wall_ns / 100 * CONVOY_PERCENT &&
           lock->wait_ns / CONVOY_QUEUE >= lock->blocked_ns &&
           lock->blocked_ns / lock->contentions <= CONVOY_TURN_NS;
}

/* any: of waiters, who are known. */
static struct lock_path first_known(const struct lock_paths *paths, bool any)
{
    for (uint32_t i = 0; i < paths->count; i++)
        if (any || paths->paths[i].is_known)
            return paths->paths[i];
    return (struct lock_path){.is_known = false};
}

static void find_convoys(struct report_hazards *hazards, const struct report_model *model)
{
    struct report_locks *locks = report_locks__new(model, NULL, NULL);
    uint64_t wall_ns = report_model__profiled_to_ns(model);
    uint32_t looked_at = 0;

    hazards->convoys = memory__zeroed(locks->count, sizeof(*hazards->convoys));
    for (uint32_t i = 0; i < locks->count; i++) {
        const struct report_lock *lock = &locks->locks[i];
        uint32_t threads = 0;

        if (queues(lock, wall_ns) && looked_at++ < CONVOYS_MOST)
            threads = count_waiters(model, lock);

        if (threads >= CONVOY_THREADS)
            hazards->convoys[hazards->convoy_count++] =
                (struct hazard_convoy){.lock = {lock->class_name, lock->identity, lock->kind},
                                       .threads = threads,
                                       .waits = lock->contentions,
                                       .wait_ns = lock->wait_ns,
                                       .hold_ns = lock->blocked_ns,
                                       .waiter = first_known(&lock->waiters, true),
                                       .holder = first_known(&lock->blockers, false)};
    }
    report_locks__free(locks);
}

/* ---- all ---- */

struct report_hazards *report_hazards__new(const struct report_model *model)
{
    struct report_hazards *hazards = memory__zeroed(1, sizeof(*hazards));

    find_deadlocks(hazards, model);
    find_pairs(hazards, model);
    find_inversions(hazards, model);
    find_convoys(hazards, model);
    return hazards;
}

void report_hazards__free(struct report_hazards *hazards)
{
    if (!hazards)
        return;
    free(hazards->deadlocks);
    free(hazards->pairs);
    free(hazards->inversions);
    free(hazards->convoys);
    free(hazards);
}

bool report_hazards__are_bad(const struct report_hazards *hazards)
{
    for (uint32_t i = 0; i < hazards->deadlock_count; i++)
        if (!hazards->deadlocks[i].is_timed)
            return true;
    return hazards->pair_count > 0;
}
