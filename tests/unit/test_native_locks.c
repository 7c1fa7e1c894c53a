/* What native_locks.c does where its tables are full and where calls may not be replaced: waits are
 * in the right rows all the same or are counted as what is missing. */
#include "agent/host/log.h"
#include "agent/threads/lock_waits.h"
#include "agent/threads/native_locks.h"
#include "agent/threads/thread_waits.h"
#include "played_thread.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MORE 300u /* than there is room for */

static struct native_locks locks;
static struct lock_waits *waits;
static struct java_threads java_threads;
static unsigned lines; /* of the log */
static char words[2 * NATIVE_LOCKS];

/* ---- what native_locks.c asks for of the agent ---- */

void log__line(enum log_level level, const char *format, ...)
{
    (void)level, (void)format;
    lines++;
}

bool thread_waits__has_room(const struct java_threads *of, struct kernel_thread *mine,
                            enum ledger_metric reason)
{
    (void)of, (void)mine, (void)reason;
    return true;
}

void lock_waits__native(struct java_threads *threads, struct kernel_thread *mine,
                        const struct lock_identity *lock, struct lock_place owner)
{
    const struct lock_place place = {ledger__ref(threads->ledger, mine->thread), 0};

    lock_blocks__begin(&threads->locks->blocks, lock, place, owner,
                       ledger_time__now_ns(&mine->setup->time));
}

void lock_waits__over(struct java_threads *threads, JNIEnv *jni, struct kernel_thread *mine,
                      jobject object)
{
    (void)jni, (void)object;
    (void)lock_blocks__end(&threads->locks->blocks, ledger__ref(threads->ledger, mine->thread), 0,
                           ledger_time__now_ns(&mine->setup->time));
}

static const struct JNIInvokeInterface_ no_functions;
static JavaVM no_vm = &no_functions;

static int begin_world(void **state)
{
    struct java_world *world = java_world__make(16 * MIB, LEDGER_CLOCK_PLAIN, 0, false);

    waits = calloc(1, sizeof(*waits));
    if (!world || !waits)
        return -1;
    waits->blocks.ledger = waits->owners.ledger = &world->ledger;
    java_threads = (struct java_threads){.vm = &no_vm, .ledger = &world->ledger, .locks = waits};
    memset(&locks, 0, sizeof(locks));
    lines = 0;
    native_locks__begin(&locks, &java_threads, NULL, 0);
    *state = world;
    return 0;
}

static int end_world(void **state)
{
    (void)state;
    free(waits);
    return 0;
}

/* ---- more locks than there is room for ---- */

static const void *lock_at(unsigned index)
{
    return &words[index];
}

/* As the wrapper of pthread_mutex_lock does for a mutex that is taken, and that of unlock. */
static void wait_and_hold(const void *lock)
{
    struct kernel_thread *mine = native_locks__waiting(&locks, NATIVE_MUTEX, lock, 0, NULL);
    struct native_hold hold;

    assert_non_null(mine);
    native_locks__waited(&locks, mine);
    native_locks__acquired(&locks, lock, true);
    hold = native_locks__releasing(&locks, lock);
    native_locks__released(&locks, &hold);
}

static uint64_t counted(const struct ledger *ledger, enum ledger_block_kind kind)
{
    uint64_t sum = 0;
    ledger_ref ref = 0;

    while ((ref = ledger__next(ledger, LEDGER_BLOCKS, ref))) {
        const struct ledger_block *block = ledger__at(ledger, ref);

        sum += block->kind == kind ? block->count : 0;
    }
    return sum;
}

static void play_many_locks(struct script *script, struct kernel_thread *mine)
{
    const struct ledger_header *header = script->world->ledger.header;

    (void)start_java(mine, "one", 1);
    for (unsigned i = 0; i < NATIVE_LOCKS + MORE; i++)
        wait_and_hold(lock_at(i));
    assert_true(locks.count <= NATIVE_LOCKS);
    assert_true(header->unseen_holds >= MORE);
    /* Once more: those with a place have kept it, and the others find none. */
    for (unsigned i = 0; i < NATIVE_LOCKS + MORE; i++)
        wait_and_hold(lock_at(i));
    kernel_thread__end_java(mine);
}

/* Each wait is recorded, and each hold is recorded or counted as unseen. */
static void holds_without_room_are_counted(void **state)
{
    struct java_world *world = *state;
    const struct ledger_header *header = world->ledger.header;
    const uint64_t all = 2 * (NATIVE_LOCKS + MORE);
    struct script script;

    run_script(&script, world, play_many_locks);
    assert_int_equal(counted(&world->ledger, BLOCK_NATIVE) + header->lost_blocks, all);
    assert_int_equal(counted(&world->ledger, BLOCK_HELD_NATIVE) + header->lost_holds +
                         header->unseen_holds,
                     all);
    assert_int_equal(header->unseen_holds, 2 * (NATIVE_LOCKS + MORE - locks.count));
}

