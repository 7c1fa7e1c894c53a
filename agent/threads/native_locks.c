#include "agent/threads/native_locks.h"

#include "agent/host/log.h"
#include "agent/threads/lock_waits.h"
#include "agent/threads/thread_waits.h"
#include "native/thread/wait_bracket.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define PROBES 16u

/* Images whose calls are left as they are wherever they lie: the C library's own, and what a
 * profiler's or a sanitizer's signal handler may run in. */
static const char *const left_images[] = {"libc.so",    "libc-",      "ld-linux", "linux-vdso",
                                          "libpthread", "libunwind",  "libasan",  "libtsan",
                                          "libubsan",   "libclang_rt"};

/* ---- libraries ---- */

static const char *file_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

static bool is_jvms(const struct native_locks *locks, const char *path)
{
    size_t length = strlen(locks->jvm_folder);

    return length && strncmp(path, locks->jvm_folder, length) == 0;
}

/* Also this library, whose wrappers call the real functions. */
static bool admits(void *context, const struct importing_image *image)
{
    const struct native_locks *locks = context;
    uint64_t here = (uint64_t)(uintptr_t)admits;

    if (is_jvms(locks, image->path) || (here >= image->start && here < image->end))
        return false;
    for (size_t i = 0; i < sizeof(left_images) / sizeof(*left_images); i++)
        if (strncmp(file_of(image->path), left_images[i], strlen(left_images[i])) == 0)
            return false;
    return true;
}

/* The entry of an image; a new one if the file was never mapped before. NULL: there is no room. */
static struct native_lock_image *entry_of(struct native_locks *locks, const char *path)
{
    for (uint32_t i = 0; i < locks->images_changed; i++)
        if (strncmp(locks->images[i].path, path, sizeof(locks->images[i].path) - 1) == 0)
            return &locks->images[i];
    return locks->images_changed < NATIVE_LOCK_IMAGES ? &locks->images[locks->images_changed++]
                                                      : NULL;
}

/* NULL: there is no room. */
static struct native_lock_image *note_image(struct native_locks *locks,
                                            const struct importing_image *image)
{
    struct native_lock_image *entry = entry_of(locks, image->path);

    if (!entry)
        return NULL;
    entry->start = image->start;
    entry->end = image->end;
    snprintf(entry->path, sizeof(entry->path), "%s", image->path);
    return entry;
}

/* Under the linker's lock: names are made later. Locks of images without an entry have no library
 * in their names. */
static void replaced(void *context, const struct importing_image *image, unsigned words)
{
    struct native_locks *locks = context;

    (void)words;
    if (!note_image(locks, image))
        ledger__count(&locks->threads->ledger->header->unnamed_images, 1);
}

/* Likewise. Whoever waits in the image is not seen. An image is counted once. */
static void refused(void *context, const struct importing_image *image)
{
    struct native_locks *locks = context;
    struct native_lock_image *entry = note_image(locks, image);

    locks->is_refused = true;
    if (!entry)
        locks->refused_without++;
    if (!entry || entry->is_refused)
        return;
    entry->is_refused = true;
    ledger__count(&locks->threads->ledger->header->unwrapped_images, 1);
}

/* What is known of each type. */
static const struct {
    const char *name;
    bool is_held; /* by whom is known, and how long */
    bool is_thread;
} types[NATIVE_LOCK_TYPES] = {
    [NATIVE_MUTEX] = {.name = "pthread_mutex_t", .is_held = true},
    [NATIVE_RWLOCK] = {.name = "pthread_rwlock_t", .is_held = true},
    [NATIVE_CONDITION] = {.name = "pthread_cond_t"},
    [NATIVE_SEMAPHORE] = {.name = "sem_t"},
    [NATIVE_BARRIER] = {.name = "pthread_barrier_t"},
    [NATIVE_JOIN] = {.name = "pthread_t", .is_thread = true},
    [NATIVE_MTX] = {.name = "mtx_t", .is_held = true},
    [NATIVE_CND] = {.name = "cnd_t"},
    [NATIVE_THRD] = {.name = "thrd_t", .is_thread = true},
    [NATIVE_FUTEX] = {.name = "futex"},
};

static void name_image(const struct native_locks *locks, struct native_lock_image *image)
{
    const char *file = file_of(image->path);
    char name[NATIVE_LOCK_PATH + 32];

    for (unsigned type = 0; type < NATIVE_LOCK_TYPES; type++) {
        int length = snprintf(name, sizeof(name), "%s in %s", types[type].name,
                              *file ? file : "the program");

        image->names[type] = ledger__string(locks->threads->ledger, name, (size_t)length);
    }
}

