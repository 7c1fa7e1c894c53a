/*
 * Profiling that begins late, is stopped and goes on. Threads of the test play Java threads; what
 * they should be charged is measured by their own CPU clocks around each stretch of work.
 */
#include "burn.h"
#include "java_world.h"
#include "native/snapshot/settle.h"
#include "native/snapshot/snapshot.h"
#include "native/thread/kernel_thread_events.h"

#include <pthread.h>
#include <sys/mman.h>

/* cmocka.h needs the others before it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#define MIB      (UINT64_C(1) << 20)
#define SLACK_NS (2 * MS) /* two looks at a clock, one from another thread */

struct play {
    struct java_world *world;
    struct unprofiled_table unprofiled;
    pthread_barrier_t barrier;
    pid_t tid;
    uint64_t worked_ns[4]; /* CPU of each stretch, by the worker's own clock */
};

static void make_play(struct play *play)
{
    memset(play, 0, sizeof *play);
    play->world = java_world__make(4 * MIB, LEDGER_CLOCK_PLAIN, 0, false);
    assert_non_null(play->world);
    unprofiled_table__init(&play->unprofiled, &play->world->ledger, 0);
    play->world->setup.unprofiled = &play->unprofiled;
    assert_int_equal(pthread_barrier_init(&play->barrier, NULL, 2), 0);
}

static void meet(struct play *play)
{
    (void)pthread_barrier_wait(&play->barrier);
}

static uint64_t now_ns(const struct play *play)
{
    return ledger_time__now_ns(&play->world->setup.time);
}

static void stop(struct play *play)
{
    assert_int_equal(unprofiled_table__prepare_stop(&play->unprofiled), 0);
    __atomic_store_n(&play->world->setup.epoch, EPOCH_STOPPED, __ATOMIC_RELEASE);
    unprofiled_table__stop(&play->unprofiled, now_ns(play));
    kernel_thread_table__note_unprofiled(&play->world->table);
}

static void start(struct play *play, uint32_t epoch)
{
    assert_int_equal(unprofiled_table__prepare_start(&play->unprofiled), 0);
    unprofiled_table__start(&play->unprofiled, now_ns(play));
    kernel_thread_table__note_unprofiled(&play->world->table);
    __atomic_store_n(&play->world->setup.epoch, epoch, __ATOMIC_RELEASE);
}

static void work(struct play *play, int stretch, uint64_t ns)
{
    uint64_t before_ns = thread_cpu_ns();
    burn_cpu(ns);
    play->worked_ns[stretch] = thread_cpu_ns() - before_ns;
}

static void check_near(uint64_t is_ns, uint64_t should_ns)
{
    if (is_ns + SLACK_NS < should_ns || is_ns > should_ns + SLACK_NS)
        fail_msg("%.3f ms, expected %.3f", (double)is_ns / 1e6, (double)should_ns / 1e6);
}

/* A is entered, 20 ms; stopped, 30 ms; started, 15 ms, B is entered, 10 ms, and the thread ends. */
static void *stopped_and_started(void *context)
{
    struct play *play = context;
    struct kernel_thread *mine = kernel_thread_table__enter(&play->world->table);
    uint64_t token;

    (void)start_java(mine, "worker", 1);
    token = kernel_thread__push(mine, 'A');
    work(play, 0, 20 * MS);
    meet(play);
    meet(play);
    work(play, 1, 30 * MS);
    if (kernel_thread__push(mine, 'C') != CALL_TOKEN_NONE)
        play->tid = -1;
    kernel_thread__pop(mine, token);
    meet(play);
    meet(play);
    work(play, 2, 15 * MS);
    (void)kernel_thread__push(mine, 'B');
    work(play, 3, 10 * MS);
    kernel_thread__pop(mine, token); /* of the first epoch: it is not B's */
    return NULL;
}

static void what_is_done_while_stopped_is_nobodys(void **state)
{
    (void)state;
    static struct play play;
    pthread_t worker;
    char text[DRAWING_BYTES];
    make_play(&play);
    uint64_t began_ns = now_ns(&play);
    assert_int_equal(pthread_create(&worker, NULL, stopped_and_started, &play), 0);
    meet(&play);
    stop(&play);
    uint64_t stopped_ns = now_ns(&play);
    meet(&play);
    meet(&play);
    uint64_t before_start_ns = now_ns(&play);
    start(&play, 2);
    meet(&play);
    assert_int_equal(pthread_join(worker, NULL), 0);
    uint64_t ended_ns = now_ns(&play);

    const struct ledger_thread *thread = find_thread(&play.world->ledger, 1);
    assert_non_null(thread);
    assert_int_equal(play.tid, 0);
    assert_string_equal(draw(&play.world->ledger, thread->root, text),
                        "root\n  A 1\n  B 1\n  gap\n");
    /* Nobody looked where it stood at the start. */
    check_near(cpu_at(&play.world->ledger, thread, "A"), play.worked_ns[0]);
    check_near(node_at(&play.world->ledger, thread->root)->cpu_ns, play.worked_ns[2]);
    check_near(cpu_at(&play.world->ledger, thread, "B"), play.worked_ns[3]);
    uint64_t wall_ns = 0;
    ledger_ref ref = thread->root;
    for (const struct ledger_node *node = node_at(&play.world->ledger, ref); node != NULL;
         node = ref != 0 ? node_at(&play.world->ledger, ref) : NULL) {
        wall_ns += ledger_node__wall_ns(node);
        ref = ledger_node__kind(node) == NODE_ROOT ? node->first_child : node->next_sibling;
    }
    /* At least what it worked, at most what passed while profiling ran. */
    assert_true(wall_ns + SLACK_NS >= play.worked_ns[0] + play.worked_ns[2] + play.worked_ns[3]);
    assert_true(wall_ns <= stopped_ns - began_ns + ended_ns - before_start_ns);
}

