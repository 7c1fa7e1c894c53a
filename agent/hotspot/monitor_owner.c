#include "agent/hotspot/monitor_owner.h"

#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

/* Values of an _owner that is a thread's id. */
#define OWNER_ANONYMOUS 1u
#define OWNER_DEFLATER  2u

#define LOCK_STACK_ENTRIES 8u
#define HANDLE_TAGS        7u /* bits of a reference that is not a local one */

void monitor_owner__prepare(struct monitor_owner *owner)
{
    const char *missing;

    /* What is missing may be needed for walks of stacks only. */
    (void)vm_structs__read(&owner->structs, &missing);
    owner->known = owner->structs.thread_pending_monitor >= 0 && owner->structs.monitor_owner >= 0;
}

static bool read_memory(uintptr_t address, void *into, size_t bytes)
{
    struct iovec local = {.iov_base = into, .iov_len = bytes};
    struct iovec remote = {.iov_base = (void *)address, .iov_len = bytes};

    return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == (ssize_t)bytes;
}

/* The first of all JavaThreads. Returns how many there are, or 0. */
static uint32_t list_threads(const struct vm_structs *structs,
                             uintptr_t threads[MONITOR_OWNER_THREADS])
{
    uintptr_t list, array = 0;
    uint32_t count = 0;

    if (!structs->java_thread_list || structs->list_length < 0 || structs->list_threads < 0)
        return 0;
    list = *(const uintptr_t *)structs->java_thread_list;
    if (!read_memory(list + (uintptr_t)structs->list_length, &count, sizeof(count)) ||
        !read_memory(list + (uintptr_t)structs->list_threads, &array, sizeof(array)))
        return 0;
    if (count > MONITOR_OWNER_THREADS)
        count = MONITOR_OWNER_THREADS;
    return read_memory(array, threads, count * sizeof(*threads)) ? count : 0;
}

/* Reads the words between two fields of each thread, `each` of them, until one is gone. Returns of
 * how many threads they were read. */
static uint32_t read_fields(const uintptr_t *threads, uint32_t count, int32_t offset, void *into,
                            size_t each)
{
    struct iovec remote[MONITOR_OWNER_THREADS];
    struct iovec local = {.iov_base = into, .iov_len = count * each};
    ssize_t bytes;

    for (uint32_t i = 0; i < count; i++)
        remote[i] = (struct iovec){(void *)(threads[i] + (uintptr_t)offset), each};
    bytes = process_vm_readv(getpid(), &local, 1, remote, count, 0);
    return bytes > 0 ? (uint32_t)((size_t)bytes / each) : 0;
}

/* The thread on whose stack the address lies. */
static const void *find_stack(const struct vm_structs *structs, uintptr_t address)
{
    uintptr_t threads[MONITOR_OWNER_THREADS] = {0}, bases[MONITOR_OWNER_THREADS] = {0};
    uintptr_t sizes[MONITOR_OWNER_THREADS] = {0};
    uint32_t count;

    if (structs->thread_stack_base < 0 || structs->thread_stack_size < 0)
        return NULL;
    count = list_threads(structs, threads);
    count = read_fields(threads, count, structs->thread_stack_base, bases, sizeof(*bases));
    count = read_fields(threads, count, structs->thread_stack_size, sizes, sizeof(*sizes));
    for (uint32_t i = 0; i < count; i++)
        if (address < bases[i] && address >= bases[i] - sizes[i])
            return (const void *)threads[i];
    return NULL;
}

/* _top says where, in its JavaThread, the next entry will be. */
static bool holds(const struct vm_structs *structs, uint32_t top, const uintptr_t *entries,
                  uintptr_t object)
{
    uint32_t base = (uint32_t)(structs->thread_lock_stack + structs->lock_stack_base);
    uint32_t count = top > base ? (top - base) / (uint32_t)sizeof(*entries) : 0;

    for (uint32_t i = 0; i < count && i < LOCK_STACK_ENTRIES; i++)
        if (entries[i] == object)
            return true;
    return false;
}

/* The thread that has the object on its lock stack. An object that is moved meanwhile is not found.
 */
static const void *find_lock_stack(const struct vm_structs *structs, uintptr_t object)
{
    uintptr_t threads[MONITOR_OWNER_THREADS] = {0};
    uintptr_t entries[MONITOR_OWNER_THREADS][LOCK_STACK_ENTRIES] = {{0}};
    uint32_t tops[MONITOR_OWNER_THREADS] = {0};
    int32_t stack = structs->thread_lock_stack;
    uint32_t count;

    if (stack < 0 || structs->lock_stack_top < 0 || structs->lock_stack_base < 0 || !object)
        return NULL;
    count = list_threads(structs, threads);
    count = read_fields(threads, count, stack + structs->lock_stack_top, tops, sizeof(*tops));
    count =
        read_fields(threads, count, stack + structs->lock_stack_base, entries, sizeof(*entries));
    for (uint32_t i = 0; i < count; i++)
        if (holds(structs, tops[i], entries[i], object))
            return (const void *)threads[i];
    return NULL;
}

