/* Logical stacks of several threads: each has one, and gives it back. */
#include "native/activity/segment_reader.h"
#include "native/activity/treadle.h"

#include <pthread.h>
#include <unistd.h>

/* cmocka.h needs the others before it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "logical_stack.h"
/* clang-format on */

struct other_thread {
    pthread_barrier_t pushed;
    pthread_barrier_t looked;
    pid_t tid;
};

static void *push_elsewhere(void *context)
{
    struct other_thread *other = context;

    other->tid = gettid();
    treadle_push("elsewhere");
    pthread_barrier_wait(&other->pushed);
    pthread_barrier_wait(&other->looked);
    return NULL;
}

static void each_thread_has_a_stack_and_gives_it_back(void **state)
{
    (void)state;
    struct segment_reader *reader = watched();
    struct other_thread other;
    pthread_t thread;

    pthread_barrier_init(&other.pushed, NULL, 2);
    pthread_barrier_init(&other.looked, NULL, 2);
    treadle_push("here");
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(pthread_create(&thread, NULL, push_elsewhere, &other), 0);
        pthread_barrier_wait(&other.pushed);
        assert_string_equal(stack_text(reader), "here");
        assert_string_equal(stack_text_of(reader, other.tid), "elsewhere");
        pthread_barrier_wait(&other.looked);
        pthread_join(thread, NULL);
        assert_string_equal(stack_text_of(reader, other.tid), "(no stack)");
        assert_int_equal(segment_reader__slots(reader), 2);
    }
    treadle_pop();
    unwatched(reader);
}

static void *push_once(void *context)
{
    treadle_push("one of many");
    pthread_barrier_wait(context);
    pthread_barrier_wait(context);
    return NULL;
}

static void the_segment_grows_with_its_threads(void **state)
{
    (void)state;
    struct segment_reader *reader = watched();
    pthread_t threads[TREADLE_SLOTS_STEP * 2];
    unsigned count = sizeof threads / sizeof threads[0], seen = 0;
    pthread_barrier_t barrier;
    struct segment_stack stack;
    pthread_attr_t small;

    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 128 << 10);
    pthread_barrier_init(&barrier, NULL, count + 1);
    treadle_push("here");
    for (unsigned i = 0; i < count; i++)
        assert_int_equal(pthread_create(&threads[i], &small, push_once, &barrier), 0);
    pthread_barrier_wait(&barrier);
    for (uint32_t slot = 0; slot < segment_reader__slots(reader); slot++)
        seen += segment_reader__read(reader, slot, &stack) == SEGMENT_STACK && stack.depth == 1;
    pthread_barrier_wait(&barrier);
    for (unsigned i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(seen, count + 1);
    assert_int_equal(segment_reader__losses(reader).lost_threads, 0);
    treadle_pop();
    unwatched(reader);
}

static void *push_when_asked(void *context)
{
    struct other_thread *other = context;

    other->tid = gettid();
    for (unsigned round = 0; round < 4; round++) {
        pthread_barrier_wait(&other->looked);
        for (unsigned i = 0; i < 3; i++)
            treadle_push("when asked");
        pthread_barrier_wait(&other->pushed);
    }
    return NULL;
}

static void ask_to_push(struct other_thread *other)
{
    pthread_barrier_wait(&other->looked);
    pthread_barrier_wait(&other->pushed);
}

/* Each such thread is counted, once, and has a stack as soon as another gives its own back. */
static void a_thread_without_a_stack_gets_one_that_is_given_back(void **state)
{
    (void)state;
    struct segment_reader *reader = watched();
    uint64_t before = segment_reader__losses(reader).lost_threads;
    struct other_thread others[3];
    struct treadle_slot *taken[TREADLE_SLOTS];
    pthread_t threads[3];
    unsigned count = 0;

    for (unsigned i = 0; i < 3; i++) {
        pthread_barrier_init(&others[i].pushed, NULL, 2);
        pthread_barrier_init(&others[i].looked, NULL, 2);
        assert_int_equal(pthread_create(&threads[i], NULL, push_when_asked, &others[i]), 0);
    }
    ask_to_push(&others[0]);
    while ((taken[count] = treadle__claim(&treadle__process, INT32_MAX)) != NULL)
        count++;
    ask_to_push(&others[1]);
    ask_to_push(&others[2]);
    ask_to_push(&others[1]);
    assert_int_equal(segment_reader__losses(reader).lost_threads - before, 2);
    assert_string_equal(stack_text_of(reader, others[1].tid), "(no stack)");
    for (unsigned i = 0; i < 3; i++)
        ask_to_push(&others[0]);
    pthread_join(threads[0], NULL);
    ask_to_push(&others[1]);
    assert_string_equal(stack_text_of(reader, others[1].tid), "when asked/when asked/when asked");
    ask_to_push(&others[2]);
    assert_string_equal(stack_text_of(reader, others[2].tid), "(no stack)");
    ask_to_push(&others[1]);
    pthread_join(threads[1], NULL);
    ask_to_push(&others[2]);
    assert_string_equal(stack_text_of(reader, others[2].tid), "when asked/when asked/when asked");
    assert_int_equal(segment_reader__losses(reader).lost_threads - before, 2);
    ask_to_push(&others[2]);
    pthread_join(threads[2], NULL);
    while (count)
        taken[--count]->tid = 0;
    unwatched(reader);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_thread_has_a_stack_and_gives_it_back),
        cmocka_unit_test(the_segment_grows_with_its_threads),
        cmocka_unit_test(a_thread_without_a_stack_gets_one_that_is_given_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
