#include "native/thread/lock_blocks.h"

#include "native/thread/thread_fold.h"

#include <string.h>

#define PROBES          512u /* a table that is three quarters full has no such long clusters */
#define ACQUIRED_PROBES 8u   /* locks of shared blocks may fill that table */
#define PATH_STEPS      256u /* of a path that may change meanwhile, and so go in circles */

/* The finalizer of MurmurHash3 [A. Appleby]. */
static uint64_t mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * 0xff51afd7ed558ccdu;
    hash = (hash ^ hash >> 33) * 0xc4ceb9fe1a85ec53u;
    return hash ^ hash >> 33;
}

static struct ledger_thread *thread_at(const struct lock_blocks *blocks, ledger_ref ref)
{
    return ledger__at(blocks->ledger, ref);
}

/* Of another thread the path may change, and its nodes may be reused for other nodes: the result is
 * then another path, but always one of methods. */
static void copy_path(const struct ledger *ledger, ledger_ref ref, ledger_ref path[BLOCK_FRAMES])
{
    unsigned frames = 0;

    for (unsigned steps = 0; ref && frames < BLOCK_FRAMES && steps < PATH_STEPS; steps++) {
        const struct ledger_node *node = ledger__at(ledger, ref);
        ledger_ref method = __atomic_load_n(&node->method, __ATOMIC_RELAXED);

        if (method)
            path[frames++] = method;
        ref = __atomic_load_n(&node->parent, __ATOMIC_RELAXED);
    }
}

static uint64_t hash_path(uint64_t hash, const ledger_ref path[BLOCK_FRAMES])
{
    for (unsigned i = 0; i < BLOCK_FRAMES && path[i]; i++)
        hash = mix(hash, path[i]);
    return mix(hash, 0);
}

/* FNV-1a [G. Fowler, L. C. Noll, K.-P. Vo]. */
static uint64_t hash_bytes(const char *bytes, size_t length)
{
    uint64_t hash = 14695981039346656037u;

    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)bytes[i]) * 1099511628211u;
    return hash;
}

/* All but the names, for which the ids stand. */
static void describe(const struct lock_blocks *blocks, const struct lock_identity *lock,
                     struct lock_place waiter, struct lock_place holder, struct ledger_block *block)
{
    *block = (struct ledger_block){
        .class_name = lock->class_name, .identity = lock->identity, .kind = lock->kind};
    block->waiter_id = thread_at(blocks, waiter.thread)->java_id;
    block->waiter_priority = thread_at(blocks, waiter.thread)->priority;
    copy_path(blocks->ledger, waiter.node, block->waiter_path);
    if (holder.thread) {
        block->holder_id = thread_at(blocks, holder.thread)->java_id;
        block->holder_priority = thread_at(blocks, holder.thread)->priority;
        copy_path(blocks->ledger, holder.node, block->holder_path);
    }
}

/* waiter and holder: what tells the threads apart. */
static uint64_t key_of(const struct ledger_block *block, uint64_t waiter, uint64_t holder)
{
    uint64_t key = mix(0, (uint64_t)block->class_name << 32 | block->identity);

    key = mix(mix(mix(key, block->kind), waiter), holder);
    key = hash_path(hash_path(key, block->waiter_path), block->holder_path);
    return key ? key : 1;
}

static size_t name_of(const struct lock_blocks *blocks, ledger_ref thread, bool folded,
                      char name[FOLD_NAME_BYTES])
{
    const struct ledger_thread *record = thread_at(blocks, thread);
    const struct ledger_string *string = ledger__at(blocks->ledger, record->name);
    size_t length = string->length;

    if (folded)
        return thread_fold__group_name(blocks->ledger, record, name);
    if (length > FOLD_NAME_BYTES)
        length = FOLD_NAME_BYTES;
    memcpy(name, ledger_string__bytes(string), length);
    return length;
}

static ledger_ref store_name(const struct lock_blocks *blocks, ledger_ref thread, bool folded)
{
    char name[FOLD_NAME_BYTES];
    size_t length = name_of(blocks, thread, folded, name);

    return ledger__string(blocks->ledger, name, length);
}