/* ---- holds whose begin was not seen ---- */

static void release(const void *lock)
{
    struct native_hold hold = native_locks__releasing(&locks, lock);

    native_locks__released(&locks, &hold);
}

static void play_unseen(struct script *script, struct kernel_thread *mine)
{
    const struct ledger_header *header = script->world->ledger.header;
    const void *lock = lock_at(0);

    (void)start_java(mine, "one", 1);
    release(lock); /* nobody has waited for it yet */
    assert_int_equal(header->unseen_holds, 0);
    native_locks__waited(&locks, native_locks__waiting(&locks, NATIVE_MUTEX, lock, 0, NULL));
    release(lock); /* … and now somebody has */
    assert_int_equal(header->unseen_holds, 1);
    release(lock); /* acquired while that did not count, and nobody waits */
    assert_int_equal(header->unseen_holds, 1);
    wait_and_hold(lock);
    assert_int_equal(header->unseen_holds, 1);
    kernel_thread__end_java(mine);
}

static void holds_whose_begin_was_not_seen_are_counted(void **state)
{
    struct java_world *world = *state;
    struct script script;

    run_script(&script, world, play_unseen);
    assert_int_equal(counted(&world->ledger, BLOCK_HELD_NATIVE), 1);
}

/* ---- who is to end ---- */

#define OTHERS 3000u /* kernel threads */

static struct ledger_kernel_thread *record_of(struct ledger *ledger, pid_t tid)
{
    ledger_ref ref = ledger__take_shared(ledger, LEDGER_KERNEL_THREADS,
                                         sizeof(struct ledger_kernel_thread) / LEDGER_CELL_BYTES);
    struct ledger_kernel_thread *record = ledger__at(ledger, ref);

    assert_true(ref != 0);
    record->tid = tid;
    lock_owners__note_kernel_thread(&waits->owners, ref);
    return record;
}

static unsigned known_holders(const struct ledger *ledger)
{
    unsigned known = 0;
    ledger_ref ref = 0;

    while ((ref = ledger__next(ledger, LEDGER_BLOCKS, ref)))
        known += ((const struct ledger_block *)ledger__at(ledger, ref))->holder_id != 0;
    return known;
}

static void join(pid_t tid)
{
    native_locks__waited(&locks,
                         native_locks__waiting(&locks, NATIVE_JOIN, &words[tid % 64], tid, NULL));
}

static void play_joins(struct script *script, struct kernel_thread *mine)
{
    struct ledger *ledger = &script->world->ledger;
    struct ledger_kernel_thread *last = NULL;

    (void)start_java(mine, "one", 1);
    for (unsigned i = 1; i <= OTHERS; i++)
        last = record_of(ledger, (pid_t)(1000000 + i));
    join(last->tid); /* where no Java thread has run */
    assert_int_equal(known_holders(ledger), 0);
    last->thread = ledger__ref(ledger, mine->thread);
    join(last->tid);
    assert_int_equal(known_holders(ledger), 1);
    join(999999); /* which nobody has noted */
    assert_int_equal(known_holders(ledger), 1);
    last->tid = 0; /* it has ended, and another one may have the number */
    join((pid_t)(1000000 + OTHERS));
    assert_int_equal(known_holders(ledger), 1);
    kernel_thread__end_java(mine);
}

static void the_last_of_many_threads_is_found(void **state)
{
    struct script script;

    run_script(&script, *state, play_joins);
}

/* Kernel threads end and begin, more than the table has room for. */
static void entries_of_ended_threads_are_taken(void **state)
{
    struct java_world *world = *state;
    struct ledger_kernel_thread *record = record_of(&world->ledger, 1);
    ledger_ref ref = ledger__ref(&world->ledger, record);

    for (pid_t tid = 2; tid < (pid_t)(3 * LOCK_OWNERS); tid++) {
        record->tid = tid;
        lock_owners__note_kernel_thread(&waits->owners, ref);
        assert_int_equal(lock_owners__kernel_thread(&waits->owners, tid), ref);
        assert_int_equal(lock_owners__kernel_thread(&waits->owners, tid - 1), 0);
    }
}

/* ---- more libraries than there is room for ---- */

/* An image as the linker tells of it, of a page that nothing lies in. */
static struct importing_image image_of(unsigned index, char path[NATIVE_LOCK_PATH])
{
    uint64_t start = (index + 1) * UINT64_C(0x1000);