/* It works 25 ms before anybody looks, 15 ms after it was adopted, and then comes by. */
static void *adopted(void *context)
{
    struct play *play = context;
    play->tid = gettid();
    work(play, 0, 25 * MS);
    meet(play);
    meet(play);
    work(play, 1, 15 * MS);
    meet(play);
    meet(play);
    struct kernel_thread *mine = kernel_thread_table__enter(&play->world->table);
    if (mine != NULL && mine->thread != NULL) {
        uint64_t token = kernel_thread__push(mine, 'A');
        work(play, 2, 10 * MS);
        kernel_thread__pop(mine, token);
    }
    return NULL;
}

/* What a snapshot says of the thread in the middle. */
static uint64_t settled_cpu_ns(const struct play *play, uint64_t java_id)
{
    int fd = memfd_create("snapshot", MFD_CLOEXEC);
    struct ledger copy;
    assert_true(fd >= 0);
    assert_int_equal(snapshot__copy(play->world->ledger.fd, fd), 0);
    off_t bytes = lseek(fd, 0, SEEK_END);
    assert_int_equal(ledger__adopt(&copy, fd, (uint64_t)bytes, MIB), 0);
    const struct ledger_thread *thread = find_thread(&copy, java_id);
    assert_non_null(thread);
    uint64_t cpu_ns = thread->left_cpu_ns;
    ledger__close(&copy);
    (void)close(fd);
    return cpu_ns;
}

static void what_was_done_before_is_nobodys(void **state)
{
    (void)state;
    const struct java_thread_facts facts = {
        .name = "late", .name_length = 4, .kind = THREAD_PLATFORM, .java_id = 2};
    static struct play play;
    pthread_t worker;
    make_play(&play);
    play.world->setup.epoch = EPOCH_STOPPED;
    assert_int_equal(pthread_create(&worker, NULL, adopted, &play), 0);
    meet(&play);
    start(&play, 1);
    assert_int_not_equal(kernel_thread_table__adopt(&play.world->table, play.tid, &facts), 0);
    assert_int_equal(kernel_thread_table__adopt(&play.world->table, play.tid, &facts), 0);
    assert_true(kernel_thread_table__runs_java(&play.world->table, play.tid));
    meet(&play);
    meet(&play);
    check_near(settled_cpu_ns(&play, 2), play.worked_ns[1]);
    meet(&play);
    assert_int_equal(pthread_join(worker, NULL), 0);

    const struct ledger_thread *thread = find_thread(&play.world->ledger, 2);
    assert_true(is_named(&play.world->ledger, thread->name, "late"));
    check_near(cpu_at(&play.world->ledger, thread, ""), play.worked_ns[1]);
    check_near(cpu_at(&play.world->ledger, thread, "A"), play.worked_ns[2]);
    assert_true((thread->flags & THREAD_TERMINATED) != 0);
}

static void *waits(void *context)
{
    struct play *play = context;
    struct kernel_thread *mine = kernel_thread_table__enter(&play->world->table);
    (void)start_java(mine, "waits", 3);
    work(play, 0, 20 * MS);
    meet(play);
    meet(play);
    work(play, 1, 20 * MS);
    meet(play);
    meet(play);
    return NULL;
}

/* The process's own total stands still with the threads'. */
static void a_snapshot_while_stopped_is_of_the_stop(void **state)
{
    (void)state;
    static struct play play;
    pthread_t worker;
    make_play(&play);
    assert_int_equal(pthread_create(&worker, NULL, waits, &play), 0);
    meet(&play);
    stop(&play);
    uint64_t process_ns = play.world->ledger.header->process_cpu_ns;
    meet(&play);
    meet(&play);
    check_near(settled_cpu_ns(&play, 3), play.worked_ns[0]);
    assert_int_equal(play.world->ledger.header->process_cpu_ns, process_ns);
    start(&play, 2);
    assert_int_equal(ledger__read_process_cpu(play.world->ledger.header), 0);
    check_near(play.world->ledger.header->process_cpu_ns, process_ns);
    check_near(settled_cpu_ns(&play, 3), play.worked_ns[0]);
    meet(&play);
    assert_int_equal(pthread_join(worker, NULL), 0);
}

/* Any number of times: the records are used again. */
static void a_thousand_times_needs_no_more_room(void **state)
{
    (void)state;
    static struct play play;
    pthread_t worker;
    make_play(&play);
    assert_int_equal(pthread_create(&worker, NULL, waits, &play), 0);
    meet(&play);
    uint32_t chunks = 0;
    for (uint32_t round = 0; round < 1000; round++) {
        stop(&play);
        start(&play, round + 2);
        if (round == 0)
            chunks = play.world->ledger.header->chunks_used;
    }
    assert_int_equal(play.world->ledger.header->chunks_used, chunks);
    assert_int_equal(play.world->ledger.header->starts, 1001);
    check_near(settled_cpu_ns(&play, 3), play.worked_ns[0]);
    meet(&play);
    meet(&play);
    check_near(settled_cpu_ns(&play, 3), play.worked_ns[0] + play.worked_ns[1]);
    meet(&play);
    assert_int_equal(pthread_join(worker, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_done_while_stopped_is_nobodys),
        cmocka_unit_test(what_was_done_before_is_nobodys),
        cmocka_unit_test(a_snapshot_while_stopped_is_of_the_stop),
        cmocka_unit_test(a_thousand_times_needs_no_more_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