/* The folder of the JVM, as the linker names its images: without lib/server/libjvm.so. */
static void find_jvm(struct native_locks *locks)
{
    const struct JNIInvokeInterface_ *functions = *locks->threads->vm;
    Dl_info found;

    if (!dladdr((const void *)(uintptr_t)functions->GetEnv, &found) || !found.dli_fname ||
        strlen(found.dli_fname) >= sizeof(locks->jvm_folder))
        return;
    memcpy(locks->jvm_folder, found.dli_fname, strlen(found.dli_fname) + 1);
    for (unsigned parts = 0; parts < 3; parts++) {
        char *slash = strrchr(locks->jvm_folder, '/');

        if (!slash)
            break;
        *slash = '\0';
    }
    if (*locks->jvm_folder)
        strncat(locks->jvm_folder, "/", sizeof(locks->jvm_folder) - strlen(locks->jvm_folder) - 1);
}

void native_locks__begin(struct native_locks *locks, struct java_threads *threads,
                         const struct import_replacement *wrappers, size_t count)
{
    locks->threads = threads;
    pthread_mutex_init(&locks->lock, NULL);
    find_jvm(locks);
    for (unsigned type = 0; type < NATIVE_LOCK_TYPES; type++)
        locks->names[type] =
            ledger__string(threads->ledger, types[type].name, strlen(types[type].name));
    locks->imports.replacements = wrappers;
    locks->imports.count = count;
    locks->imports.admits = admits;
    locks->imports.replaced = replaced;
    locks->imports.refused = refused;
    locks->imports.context = locks;
    atomic_store(&locks->has_begun, true); /* other threads may look from now on */
    native_locks__look(locks);
}

/* Images without an entry cannot be told apart. */
static void count_refused(struct native_locks *locks)
{
    if (locks->refused_without <= locks->refused_counted)
        return;
    ledger__count(&locks->threads->ledger->header->unwrapped_images,
                  locks->refused_without - locks->refused_counted);
    locks->refused_counted = locks->refused_without;
}

void native_locks__look(struct native_locks *locks)
{
    uint32_t named;

    if (!atomic_load(&locks->has_begun) || !image_imports__are_new(&locks->imports) ||
        pthread_mutex_trylock(&locks->lock) != 0)
        return;
    locks->is_refused = false;
    locks->refused_without = 0;
    image_imports__look(&locks->imports);
    count_refused(locks);
    named = atomic_load(&locks->image_count);
    for (; named < locks->images_changed; named++)
        name_image(locks, &locks->images[named]);
    atomic_store(&locks->image_count, named);
    if (locks->is_refused && !locks->has_warned) {
        locks->has_warned = true;
        log__line(LOG_WARN, "a native library's calls cannot be replaced here (mprotect or "
                            "/proc/self/maps is refused): its waits are not seen");
    }
    pthread_mutex_unlock(&locks->lock);
}

/* The newest image there, for that of an earlier one may be unmapped. */
static const struct native_lock_image *image_at(const struct native_locks *locks,
                                                const void *address)
{
    uint64_t at = (uint64_t)(uintptr_t)address;

    for (uint32_t i = atomic_load_explicit(&locks->image_count, memory_order_acquire); i > 0; i--)
        if (at >= locks->images[i - 1].start && at < locks->images[i - 1].end)
            return &locks->images[i - 1];
    return NULL;
}

/* The library that waits; where that has jumped to the function, so that the caller is another, the
 * library in whose memory the lock lies. */
static ledger_ref name_of(const struct native_locks *locks, enum native_lock_type type,
                          const void *lock, const void *caller)
{
    const struct native_lock_image *image = image_at(locks, caller);

    if (!image)
        image = image_at(locks, lock);
    return image ? image->names[type] : locks->names[type];
}

/* ---- locks ---- */

/* Multiplicative hashing [D. E. Knuth: The Art of Computer Programming 3, 6.4]. */
static uint32_t slot_of(uintptr_t address, unsigned probe)
{
    return ((uint32_t)((uint64_t)address * 0x9e3779b97f4a7c15u >> 40) + probe) % NATIVE_LOCKS;
}

static struct native_lock *find(struct native_locks *locks, const void *lock)
{
    for (unsigned probe = 0; probe < PROBES; probe++) {
        struct native_lock *entry = &locks->locks[slot_of((uintptr_t)lock, probe)];
        uintptr_t there = atomic_load_explicit(&entry->address, memory_order_acquire);

        if (there == (uintptr_t)lock)
            return entry;
        if (!there)
            return NULL;
    }
    return NULL;
}

