#include "native/thread/open_calls.h"

#include "native/thread/kernel_thread.h"

#define CALLS_A_NOTE 2u

/* Slot 0 of a note is the ref of the older note, slot 1 is free; then come the calls. */
struct open_call {
    uint32_t token[2];    /* low half first: slots are aligned to four bytes only */
    uint32_t entry_ns[2]; /* of the ledger's clock, and IS_PART */
    uint32_t cpu_ns[2];   /* of the thread at the entry, as struct ledger_open_calls counts it */
    ledger_ref method;    /* or the part */
};

#define IS_PART (UINT64_C(1) << 63)

_Static_assert(2 * sizeof(uint32_t) + CALLS_A_NOTE * sizeof(struct open_call) ==
                   sizeof(struct ledger_note),
               "a link and the calls");

static void split(uint32_t halves[2], uint64_t value)
{
    halves[0] = (uint32_t)value;
    halves[1] = (uint32_t)(value >> 32);
}

static uint64_t joined(const uint32_t halves[2])
{
    return (uint64_t)halves[1] << 32 | halves[0];
}

static bool is_part(const struct open_call *call)
{
    return joined(call->entry_ns) & IS_PART;
}

static struct open_call *newest(const struct ledger *ledger, const struct ledger_open_calls *open)
{
    struct ledger_note *note = ledger__at(ledger, open->top);

    return (struct open_call *)(void *)&note->slots[2] + (open->used - 1);
}

static bool push(struct record_pool *pool, struct ledger_open_calls *open)
{
    ledger_ref ref;

    if (!open->top || open->used == CALLS_A_NOTE) {
        pool->takes_reserved = RESERVE_HALF;
        ref = record_pool__note(pool);
        pool->takes_reserved = RESERVE_NONE;
        if (!ref)
            return false;
        ((struct ledger_note *)ledger__at(pool->ledger, ref))->slots[0] = open->top;
        open->top = ref;
        open->used = 0;
    }
    open->used++;
    return true;
}

static void pop(struct record_pool *pool, struct ledger_open_calls *open)
{
    ledger_ref ref = open->top;

    if (--open->used)
        return;
    open->top = ((const struct ledger_note *)ledger__at(pool->ledger, ref))->slots[0];
    open->used = open->top ? CALLS_A_NOTE : 0;
    record_pool__give_note(pool, ref);
}

/* The newest call or part has no end. */
static void drop(struct record_pool *pool, struct ledger_open_calls *open)
{
    const struct open_call *call = newest(pool->ledger, open);

    if (is_part(call))
        chain_part__give_up(pool->ledger, call->method);
    pop(pool, open);
}

void open_calls__clear(struct record_pool *pool, struct ledger_open_calls *open)
{
    while (open->top)
        drop(pool, open);
}

struct ledger_open_calls open_calls__yield(struct kernel_thread *kernel_thread)
{
    struct ledger_open_calls open = kernel_thread->open_calls;

    open.cpu_ns += kernel_thread->record->charged_cpu_ns;
    kernel_thread->open_calls = (struct ledger_open_calls){0};
    return open;
}

void open_calls__resume(struct kernel_thread *kernel_thread, const struct ledger_open_calls *open)
{
    kernel_thread->open_calls = *open;
    kernel_thread->open_calls.cpu_ns -= kernel_thread->record->charged_cpu_ns;
}

static void count_unmeasured(struct ledger *ledger)
{
    ledger__count(&ledger->header->unmeasured_calls, 1);
}

/* The same, and it is counted if it is a call. */
static void drop_counted(struct record_pool *pool, struct ledger_open_calls *open)
{
    if (!is_part(newest(pool->ledger, open)))
        count_unmeasured(pool->ledger);
    drop(pool, open);
}

/* Drops the calls of an earlier epoch, and those from `token` on: their exits were missed. */
static void drop_missed(struct kernel_thread *kernel_thread, uint64_t token)
{
    struct ledger_open_calls *open = &kernel_thread->open_calls;
    struct call_tree *tree = &kernel_thread->tree;

    while (open->top) {
        uint64_t newest_token = joined(newest(tree->ledger, open)->token);

        if (newest_token >> 32 != token >> 32) {
            open_calls__clear(&tree->pool, open);
            return;
        }
        if (newest_token < token || kernel_thread->setup->names_exits)
            return;
        drop_counted(&tree->pool, open);
    }
}

void open_calls__give_up(struct kernel_thread *kernel_thread, uint64_t token)
{
    drop_missed(kernel_thread, token);
}

/* The method of the frame that was just entered, if latency= names it; else none. */
static ledger_ref measured_method(const struct call_tree *tree, uint64_t key)
{
    bool has_node = !(tree->lost_depth & ~CALL_TREE_FLAGS) && tree->current->key == key;
    ledger_ref ref = has_node ? tree->current->method : ledger__find_method(tree->ledger, key);
    const struct ledger_method *method = ledger__at(tree->ledger, ref);

    return ref && method->flags & METHOD_LATENCY ? ref : 0;
}

