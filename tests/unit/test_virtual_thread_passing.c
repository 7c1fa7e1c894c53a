/*
 * Virtual threads that go from carrier to carrier, under load: real kernel threads hand them on
 * with calls open, while another one takes dumps. For the sanitizers, too.
 */
#include "burn.h"
#include "java_world.h"
#include "native/snapshot/snapshot.h"
#include "native/thread/kernel_thread_events.h"
#include "native/thread/virtual_thread.h"

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
#define CARRIERS 4

/* Calls nest as A, B, C, … */
#define PASSED       60
#define PASSED_TURNS 1000
#define PASSED_DEPTH 6

struct passed {
    uint64_t id;
    ledger_ref thread;
    uint64_t random;
    uint64_t tokens[PASSED_DEPTH];
    uint64_t calls[PASSED_DEPTH];
    int depth;
    int turns_left;
};

struct queue {
    struct java_world *world;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct passed *waiting[PASSED];
    int first;
    int count;
    int alive;
    struct passed all[PASSED];
    int carriers_begun;
};

static struct kernel_thread *enter_carrier(struct java_world *world, uint64_t id)
{
    static const char name[] = "carries";
    const struct java_thread_facts facts = {
        .name = name, .name_length = sizeof name - 1, .kind = THREAD_CARRIER, .java_id = id};
    struct kernel_thread *carrier = kernel_thread_table__enter(&world->table);
    return carrier != NULL && kernel_thread__start_java(carrier, &facts) == 0 ? carrier : NULL;
}

static ledger_ref begin_virtual(struct kernel_thread *carrier, uint64_t id)
{
    static const char name[] = "passed-on";
    const struct java_thread_facts facts = {
        .name = name, .name_length = sizeof name - 1, .kind = THREAD_VIRTUAL, .java_id = id};
    return virtual_thread__begin(carrier, &facts);
}

/* As the JVM's scheduler has one: what it hands on is seen by who takes it. */
static struct passed *take_turn(struct queue *queue)
{
    struct passed *next = NULL;
    (void)pthread_mutex_lock(&queue->lock);
    while (queue->count == 0 && queue->alive > 0)
        (void)pthread_cond_wait(&queue->changed, &queue->lock);
    if (queue->count > 0) {
        next = queue->waiting[queue->first];
        queue->first = (queue->first + 1) % PASSED;
        queue->count--;
    }
    (void)pthread_mutex_unlock(&queue->lock);
    return next;
}

static void hand_on(struct queue *queue, struct passed *passed)
{
    (void)pthread_mutex_lock(&queue->lock);
    if (passed->turns_left > 0) {
        queue->waiting[(queue->first + queue->count) % PASSED] = passed;
        queue->count++;
    } else {
        queue->alive--;
    }
    (void)pthread_cond_broadcast(&queue->changed);
    (void)pthread_mutex_unlock(&queue->lock);
}

static bool draw_coin(struct passed *passed)
{
    passed->random = passed->random * 6364136223846793005u + 1442695040888963407u;
    return (passed->random >> 62) & 1;
}

static void return_one(struct kernel_thread *carrier, struct passed *passed)
{
    kernel_thread__pop(carrier, passed->tokens[--passed->depth]);
}

static void play_turn(struct kernel_thread *carrier, struct passed *passed)
{
    if (passed->thread == 0)
        passed->thread = begin_virtual(carrier, passed->id);
    (void)virtual_thread__mount(carrier, passed->thread);
    for (int i = 0; i < 6; i++) {
        if (passed->depth == PASSED_DEPTH || (passed->depth > 0 && draw_coin(passed))) {
            return_one(carrier, passed);
            continue;
        }
        passed->calls[passed->depth]++;
        passed->tokens[passed->depth] = kernel_thread__push(carrier, 'A' + (uint64_t)passed->depth);
        passed->depth++;
    }
    passed->turns_left--;
    while (passed->turns_left == 0 && passed->depth > 0)
        return_one(carrier, passed);
    /* Some are still mounted when they end. */
    if (passed->turns_left > 0 || draw_coin(passed))
        virtual_thread__unmount(carrier);
    if (passed->turns_left == 0)
        virtual_thread__end(carrier, passed->thread);
}

static void *carry(void *context)
{
    struct queue *queue = context;
    struct passed *passed;
    (void)pthread_mutex_lock(&queue->lock);
    uint64_t id = 3000000000u + (unsigned)queue->carriers_begun++;
    (void)pthread_mutex_unlock(&queue->lock);
    struct kernel_thread *carrier = enter_carrier(queue->world, id);
    while ((passed = take_turn(queue)) != NULL) {
        uint64_t own = kernel_thread__push(carrier, 'S');
        play_turn(carrier, passed);
        kernel_thread__pop(carrier, own);
        hand_on(queue, passed);
    }
    return NULL;
}

struct passed_sums {
    uint64_t calls[PASSED_DEPTH];
    uint64_t mounts;
    uint64_t members;
    uint64_t over;
    uint64_t cpu_ns; /* of carriers, too */
};

