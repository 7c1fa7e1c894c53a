#include "agent/threads/lock_owners.h"

#include <stddef.h>

#define PROBES 16u

/* Ids are small numbers; JavaThreads are aligned addresses, and so odd once 1 is added; no key of a
 * JavaThread ends like that of a kernel thread. */
#define TID_BITS 3u
#define OF_TID   3u

#define BEING_TAKEN UINT64_MAX /* in place of a key */

static uint64_t key_of_id(uint64_t java_id)
{
    return java_id << 1;
}

static uint64_t key_of_host(const void *host)
{
    return host ? (uint64_t)(uintptr_t)host | 1 : 0;
}

static uint64_t key_of_tid(pid_t tid)
{
    return tid > 0 ? (uint64_t)tid << TID_BITS | OF_TID : 0;
}

static bool is_of_tid(uint64_t key)
{
    return (key & ((1u << TID_BITS) - 1)) == OF_TID;
}

/* Multiplicative hashing [D. E. Knuth: The Art of Computer Programming 3, 6.4]. */
static uint32_t slot_of(uint64_t key, unsigned probe)
{
    return ((uint32_t)(key * 0x9e3779b97f4a7c15u >> 40) + probe) % LOCK_OWNERS;
}

static const struct lock_owner *find(const struct lock_owners *owners, uint64_t key)
{
    for (unsigned probe = 0; key && probe < PROBES; probe++) {
        const struct lock_owner *owner = &owners->owners[slot_of(key, probe)];

        if (atomic_load_explicit(&owner->key, memory_order_acquire) == key)
            return owner;
    }
    return NULL;
}

/* Free, or of a kernel thread that has ended: that is not told. */
static bool may_be_taken(const struct lock_owners *owners, const struct lock_owner *owner,
                         uint64_t key)
{
    ledger_ref ref = (ledger_ref)atomic_load_explicit(&owner->places, memory_order_relaxed);
    const struct ledger_kernel_thread *record = ledger__at(owners->ledger, ref);

    return !key || (is_of_tid(key) && ref &&
                    key_of_tid(__atomic_load_n(&record->tid, __ATOMIC_RELAXED)) != key);
}

/* Where the entry's key is found, its places are its own. */
static bool take(struct lock_owners *owners, struct lock_owner *owner, uint64_t key,
                 uint64_t places)
{
    uint64_t before = atomic_load_explicit(&owner->key, memory_order_relaxed);

    if (!may_be_taken(owners, owner, before) ||
        !atomic_compare_exchange_strong(&owner->key, &before, BEING_TAKEN))
        return false;
    atomic_store_explicit(&owner->places, places, memory_order_relaxed);
    atomic_store_explicit(&owner->key, key, memory_order_release);
    return true;
}

static void note(struct lock_owners *owners, uint64_t key, uint64_t places)
{
    struct lock_owner *owner = (struct lock_owner *)(uintptr_t)find(owners, key);

    if (owner)
        atomic_store_explicit(&owner->places, places, memory_order_release);
    for (unsigned probe = 0; !owner && key && probe < PROBES; probe++)
        if (take(owners, &owners->owners[slot_of(key, probe)], key, places))
            break;
}

static void forget(struct lock_owners *owners, uint64_t key)
{
    struct lock_owner *owner = (struct lock_owner *)(uintptr_t)find(owners, key);

    if (!owner)
        return;
    atomic_store(&owner->places, 0);
    atomic_store(&owner->key, 0);
}

void lock_owners__note(struct lock_owners *owners, ledger_ref thread, ledger_ref kernel_thread,
                       const void *host)
{
    const struct ledger_thread *record = ledger__at(owners->ledger, thread);
    uint64_t places = (uint64_t)thread << 32 | kernel_thread;

    note(owners, key_of_id(record->java_id), places);
    note(owners, key_of_host(host), places);
}

void lock_owners__note_kernel_thread(struct lock_owners *owners, ledger_ref kernel_thread)
{
    const struct ledger_kernel_thread *record = ledger__at(owners->ledger, kernel_thread);

    note(owners, key_of_tid(__atomic_load_n(&record->tid, __ATOMIC_RELAXED)), kernel_thread);
}

void lock_owners__forget(struct lock_owners *owners, uint64_t java_id, const void *host)
{
    forget(owners, key_of_id(java_id));
    forget(owners, key_of_host(host));
}

void lock_owners__forget_all(struct lock_owners *owners)
{
    for (unsigned i = 0; i < LOCK_OWNERS; i++) {
        if (!atomic_load_explicit(&owners->owners[i].key, memory_order_relaxed))
            continue;
        atomic_store(&owners->owners[i].places, 0);
        atomic_store(&owners->owners[i].key, 0);
    }
}

static uint64_t places_of(const struct lock_owners *owners, uint64_t key)
{
    const struct lock_owner *owner = find(owners, key);

    return owner ? atomic_load_explicit(&owner->places, memory_order_acquire) : 0;
}

static ledger_ref running_on(const struct ledger_kernel_thread *kernel_thread)
{
    return __atomic_load_n(&kernel_thread->thread, __ATOMIC_ACQUIRE);
}

struct lock_place lock_owners__by_id(const struct lock_owners *owners, uint64_t java_id)
{
    uint64_t places = places_of(owners, key_of_id(java_id));
    ledger_ref ref = (ledger_ref)(places >> 32);
    const struct ledger_thread *thread = ledger__at(owners->ledger, ref);
    const struct ledger_kernel_thread *kernel_thread =
        ledger__at(owners->ledger, (ledger_ref)places);

    if (!ref || thread->java_id != java_id)
        return (struct lock_place){0, 0};
    if ((ledger_ref)places && running_on(kernel_thread) == ref)
        return (struct lock_place){ref, __atomic_load_n(&kernel_thread->current, __ATOMIC_ACQUIRE)};
    return (struct lock_place){ref, __atomic_load_n(&thread->current, __ATOMIC_ACQUIRE)};
}

struct lock_place lock_owners__by_host(const struct lock_owners *owners, const void *host)
{
    ledger_ref ref = (ledger_ref)places_of(owners, key_of_host(host));
    const struct ledger_kernel_thread *kernel_thread = ledger__at(owners->ledger, ref);
    struct lock_place place = {0, 0};

    if (!ref)
        return place;
    place.thread = running_on(kernel_thread);
    place.node = __atomic_load_n(&kernel_thread->current, __ATOMIC_ACQUIRE);
    return place;
}

ledger_ref lock_owners__kernel_thread(const struct lock_owners *owners, pid_t tid)
{
    ledger_ref ref = (ledger_ref)places_of(owners, key_of_tid(tid));
    const struct ledger_kernel_thread *record = ledger__at(owners->ledger, ref);

    return ref && __atomic_load_n(&record->tid, __ATOMIC_RELAXED) == tid ? ref : 0;
}