/* What this takes itself, and the entry's look at the tree, is not the call's. */
static void note_entry(const struct kernel_thread *kernel_thread, struct open_call *call)
{
    const struct ledger_kernel_thread *record = kernel_thread->record;
    uint64_t cpu_ns = record->charged_cpu_ns, last_ns = ledger_kernel_thread__last_ns(record);
    uint64_t now_ns = ledger_time__now_ns(&kernel_thread->setup->time);

    if (now_ns < last_ns)
        now_ns = last_ns;
    if (kernel_clock__ran_through(&kernel_thread->clock, now_ns))
        cpu_ns += now_ns - last_ns;
    split(call->entry_ns, now_ns);
    split(call->cpu_ns, kernel_thread->open_calls.cpu_ns + cpu_ns);
}

void open_calls__enter(struct kernel_thread *kernel_thread, uint64_t key, uint64_t token)
{
    struct call_tree *tree = &kernel_thread->tree;
    ledger_ref method = measured_method(tree, key);
    struct open_call *call;

    if (!method)
        return;
    drop_missed(kernel_thread, token);
    if (!push(&tree->pool, &kernel_thread->open_calls)) {
        count_unmeasured(tree->ledger);
        return;
    }
    call = newest(tree->ledger, &kernel_thread->open_calls);
    call->method = method;
    split(call->token, token);
    note_entry(kernel_thread, call);
}

static ledger_ref make_record(struct ledger *ledger, ledger_ref method,
                              enum ledger_latency_clock clock)
{
    uint64_t most = ledger->header->max_bytes / LATENCY_LEDGER_PART / LEDGER_CHUNK_BYTES;
    uint32_t cells = sizeof(struct ledger_latency) / LEDGER_CELL_BYTES;
    struct ledger_latency *latency;
    ledger_ref ref = 0;

    if (__atomic_fetch_add(&ledger->header->latency_records, 1, __ATOMIC_RELAXED) < most)
        ref = ledger__take_shared(ledger, LEDGER_LATENCIES, cells);
    if (!ref)
        return 0;
    latency = ledger__at(ledger, ref);
    latency->clock = clock;
    latency->method = method;
    return ref;
}

/* The record of elapsed time, with that of CPU time. NULL: there is no room. If another thread
 * makes the records at the same time, one pair is never used. */
static struct ledger_latency *record_of(struct ledger *ledger, ledger_ref ref)
{
    struct ledger_method *method = ledger__at(ledger, ref);
    ledger_ref elapsed = __atomic_load_n(&method->latency, __ATOMIC_ACQUIRE), none = 0, cpu;

    if (elapsed)
        return ledger__at(ledger, elapsed);
    cpu = make_record(ledger, ref, LATENCY_CPU);
    elapsed = cpu ? make_record(ledger, ref, LATENCY_ELAPSED) : 0;
    if (!elapsed)
        return NULL;
    ((struct ledger_latency *)ledger__at(ledger, elapsed))->cpu = cpu;
    if (__atomic_compare_exchange_n(&method->latency, &none, elapsed, false, __ATOMIC_ACQ_REL,
                                    __ATOMIC_ACQUIRE))
        return ledger__at(ledger, elapsed);
    ((struct ledger_latency *)ledger__at(ledger, elapsed))->method = 0;
    ((struct ledger_latency *)ledger__at(ledger, cpu))->method = 0;
    return ledger__at(ledger, none);
}