static ledger_ref add(struct lock_blocks *blocks, const struct ledger_block *like,
                      struct lock_place waiter, struct lock_place holder, bool folded)
{
    struct ledger_block *block;
    struct ledger_block named = *like;
    ledger_ref ref;

    if (ledger__is_tight(blocks->ledger))
        return 0;
    named.waiter = store_name(blocks, waiter.thread, folded);
    named.holder = holder.thread ? store_name(blocks, holder.thread, folded) : 0;
    if (!named.waiter || (holder.thread && !named.holder))
        return 0;
    ref = ledger__take_shared(blocks->ledger, LEDGER_BLOCKS, sizeof(*block) / LEDGER_CELL_BYTES);
    if (!ref)
        return 0;
    block = ledger__at(blocks->ledger, ref);
    named.key = 0;
    *block = named;
    __atomic_store_n(&block->key, like->key, __ATOMIC_RELEASE);
    return ref;
}

/* The block with the key of `like`; it is made if there are fewer than `most` blocks. A thread that
 * loses a race for a slot leaves a block without waits behind. */
static ledger_ref find(struct lock_blocks *blocks, const struct ledger_block *like, uint32_t most,
                       struct lock_place waiter, struct lock_place holder)
{
    for (unsigned probe = 0; probe < PROBES; probe++) {
        _Atomic(ledger_ref) *slot = &blocks->slots[(like->key + probe) % LOCK_BLOCKS_SLOTS];
        ledger_ref ref = atomic_load_explicit(slot, memory_order_acquire);

        if (!ref) {
            ledger_ref made;

            if (atomic_load_explicit(&blocks->count, memory_order_relaxed) >= most)
                return 0;
            made = add(blocks, like, waiter, holder, like->identity == 0);
            if (!made)
                return 0;
            atomic_fetch_add_explicit(&blocks->count, 1, memory_order_relaxed);
            if (atomic_compare_exchange_strong(slot, &ref, made))
                return made;
        }
        if (((const struct ledger_block *)ledger__at(blocks->ledger, ref))->key == like->key)
            return ref;
    }
    return 0;
}

/* As `like`, but for locks and threads that are not told apart. */
static void coarsen(const struct lock_blocks *blocks, struct ledger_block *like,
                    struct lock_place waiter, struct lock_place holder)
{
    char name[FOLD_NAME_BYTES];
    uint64_t waiter_name = hash_bytes(name, name_of(blocks, waiter.thread, true, name));
    uint64_t holder_name = 0;

    if (holder.thread)
        holder_name = hash_bytes(name, name_of(blocks, holder.thread, true, name));
    like->identity = 0;
    like->waiter_id = like->holder_id = 0;
    like->waiter_priority = like->holder_priority = 0;
    like->key = key_of(like, waiter_name, holder_name);
}

static ledger_ref find_block(struct lock_blocks *blocks, const struct lock_identity *lock,
                             struct lock_place waiter, struct lock_place holder)
{
    struct ledger_block like;
    ledger_ref ref = 0;

    describe(blocks, lock, waiter, holder, &like);
    like.key = key_of(&like, like.waiter_id, like.holder_id);
    if (like.identity)
        ref = find(blocks, &like, LOCK_BLOCKS_FINE, waiter, holder);
    if (ref)
        return ref;
    coarsen(blocks, &like, waiter, holder);
    return find(blocks, &like, LOCK_BLOCKS_MOST, waiter, holder);
}

/* NULL: there are too many locks. */
static struct lock_state *find_state(struct lock_blocks *blocks, const struct ledger_block *block)
{
    uint64_t lock = (uint64_t)block->class_name << 32 | block->identity;
    uint64_t hash = mix(0, lock);

    for (unsigned probe = 0; probe < PROBES && block->identity; probe++) {
        struct lock_state *state = &blocks->states[(hash + probe) % LOCK_STATES];
        uint64_t there = atomic_load_explicit(&state->lock, memory_order_relaxed);

        if (there == lock ||
            (!there &&
             (atomic_compare_exchange_strong(&state->lock, &there, lock) || there == lock)))
            return state;
    }
    return NULL;
}