/* NULL: there is no room for another lock. */
static struct native_lock *take(struct native_locks *locks, const void *lock)
{
    struct native_lock *entry = find(locks, lock);

    for (unsigned probe = 0; !entry && probe < PROBES; probe++) {
        struct native_lock *free_entry = &locks->locks[slot_of((uintptr_t)lock, probe)];
        uintptr_t there = 0;

        if (atomic_compare_exchange_strong(&free_entry->address, &there, (uintptr_t)lock)) {
            atomic_fetch_add(&locks->count, 1);
            entry = free_entry;
        } else if (there == (uintptr_t)lock) {
            entry = free_entry;
        }
    }
    return entry;
}

/* Words of memory lie 8 bytes apart. */
static struct lock_identity identify(uintptr_t address, ledger_ref class_name,
                                     enum ledger_block_kind kind)
{
    uint32_t identity = (uint32_t)(address >> 3);

    return (struct lock_identity){kind, class_name, identity ? identity : 1};
}

static struct kernel_thread *here(const struct native_locks *locks)
{
    struct kernel_thread *mine = kernel_thread_table__mine();

    return locks->threads && locks->threads->locks && mine && mine->thread &&
                   !kernel_thread__is_unidentified(mine) && kernel_thread__counts(mine)
               ? mine
               : NULL;
}

static uint64_t now(const struct kernel_thread *mine)
{
    return ledger_time__now_ns(&mine->setup->time);
}

/* ---- waits ---- */

static struct lock_place place_of(const struct ledger *ledger, ledger_ref record)
{
    const struct ledger_kernel_thread *there = ledger__at(ledger, record);

    return (struct lock_place){__atomic_load_n(&there->thread, __ATOMIC_ACQUIRE),
                               __atomic_load_n(&there->current, __ATOMIC_ACQUIRE)};
}

/* The Java thread that the kernel thread runs, or ran last. */
static struct lock_place thread_place(const struct native_locks *locks, pid_t tid)
{
    ledger_ref ref = lock_owners__kernel_thread(&locks->threads->locks->owners, tid);

    return ref ? place_of(locks->threads->ledger, ref) : (struct lock_place){0, 0};
}

/* Who acquired a lock that is known has left a note. */
static struct lock_place owner_place(const struct native_locks *locks,
                                     const struct native_lock *entry, pid_t owner)
{
    const struct ledger *ledger = locks->threads->ledger;
    ledger_ref ref = entry ? atomic_load_explicit(&entry->holder, memory_order_relaxed) : 0;
    const struct ledger_kernel_thread *record = ledger__at(ledger, ref);

    if (!entry || !owner)
        return (struct lock_place){0, 0};
    if (ref && __atomic_load_n(&record->tid, __ATOMIC_RELAXED) == owner)
        return place_of(ledger, ref);
    return thread_place(locks, owner);
}

static void begin(struct native_locks *locks, struct kernel_thread *mine,
                  enum native_lock_type type, const void *lock, pid_t owner, const void *caller)
{
    struct java_threads *threads = locks->threads;
    struct native_lock *entry = types[type].is_held ? take(locks, lock) : NULL;
    ledger_ref name = name_of(locks, type, lock, caller);
    struct lock_identity identity = identify((uintptr_t)lock, name, BLOCK_NATIVE);

    wait_bracket__begin(mine, METRIC_PARK);
    lock_waits__native(threads, mine, &identity,
                       types[type].is_thread ? thread_place(locks, owner)
                                             : owner_place(locks, entry, owner));
    if (!entry) {
        if (types[type].is_held) /* no room for another lock: its holds are not measured */
            ledger__count(&threads->ledger->header->unseen_holds, 1);
        return;
    }
    atomic_store_explicit(&entry->class_name, name, memory_order_relaxed);
    atomic_store_explicit(&entry->is_contended, true, memory_order_relaxed);
    lock_blocks__count_acquisitions(&threads->locks->blocks,
                                    ledger__ref(threads->ledger, mine->thread), identity.identity);
}

struct kernel_thread *native_locks__waiting(struct native_locks *locks, enum native_lock_type type,
                                            const void *lock, pid_t owner, const void *caller)
{
    int error = errno;
    struct kernel_thread *mine = here(locks);
    uint64_t began;

    if (mine && mine->thread->wait_reason)
        mine = NULL;
    if (mine && !thread_waits__has_room(locks->threads, mine, METRIC_PARK)) {
        errno = error;
        return mine;
    }
    if (mine) {
        began = timed_hooks__begin(&mine->times.waits);
        begin(locks, mine, type, lock, owner, caller);
        timed_hooks__end(&mine->times.waits, began);
    }
    errno = error;
    return mine;
}