static void sum_up_passed(const struct ledger *ledger, struct passed_sums *sums)
{
    ledger_ref ref = 0;
    *sums = (struct passed_sums){0};
    while ((ref = ledger__next(ledger, LEDGER_THREADS, ref)) != 0) {
        const struct ledger_thread *thread = ledger__at(ledger, ref);
        if (thread->kind == THREAD_CARRIER || thread->kind == THREAD_VIRTUAL)
            sums->cpu_ns += sum_cpu_ns(ledger, thread->root);
        if (thread->kind != THREAD_VIRTUAL)
            continue;
        ledger_ref node = child_of(ledger, thread->root, 'A');
        for (uint64_t depth = 0; depth < PASSED_DEPTH && node != 0; depth++) {
            sums->calls[depth] += node_at(ledger, node)->calls;
            node = child_of(ledger, node, 'B' + depth);
        }
        sums->mounts += thread->mounts;
        sums->members += (thread->flags & THREAD_GROUP) != 0 ? thread->members : 1;
        sums->over += (thread->flags & THREAD_TERMINATED) != 0;
    }
}

/* A dump into *sums. */
static void dump_passed(const struct java_world *world, struct passed_sums *sums)
{
    struct ledger copy;
    int fd = memfd_create("snapshot", MFD_CLOEXEC);
    assert_int_equal(snapshot__copy(world->ledger.fd, fd), 0);
    assert_int_equal(ledger__adopt(&copy, fd, (uint64_t)lseek(fd, 0, SEEK_END), MIB), 0);
    sum_up_passed(&copy, sums);
    ledger__close(&copy);
    (void)close(fd);
}

/* Counters only grow from dump to dump, but while rows are folded away. */
static uint64_t dump_while_alive(struct queue *queue, bool fold)
{
    struct passed_sums sums, before = {0};
    uint64_t dumps = 0;
    for (bool alive = true; alive; dumps++) {
        (void)pthread_mutex_lock(&queue->lock);
        alive = queue->alive > 0;
        (void)pthread_mutex_unlock(&queue->lock);
        dump_passed(queue->world, &sums);
        for (int depth = 0; depth < PASSED_DEPTH && !fold; depth++)
            assert_true(sums.calls[depth] >= before.calls[depth]);
        assert_true(fold || sums.mounts >= before.mounts);
        before = sums;
    }
    return dumps;
}

static void check_passed(const struct queue *queue, bool fold)
{
    const struct ledger *ledger = &queue->world->ledger;
    struct passed_sums live, dumped;
    uint64_t charged_ns = 0;
    ledger_ref ref = 0;
    sum_up_passed(ledger, &live);
    dump_passed(queue->world, &dumped);
    for (int depth = 0; depth < PASSED_DEPTH; depth++) {
        uint64_t calls = 0;
        for (int i = 0; i < PASSED; i++)
            calls += queue->all[i].calls[depth];
        assert_int_equal(live.calls[depth], calls);
        assert_int_equal(dumped.calls[depth], calls);
    }
    assert_int_equal(live.mounts, (uint64_t)PASSED * PASSED_TURNS);
    assert_int_equal(dumped.mounts, live.mounts);
    assert_int_equal(live.members, PASSED);
    assert_true(fold || live.over == PASSED);
    while ((ref = ledger__next(ledger, LEDGER_KERNEL_THREADS, ref)) != 0)
        charged_ns +=
            ((const struct ledger_kernel_thread *)ledger__at(ledger, ref))->charged_cpu_ns;
    assert_int_equal(live.cpu_ns, charged_ns);
    assert_int_equal(ledger->header->resynchronised, 0);
    assert_int_equal(ledger->header->dropped_enters, 0);
}

static void threads_passed_on_while_dumps_are_taken_lose_nothing(void **state)
{
    (void)state;
    for (int fold = 0; fold < 2; fold++) {
        static struct queue queue;
        pthread_t threads[CARRIERS];
        struct java_world *world = java_world__make(64 * MIB, 0, 0, false);
        assert_non_null(world);
        queue = (struct queue){.world = world,
                               .lock = PTHREAD_MUTEX_INITIALIZER,
                               .changed = PTHREAD_COND_INITIALIZER,
                               .count = PASSED,
                               .alive = PASSED};
        world->ledger.header->profiling = 1;
        world->ledger.header->fold_none = fold == 0;
        world->ledger.header->kept_threads = THREADS_KEPT;
        for (int i = 0; i < PASSED; i++) {
            queue.all[i] = (struct passed){
                .id = 1 + (uint64_t)i, .random = (uint64_t)i, .turns_left = PASSED_TURNS};
            queue.waiting[i] = &queue.all[i];
        }
        for (int i = 0; i < CARRIERS; i++)
            assert_int_equal(pthread_create(&threads[i], NULL, carry, &queue), 0);
        uint64_t dumps = dump_while_alive(&queue, fold != 0);
        for (int i = 0; i < CARRIERS; i++)
            assert_int_equal(pthread_join(threads[i], NULL), 0);
        check_passed(&queue, fold != 0);
        print_message("%d mounts, %llu dumps meanwhile\n", PASSED * PASSED_TURNS,
                      (unsigned long long)dumps);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_passed_on_while_dumps_are_taken_lose_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