static void start_waiting(struct lock_blocks *blocks, const struct ledger_block *block,
                          uint64_t now_ns)
{
    struct lock_state *state = find_state(blocks, block);

    if (state && atomic_fetch_add(&state->waiting, 1) == 0)
        atomic_store(&state->since_ns, now_ns);
}

/* Returns for how long the lock was waited for since any wait for it was over last. */
static uint64_t stop_waiting(struct lock_blocks *blocks, const struct ledger_block *block,
                             uint64_t began_ns, uint64_t now_ns)
{
    struct lock_state *state = find_state(blocks, block);
    uint32_t waiting = state ? atomic_load(&state->waiting) : 0;
    uint64_t since_ns = waiting ? atomic_exchange(&state->since_ns, now_ns) : began_ns;

    while (waiting && !atomic_compare_exchange_weak(&state->waiting, &waiting, waiting - 1))
        ;
    return now_ns > since_ns ? now_ns - since_ns : 0;
}

static void raise_to(uint64_t *value, uint64_t to)
{
    uint64_t seen = __atomic_load_n(value, __ATOMIC_RELAXED);

    while (seen < to &&
           !__atomic_compare_exchange_n(value, &seen, to, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        ;
}

static unsigned bucket_of(uint64_t wait_ns)
{
    uint64_t us = wait_ns / 1000;
    unsigned bucket = us ? 64u - (unsigned)__builtin_clzll(us) : 0;

    return bucket < BLOCK_BUCKETS ? bucket : BLOCK_BUCKETS - 1;
}

static void count(struct ledger_block *block, uint64_t ns)
{
    ledger__count(&block->count, 1);
    ledger__count(&block->wait_ns, ns);
    raise_to(&block->wait_max_ns, ns);
    __atomic_fetch_add(&block->waits[bucket_of(ns)], 1, __ATOMIC_RELAXED);
}

static void count_wait(struct lock_blocks *blocks, ledger_ref ref, uint64_t began_ns,
                       uint64_t now_ns)
{
    struct ledger_block *block = ledger__at(blocks->ledger, ref);
    uint64_t hold_ns = stop_waiting(blocks, block, began_ns, now_ns);

    count(block, now_ns > began_ns ? now_ns - began_ns : 0);
    ledger__count(&block->hold_ns, hold_ns);
    raise_to(&block->hold_max_ns, hold_ns);
}

static void lose(struct lock_blocks *blocks, uint64_t wait_ns)
{
    ledger__count(&blocks->ledger->header->lost_blocks, 1);
    ledger__count(&blocks->ledger->header->lost_blocks_ns, wait_ns);
}

void lock_blocks__begin(struct lock_blocks *blocks, const struct lock_identity *lock,
                        struct lock_place waiter, struct lock_place holder, uint64_t now_ns)
{
    struct ledger_thread *thread = thread_at(blocks, waiter.thread);
    ledger_ref ref = find_block(blocks, lock, waiter, holder), before;

    if (ref)
        start_waiting(blocks, ledger__at(blocks->ledger, ref), now_ns);
    __atomic_store_n(&thread->blocked_ns, now_ns, __ATOMIC_RELAXED);
    before = __atomic_exchange_n(&thread->block, ref ? ref : LOCK_BLOCKS_NONE, __ATOMIC_ACQ_REL);
    if (before && before != LOCK_BLOCKS_UNHEARD)
        lose(blocks, 0);
}

bool lock_blocks__end(struct lock_blocks *blocks, ledger_ref waiter, uint64_t from_ns,
                      uint64_t now_ns)
{
    struct ledger_thread *thread = thread_at(blocks, waiter);
    uint64_t began_ns = __atomic_load_n(&thread->blocked_ns, __ATOMIC_RELAXED);
    ledger_ref ref = __atomic_exchange_n(&thread->block, 0, __ATOMIC_ACQ_REL);

    if (!ref || ref == LOCK_BLOCKS_UNHEARD)
        return false;
    if (ref == LOCK_BLOCKS_NONE || began_ns < from_ns)
        lose(blocks, began_ns < from_ns ? 0 : now_ns - began_ns);
    else
        count_wait(blocks, ref, began_ns, now_ns);
    return true;
}

/* The block of the wait that the thread is in, or NULL. */
static struct ledger_block *current_block(const struct lock_blocks *blocks, ledger_ref waiter)
{
    ledger_ref ref = __atomic_load_n(&thread_at(blocks, waiter)->block, __ATOMIC_RELAXED);

    return lock_blocks__is_block(ref) ? ledger__at(blocks->ledger, ref) : NULL;
}

void lock_blocks__note_depth(struct lock_blocks *blocks, ledger_ref waiter, uint32_t depth)
{
    struct ledger_block *block = current_block(blocks, waiter);
    uint32_t seen = block ? __atomic_load_n(&block->depth_max, __ATOMIC_RELAXED) : 0;

    while (block && seen < depth &&
           !__atomic_compare_exchange_n(&block->depth_max, &seen, depth, true, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED))
        ;
}

/* The entry of the identity, or the first free one; NULL: there is neither. */
static _Atomic uint64_t *find_acquired(struct lock_blocks *blocks, uint32_t identity)
{
    uint64_t hash = mix(0, identity);

    for (unsigned probe = 0; probe < ACQUIRED_PROBES; probe++) {
        _Atomic uint64_t *entry = &blocks->acquired[(hash + probe) % LOCK_STATES];
        uint64_t there = atomic_load_explicit(entry, memory_order_acquire);

        if (!there || there >> 32 == identity)
            return entry;
    }
    return NULL;
}

void lock_blocks__count_acquisitions(struct lock_blocks *blocks, ledger_ref waiter,
                                     uint32_t identity)
{
    const struct ledger_block *block = current_block(blocks, waiter);
    _Atomic uint64_t *entry;
    uint64_t there = 0, wanted;

    if (!block || !identity)
        return;
    wanted = (uint64_t)identity << 32 | ledger__ref(blocks->ledger, block);
    /* Another lock may take the entry meanwhile: then there may be a further one. */
    do {
        there = 0;
        entry = find_acquired(blocks, identity);
    } while (entry && !atomic_load_explicit(entry, memory_order_relaxed) &&
             !atomic_compare_exchange_strong(entry, &there, wanted));
}

void lock_blocks__acquired(struct lock_blocks *blocks, uint32_t identity)
{
    const _Atomic uint64_t *entry = find_acquired(blocks, identity);
    uint64_t there = entry ? atomic_load_explicit(entry, memory_order_acquire) : 0;
    struct ledger_block *block;

    if (!there)
        return;
    block = ledger__at(blocks->ledger, (ledger_ref)there);
    ledger__count(&block->acquisitions, 1);
}

ledger_ref lock_blocks__class_of(struct lock_blocks *blocks, uint32_t identity)
{
    const _Atomic uint64_t *entry = find_acquired(blocks, identity);
    uint64_t there = entry ? atomic_load_explicit(entry, memory_order_acquire) : 0;
    const struct ledger_block *block = ledger__at(blocks->ledger, (ledger_ref)there);

    return there ? block->class_name : 0;
}

void lock_blocks__held(struct lock_blocks *blocks, const struct lock_identity *lock,
                       struct lock_place holder, uint64_t since_ns, uint64_t now_ns)
{
    const struct lock_place nobody = {0, 0};
    ledger_ref ref = find_block(blocks, lock, holder, nobody);

    if (ref)
        count(ledger__at(blocks->ledger, ref), now_ns > since_ns ? now_ns - since_ns : 0);
    else
        ledger__count(&blocks->ledger->header->lost_holds, 1);
}

void lock_blocks__settle(struct lock_blocks *blocks, uint64_t now_ns)
{
    ledger_ref ref = 0;

    while ((ref = ledger__next(blocks->ledger, LEDGER_THREADS, ref)))
        (void)lock_blocks__end(blocks, ref, 0, now_ns);
    for (unsigned i = 0; i < LOCK_STATES; i++)
        atomic_store(&blocks->states[i].waiting, 0);
}