static uintptr_t object_of(jobject reference)
{
    uintptr_t handle = (uintptr_t)reference;

    return handle && !(handle & HANDLE_TAGS) ? *(const uintptr_t *)handle : 0;
}

struct monitor_holder monitor_owner__of(const struct monitor_owner *owner, const void *java_thread,
                                        jobject object)
{
    const struct vm_structs *structs = &owner->structs;
    struct monitor_holder holder = {0, NULL};
    const void *monitor;
    uintptr_t value;

    if (!owner->known || !java_thread)
        return holder;
    monitor = vm_structs__pointer(java_thread, structs->thread_pending_monitor);
    if (!monitor)
        return holder;
    value = (uintptr_t)vm_structs__pointer(monitor, structs->monitor_owner);
    if (value == OWNER_ANONYMOUS)
        holder.java_thread = find_lock_stack(structs, object_of(object));
    else if (structs->monitor_owner_is_id && value != OWNER_DEFLATER)
        holder.java_id = value;
    else if (!structs->monitor_owner_is_id)
        holder.java_thread = (const void *)value;
    return holder;
}

const void *monitor_owner__on_stack(const struct monitor_owner *owner, const void *address)
{
    return find_stack(&owner->structs, (uintptr_t)address);
}

uintptr_t monitor_owner__pending(const struct monitor_owner *owner, const void *java_thread)
{
    uintptr_t monitor = 0;

    if (!owner->known || !java_thread ||
        !read_memory((uintptr_t)java_thread + (uintptr_t)owner->structs.thread_pending_monitor,
                     &monitor, sizeof(monitor)))
        return 0;
    return monitor;
}

uintptr_t monitor_owner__handle(const struct monitor_owner *owner, uintptr_t monitor)
{
    uintptr_t handle = 0;

    if (!owner->known || owner->structs.monitor_object < 0 ||
        !read_memory(monitor + (uintptr_t)owner->structs.monitor_object, &handle, sizeof(handle)))
        return 0;
    return handle;
}

uintptr_t monitor_owner__recursions(const struct monitor_owner *owner, uintptr_t monitor)
{
    uintptr_t recursions = UINTPTR_MAX;

    if (!owner->known || owner->structs.monitor_recursions < 0 ||
        !read_memory(monitor + (uintptr_t)owner->structs.monitor_recursions, &recursions,
                     sizeof(recursions)))
        return UINTPTR_MAX;
    return recursions;
}

enum monitor_state monitor_owner__read(const struct monitor_owner *owner, uintptr_t monitor,
                                       struct monitor_holder *holder)
{
    uintptr_t value = 0;

    *holder = (struct monitor_holder){0, NULL};
    if (!owner->known || !monitor ||
        !read_memory(monitor + (uintptr_t)owner->structs.monitor_owner, &value, sizeof(value)) ||
        !value || value == OWNER_DEFLATER)
        return MONITOR_UNKNOWN;
    if (value == OWNER_ANONYMOUS)
        return MONITOR_ANONYMOUS;
    if (owner->structs.monitor_owner_is_id)
        holder->java_id = value;
    else
        holder->java_thread = (const void *)value;
    return MONITOR_OWNED;
}

bool monitor_owner__is(const struct monitor_owner *owner, struct monitor_holder holder,
                       const void *java_thread)
{
    const struct vm_structs *structs = &owner->structs;
    uintptr_t thread = (uintptr_t)java_thread, address = (uintptr_t)holder.java_thread;
    uintptr_t base = 0, size = 0;

    if (!thread || !address)
        return false;
    if (thread == address)
        return true;
    if (structs->thread_stack_base < 0 || structs->thread_stack_size < 0 ||
        !read_memory(thread + (uintptr_t)structs->thread_stack_base, &base, sizeof(base)) ||
        !read_memory(thread + (uintptr_t)structs->thread_stack_size, &size, sizeof(size)))
        return false;
    return address < base && address >= base - size;
}

bool monitor_owner__has_locked(const struct monitor_owner *owner, const void *java_thread,
                               uintptr_t monitor)
{
    const struct vm_structs *structs = &owner->structs;
    uintptr_t thread = (uintptr_t)java_thread, handle = 0, object = 0;
    uintptr_t entries[LOCK_STACK_ENTRIES] = {0};
    uintptr_t stack = thread + (uintptr_t)structs->thread_lock_stack;
    uint32_t top = 0;

    handle = monitor_owner__handle(owner, monitor);
    if (!thread || structs->thread_lock_stack < 0 || structs->lock_stack_top < 0 ||
        structs->lock_stack_base < 0 || !handle || !read_memory(handle, &object, sizeof(object)) ||
        !object)
        return false;
    return read_memory(stack + (uintptr_t)structs->lock_stack_top, &top, sizeof(top)) &&
           read_memory(stack + (uintptr_t)structs->lock_stack_base, entries, sizeof(entries)) &&
           holds(structs, top, entries, object);
}