    snprintf(path, NATIVE_LOCK_PATH, "/opt/lib%u.so", index);
    return (struct importing_image){.path = path, .start = start, .end = start + 0x1000};
}

static void map(unsigned index)
{
    char path[NATIVE_LOCK_PATH];
    struct importing_image image = image_of(index, path);

    locks.imports.replaced(locks.imports.context, &image, 1);
}

static void refuse(unsigned index)
{
    char path[NATIVE_LOCK_PATH];
    struct importing_image image = image_of(index, path);

    locks.imports.refused(locks.imports.context, &image);
}

/* As after a further library was mapped. */
static void look(void)
{
    locks.imports.adds = 0;
    native_locks__look(&locks);
}

static void play_wait_in_images(struct script *script, struct kernel_thread *mine)
{
    const void *inside = (const void *)(uintptr_t)(NATIVE_LOCK_IMAGES * UINT64_C(0x1000) + 8);
    const void *beyond = (const void *)(uintptr_t)((NATIVE_LOCK_IMAGES + 2) * UINT64_C(0x1000));

    (void)script;
    (void)start_java(mine, "one", 1);
    native_locks__waited(&locks,
                         native_locks__waiting(&locks, NATIVE_SEMAPHORE, &words[0], 0, inside));
    native_locks__waited(&locks,
                         native_locks__waiting(&locks, NATIVE_SEMAPHORE, &words[64], 0, beyond));
    kernel_thread__end_java(mine);
}

static uint64_t waits_of(const struct ledger *ledger, const char *name)
{
    uint64_t sum = 0;
    ledger_ref ref = 0;

    while ((ref = ledger__next(ledger, LEDGER_BLOCKS, ref))) {
        const struct ledger_block *block = ledger__at(ledger, ref);

        sum += is_named(ledger, block->class_name, name) ? block->count : 0;
    }
    return sum;
}

/* The locks of those without room have no library in their names, and they are counted. */
static void images_without_room_are_counted(void **state)
{
    struct java_world *world = *state;
    struct script script;
    char last[NATIVE_LOCK_PATH];

    for (unsigned i = 0; i < NATIVE_LOCK_IMAGES + MORE; i++)
        map(i);
    look();
    assert_int_equal(locks.image_count, NATIVE_LOCK_IMAGES);
    assert_int_equal(world->ledger.header->unnamed_images, MORE);
    assert_int_equal(world->ledger.header->unwrapped_images, 0);
    run_script(&script, world, play_wait_in_images);
    snprintf(last, sizeof(last), "sem_t in lib%u.so", NATIVE_LOCK_IMAGES - 1);
    assert_int_equal(waits_of(&world->ledger, last), 1);
    assert_int_equal(waits_of(&world->ledger, "sem_t"), 1);
}

/* ---- libraries whose calls may not be replaced ---- */

static unsigned refused_images; /* that the next look meets */

static bool refuse_some(void *context, const struct importing_image *image)
{
    (void)context, (void)image;
    while (refused_images)
        refuse(--refused_images);
    return false;
}

static void look_with_refused(unsigned images)
{
    refused_images = images;
    look();
}

static void refused_images_are_counted_once(void **state)
{
    const struct java_world *world = *state;
    const struct ledger_header *header = world->ledger.header;

    locks.imports.admits = refuse_some;
    assert_int_equal(header->unwrapped_images, 0);
    look_with_refused(2);
    look_with_refused(2);
    assert_int_equal(header->unwrapped_images, 2);
    assert_int_equal(lines, 1);
    look_with_refused(NATIVE_LOCK_IMAGES + 5);
    look_with_refused(NATIVE_LOCK_IMAGES + 5);
    look_with_refused(NATIVE_LOCK_IMAGES + 7);
    look_with_refused(0);
    assert_int_equal(header->unwrapped_images, NATIVE_LOCK_IMAGES + 7);
    assert_int_equal(header->unnamed_images, 0);
    assert_int_equal(lines, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(holds_whose_begin_was_not_seen_are_counted, begin_world,
                                        end_world),
        cmocka_unit_test_setup_teardown(holds_without_room_are_counted, begin_world, end_world),
        cmocka_unit_test_setup_teardown(the_last_of_many_threads_is_found, begin_world, end_world),
        cmocka_unit_test_setup_teardown(entries_of_ended_threads_are_taken, begin_world, end_world),
        cmocka_unit_test_setup_teardown(images_without_room_are_counted, begin_world, end_world),
        cmocka_unit_test_setup_teardown(refused_images_are_counted_once, begin_world, end_world),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