void native_locks__waited(struct native_locks *locks, struct kernel_thread *mine)
{
    int error = errno;
    bool is_timed;
    uint64_t began;

    if (!mine || !mine->thread || mine->thread->wait_reason != METRIC_PARK)
        return;
    began = timed_hooks__begin(&mine->times.waits);
    is_timed = wait_bracket__is_timed(mine);
    if (!is_timed && kernel_thread__counts(mine))
        lock_waits__over(locks->threads, NULL, mine, NULL);
    wait_bracket__end(mine, METRIC_PARK);
    timed_hooks__end(&mine->times.waits, began);
    errno = error;
}

struct kernel_thread *native_locks__begin_wait(struct native_locks *locks,
                                               enum ledger_metric reason)
{
    int error = errno;
    struct kernel_thread *mine = here(locks);
    uint64_t began;

    if (mine && mine->thread->wait_reason)
        mine = NULL;
    if (mine && thread_waits__has_room(locks->threads, mine, reason)) {
        began = timed_hooks__begin(&mine->times.waits);
        wait_bracket__begin(mine, reason);
        timed_hooks__end(&mine->times.waits, began);
    }
    errno = error;
    return mine;
}

void native_locks__end_wait(struct kernel_thread *mine, enum ledger_metric reason)
{
    int error = errno;
    uint64_t began;

    if (!mine || !mine->thread || mine->thread->wait_reason != reason)
        return;
    began = timed_hooks__begin(&mine->times.waits);
    wait_bracket__end(mine, reason);
    timed_hooks__end(&mine->times.waits, began);
    errno = error;
}

/* ---- holds ---- */

static struct native_lock *known(struct native_locks *locks, const void *lock)
{
    return atomic_load_explicit(&locks->count, memory_order_relaxed) ? find(locks, lock) : NULL;
}

void native_locks__acquired(struct native_locks *locks, const void *lock, bool has_waited)
{
    struct native_lock *entry = known(locks, lock);
    struct kernel_thread *mine;
    int error = errno;

    if (!entry)
        return;
    mine = here(locks);
    if (has_waited)
        atomic_store_explicit(&entry->is_contended, true, memory_order_relaxed);
    atomic_store_explicit(&entry->since_ns, mine ? now(mine) : 0, memory_order_relaxed);
    atomic_store_explicit(&entry->holder,
                          mine ? ledger__ref(locks->threads->ledger, mine->record) : 0,
                          memory_order_relaxed);
    if (mine)
        lock_blocks__acquired(&locks->threads->locks->blocks,
                              identify((uintptr_t)lock, 0, BLOCK_NATIVE).identity);
    errno = error;
}

struct native_hold native_locks__releasing(struct native_locks *locks, const void *lock)
{
    struct native_hold hold = {.lock = known(locks, lock)};
    const struct kernel_thread *mine = kernel_thread_table__mine();
    ledger_ref holder;

    if (!hold.lock)
        return hold;
    holder = atomic_exchange_explicit(&hold.lock->holder, 0, memory_order_relaxed);
    /* Not at the next acquisition, which a thread may wait for already. */
    hold.is_contended =
        atomic_exchange_explicit(&hold.lock->is_contended, false, memory_order_relaxed);
    if (!mine || !holder || holder != ledger__ref(locks->threads->ledger, mine->record)) {
        /* It began before anybody waited for the lock, or where it did not count. */
        if (hold.is_contended && here(locks))
            ledger__count(&locks->threads->ledger->header->unseen_holds, 1);
        hold.lock = NULL;
        return hold;
    }
    hold.since_ns = atomic_load_explicit(&hold.lock->since_ns, memory_order_relaxed);
    hold.until_ns = now(mine);
    return hold;
}

void native_locks__released(struct native_locks *locks, const struct native_hold *hold)
{
    struct java_threads *threads = locks->threads;
    struct kernel_thread *mine = hold->lock && hold->is_contended ? here(locks) : NULL;
    int error = errno;

    if (!mine)
        return;
    if (hold->since_ns && hold->since_ns >= threads->ledger->header->since_ns) {
        const struct lock_identity held = identify(
            atomic_load(&hold->lock->address),
            atomic_load_explicit(&hold->lock->class_name, memory_order_relaxed), BLOCK_HELD_NATIVE);
        const struct lock_place holder = {ledger__ref(threads->ledger, mine->thread),
                                          ledger__ref(threads->ledger, mine->tree.current)};

        lock_blocks__held(&threads->locks->blocks, &held, holder, hold->since_ns, hold->until_ns);
    } else {
        ledger__count(&threads->ledger->header->unseen_holds, 1);
    }
    errno = error;
}