static void raise_to(uint64_t *value, uint64_t to)
{
    uint64_t seen = __atomic_load_n(value, __ATOMIC_RELAXED);

    while (seen < to &&
           !__atomic_compare_exchange_n(value, &seen, to, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        ;
}

/* The maximum comes first: no reader sees a value above it. */
static void add(struct ledger_latency *latency, uint64_t ns)
{
    uint64_t last_ns = __atomic_exchange_n(&latency->last_ns, ns + 1, __ATOMIC_RELAXED);

    raise_to(&latency->max_ns, ns);
    __atomic_fetch_add(&latency->sum_ns, ns, __ATOMIC_RELAXED);
    if (last_ns--) {
        __atomic_fetch_add(&latency->steps, 1, __ATOMIC_RELAXED);
        __atomic_fetch_add(&latency->step_ns, ns > last_ns ? ns - last_ns : last_ns - ns,
                           __ATOMIC_RELAXED);
    }
    __atomic_fetch_add(&latency->buckets[latency__bucket(ns)], 1, __ATOMIC_RELAXED);
}

/* Either clock may be set back a little by a look at the kernel's clock. */
static uint64_t since(uint64_t now_ns, uint64_t entry_ns)
{
    return (int64_t)(now_ns - entry_ns) > 0 ? now_ns - entry_ns : 0;
}

static void end_newest(struct kernel_thread *kernel_thread)
{
    struct ledger *ledger = kernel_thread->tree.ledger;
    struct ledger_open_calls *open = &kernel_thread->open_calls;
    const struct open_call *call = newest(ledger, open);
    const struct ledger_kernel_thread *record = kernel_thread->record;
    struct ledger_latency *elapsed = is_part(call) ? NULL : record_of(ledger, call->method);

    if (is_part(call)) {
        chain_part__end(
            ledger, call->method,
            since(ledger_kernel_thread__last_ns(record), joined(call->entry_ns) & ~IS_PART),
            since(open->cpu_ns + record->charged_cpu_ns, joined(call->cpu_ns)));
    } else if (elapsed) {
        add(elapsed, since(ledger_kernel_thread__last_ns(record), joined(call->entry_ns)));
        add(ledger__at(ledger, elapsed->cpu),
            since(open->cpu_ns + record->charged_cpu_ns, joined(call->cpu_ns)));
    } else {
        count_unmeasured(ledger);
    }
    pop(&kernel_thread->tree.pool, open);
}

/* A token of another epoch is that of an old frame. */
void open_calls__leave(struct kernel_thread *kernel_thread, uint64_t token)
{
    const struct call_tree *tree = &kernel_thread->tree;

    if (token >> 32 != tree->token >> 32)
        return;
    drop_missed(kernel_thread, token + 1);
    if (kernel_thread->open_calls.top &&
        joined(newest(tree->ledger, &kernel_thread->open_calls)->token) == token)
        end_newest(kernel_thread);
}

static uint64_t newest_key(const struct kernel_thread *kernel_thread)
{
    const struct ledger *ledger = kernel_thread->tree.ledger;
    const struct ledger_open_calls *open = &kernel_thread->open_calls;
    const struct ledger_method *method;

    if (!open->top || is_part(newest(ledger, open)))
        return 0;
    method = ledger__at(ledger, newest(ledger, open)->method);
    return method->key;
}

/* Calls above the one that is left had no exit. */
void open_calls__leave_method(struct kernel_thread *kernel_thread, uint64_t key)
{
    struct call_tree *tree = &kernel_thread->tree;
    struct ledger_open_calls *open = &kernel_thread->open_calls;

    drop_missed(kernel_thread, tree->token);
    if (!open->top || !measured_method(tree, key))
        return;
    while (newest_key(kernel_thread) != key && open->top)
        drop_counted(&tree->pool, open);
    if (open->top)
        end_newest(kernel_thread);
}

/* The calls of a note and of those below it, from the newest on; false: there are no more. */
static bool next_older(const struct ledger *ledger, struct ledger_open_calls *open)
{
    if (--open->used == 0) {
        open->top = ((const struct ledger_note *)ledger__at(ledger, open->top))->slots[0];
        open->used = CALLS_A_NOTE;
    }
    return open->top != 0;
}

static bool has_part_of(const struct kernel_thread *kernel_thread, const uint64_t id[2])
{
    const struct ledger *ledger = kernel_thread->tree.ledger;
    struct ledger_open_calls open = kernel_thread->open_calls;
    bool more = open.top != 0;

    for (; more; more = next_older(ledger, &open)) {
        const struct open_call *call = newest(ledger, &open);
        const struct ledger_part *part = ledger__at(ledger, call->method);

        if (is_part(call) && part->id[0] == id[0] && part->id[1] == id[1])
            return true;
    }
    return false;
}

bool open_calls__begin_part(struct kernel_thread *kernel_thread, struct chain_parts *parts,
                            const struct ledger_part *contents, uint64_t token)
{
    struct call_tree *tree = &kernel_thread->tree;
    struct ledger_open_calls *open = &kernel_thread->open_calls;
    const struct ledger_kernel_thread *record = kernel_thread->record;
    struct open_call *call;
    ledger_ref ref;

    drop_missed(kernel_thread, token);
    if (has_part_of(kernel_thread, contents->id))
        return false;
    if (!push(&tree->pool, open)) {
        ledger__count(&tree->ledger->header->lost_parts, 1);
        return false;
    }
    ref = chain_parts__begin(parts, contents);
    if (!ref) {
        pop(&tree->pool, open);
        return false;
    }
    call = newest(tree->ledger, open);
    call->method = ref;
    split(call->token, token);
    split(call->entry_ns, ledger_kernel_thread__last_ns(record) | IS_PART);
    split(call->cpu_ns, open->cpu_ns + record->charged_cpu_ns);
    return true;
}

const struct ledger_part *open_calls__part(const struct kernel_thread *kernel_thread)
{
    const struct ledger *ledger = kernel_thread->tree.ledger;
    struct ledger_open_calls open = kernel_thread->open_calls;
    bool more = open.top != 0;

    for (; more; more = next_older(ledger, &open))
        if (is_part(newest(ledger, &open)))
            return ledger__at(ledger, newest(ledger, &open)->method);
    return NULL;
}

void open_calls__end_part(struct kernel_thread *kernel_thread, uint32_t token)
{
    struct ledger_open_calls *open = &kernel_thread->open_calls, look = *open;
    const struct ledger *ledger = kernel_thread->tree.ledger;
    bool more = look.top != 0;

    while (more && !(is_part(newest(ledger, &look)) && newest(ledger, &look)->token[0] == token))
        more = next_older(ledger, &look);
    if (!more)
        return;
    while (open->top != look.top || open->used != look.used)
        drop_counted(&kernel_thread->tree.pool, open);
    end_newest(kernel_thread);
}
