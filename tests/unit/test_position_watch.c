/*
 * Samples of a thread whose path ends in root, M, A, B, while its stack says something else; and
 * what the thread is then asked to do. Times are CPU since the last event, in ns.
 */
#include "agent/sampling/position_watch.h"
#include "burn.h"
#include "java_world.h"
#include "native/thread/kernel_thread_events.h"

#include <pthread.h>

/* cmocka.h needs the others before it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#define MIB   (UINT64_C(1) << 20)
#define TESTS 16

struct stage {
    struct position_watches watches;
    struct kernel_thread *mine;
    ledger_ref root, m, a, b;
    uint64_t corrected;   /* before */
    struct sample sample; /* the last, for frames would stand behind it; it has none */
};

/* One kernel thread for all, which is this process's first; what tests made stays reachable. */
static struct java_world *world;
static struct stage stages[TESTS];
static unsigned made;

static ledger_ref enter(struct kernel_thread *mine, uint64_t key)
{
    kernel_thread__enter(mine, key);
    return ledger__ref(&world->ledger, mine->tree.current);
}

/* An event has come. */
static void note_event(struct stage *stage)
{
    stage->sample.node = ledger__ref(&world->ledger, stage->mine->tree.current);
    stage->sample.charged_ns = stage->mine->record->charged_cpu_ns;
}

static struct stage *make(void)
{
    struct stage *stage = &stages[made++];
    if (world == NULL) {
        world = java_world__make(MIB, LEDGER_CLOCK_PLAIN, 0, false);
        assert_non_null(world);
        assert_int_equal(start_java(kernel_thread_table__enter(&world->table), "main", 1), 0);
    }
    stage->mine = kernel_thread_table__mine();
    stage->mine->mend.ready = false;
    stage->watches.threads = &world->table;
    stage->watches.ledger = &world->ledger;
    stage->root = stage->mine->thread->root;
    call_tree__go_to(&stage->mine->tree, stage->root, 0);
    stage->m = enter(stage->mine, 'M');
    stage->a = enter(stage->mine, 'A');
    stage->b = enter(stage->mine, 'B');
    stage->sample.tid = gettid();
    stage->sample.thread = stage->mine->record->thread;
    stage->corrected = world->ledger.header->positions_corrected;
    note_event(stage);
    return stage;
}

static bool note(struct stage *stage, ledger_ref stands, uint64_t event_ns)
{
    stage->sample.event_ns = event_ns;
    return position_watch__note(&stage->watches, &stage->sample, stands);
}

static void check_asked(const struct stage *stage, ledger_ref to, uint64_t agreed_ns)
{
    const struct position_mend *mend = &stage->mine->mend;
    assert_true(kernel_thread__is_to_be_mended(stage->mine));
    assert_int_equal(mend->from, stage->b);
    assert_int_equal(mend->to, to);
    assert_int_equal(mend->charged_ns, stage->sample.charged_ns);
    assert_int_equal(mend->agreed_ns, agreed_ns);
    assert_int_equal(world->ledger.header->positions_corrected, stage->corrected + 1);
}

static void check_not_asked(const struct stage *stage)
{
    assert_false(kernel_thread__is_to_be_mended(stage->mine));
    assert_int_equal(world->ledger.header->positions_corrected, stage->corrected);
}

/* It left somewhere between 4000 and 10000. */
static void three_samples_in_a_row(void **state)
{
    (void)state;
    struct stage *stage = make();
    assert_false(note(stage, stage->b, 1000));
    assert_false(note(stage, stage->b, 4000));
    assert_false(note(stage, stage->m, 10000));
    assert_false(note(stage, stage->m, 11000));
    check_not_asked(stage);
    assert_true(note(stage, stage->m, 15000));
    check_asked(stage, stage->m, 7000);
}

static void none_agreed_since_the_event(void **state)
{
    (void)state;
    struct stage *stage = make();
    (void)note(stage, stage->root, 3000);
    (void)note(stage, stage->root, 5000);
    assert_true(note(stage, stage->root, 9000));
    check_asked(stage, stage->root, 1500);
}

/* Until the thread comes to it, samples still find it elsewhere: that is one correction. */
static void more_samples_change_nothing(void **state)
{
    (void)state;
    struct stage *stage = make();
    (void)note(stage, stage->b, 2000);
    for (uint64_t i = 0; i < 6; i++)
        assert_int_equal(note(stage, stage->a, 6000 + i * 1000), i >= 2);
    check_asked(stage, stage->a, 4000);
}

static void one_that_agrees_begins_anew(void **state)
{
    (void)state;
    struct stage *stage = make();
    (void)note(stage, stage->m, 1000);
    (void)note(stage, stage->m, 2000);
    assert_false(note(stage, stage->b, 3000));
    assert_false(note(stage, stage->m, 5000));
    assert_false(note(stage, stage->m, 6000));
    check_not_asked(stage);
    assert_true(note(stage, stage->m, 7000));
    check_asked(stage, stage->m, 4000);
}

static void another_place_begins_anew(void **state)
{
    (void)state;
    struct stage *stage = make();
    (void)note(stage, stage->a, 1000);
    (void)note(stage, stage->a, 2000);
    assert_false(note(stage, stage->m, 3000));
    assert_false(note(stage, stage->m, 4000));
    check_not_asked(stage);
    assert_true(note(stage, stage->m, 5000));
    assert_int_equal(stage->mine->mend.to, stage->m);
}

/* The same node, and it was there between: what agreed before the event is charged. */
static void an_event_begins_anew(void **state)
{
    (void)state;
    struct stage *stage = make();
    (void)note(stage, stage->b, 8000);
    (void)note(stage, stage->m, 9000);
    (void)note(stage, stage->m, 9500);
    burn_cpu(1000);
    (void)enter(stage->mine, 'C');
    kernel_thread__leave(stage->mine, 'C');
    note_event(stage);
    assert_int_equal(stage->sample.node, stage->b);
    assert_false(note(stage, stage->m, 600));
    assert_false(note(stage, stage->m, 700));
    check_not_asked(stage);
    assert_true(note(stage, stage->m, 800));
    check_asked(stage, stage->m, 300);
}

/* Samples of two threads come mixed; this kernel thread runs one of them. */
static void threads_are_apart(void **state)
{
    (void)state;
    struct stage *stage = make();
    ledger_ref thread = stage->sample.thread;
    for (uint64_t i = 0; i < 2; i++) {
        stage->sample.thread = thread;
        assert_false(note(stage, stage->m, 2000 + i));
        stage->sample.thread = thread + 1;
        assert_false(note(stage, stage->a, 2000 + i));
    }
    assert_true(note(stage, stage->a, 2002));
    assert_false(kernel_thread__is_to_be_mended(stage->mine));
    assert_int_equal(world->ledger.header->positions_corrected, stage->corrected + 1);
}

static void the_thread_goes_there(void **state)
{
    (void)state;
    struct stage *stage = make();
    const struct ledger_node *b = node_at(&world->ledger, stage->b);
    const struct ledger_node *m = node_at(&world->ledger, stage->m);
    uint64_t in_b = b->cpu_ns, in_m = m->cpu_ns, charged = stage->mine->record->charged_cpu_ns;
    (void)note(stage, stage->b, 200);
    for (uint64_t i = 0; i < 3; i++)
        (void)note(stage, stage->m, 400 + i);
    kernel_thread__mend(stage->mine);
    assert_int_equal(b->cpu_ns, in_b + 300);
    assert_int_equal(m->cpu_ns, in_m);
    assert_int_equal(stage->mine->record->charged_cpu_ns, charged + 300);
    assert_ptr_equal(stage->mine->tree.current, m);
    assert_true(call_tree__is_unseen(&stage->mine->tree));
    assert_false(kernel_thread__is_to_be_mended(stage->mine));
}

/* The event has told where the thread stands, be that in the same node again. */
static void an_event_comes_first(void **state)
{
    (void)state;
    for (int returns = 0; returns < 2; returns++) {
        struct stage *stage = make();
        for (uint64_t i = 0; i < 3; i++)
            (void)note(stage, stage->m, 400 + i);
        assert_true(kernel_thread__is_to_be_mended(stage->mine));
        burn_cpu(1000);
        (void)enter(stage->mine, 'C');
        if (returns)
            kernel_thread__leave(stage->mine, 'C');
        const struct ledger_node *stands = stage->mine->tree.current;
        uint64_t in_it = stands->cpu_ns, charged = stage->mine->record->charged_cpu_ns;
        kernel_thread__mend(stage->mine);
        assert_ptr_equal(stage->mine->tree.current, stands);
        assert_int_equal(stands->cpu_ns, in_it);
        assert_int_equal(stage->mine->record->charged_cpu_ns, charged);
        assert_false(kernel_thread__is_to_be_mended(stage->mine));
    }
}

/* Samples may be wrong: the frames that they did not find leave with their tokens, and the thread
 * stays where it was put, below its root, instead of going up from there. */
static void frames_that_are_there_after_all(void **state)
{
    (void)state;
    struct stage *stage = make();
    struct kernel_thread *mine = stage->mine;
    const struct ledger_node *root = node_at(&world->ledger, stage->root);
    call_tree__go_to(&mine->tree, stage->root, 0);
    uint64_t m = kernel_thread__push(mine, 'M');
    uint64_t a = kernel_thread__push(mine, 'A');
    note_event(stage);
    for (uint64_t i = 0; i < 3; i++)
        (void)note(stage, stage->root, 400 + i);
    kernel_thread__mend(mine);
    assert_ptr_equal(mine->tree.current, root);
    kernel_thread__pop(mine, a);
    assert_ptr_equal(mine->tree.current, root);
    kernel_thread__pop(mine, m);
    assert_ptr_equal(mine->tree.current, root);
    uint64_t c = kernel_thread__push(mine, 'C');
    assert_ptr_equal(node_at(&world->ledger, mine->tree.current->parent), root);
    kernel_thread__catch(mine, m);
    assert_int_equal(mine->tree.current->key, 'C');
    kernel_thread__pop(mine, c);
    assert_ptr_equal(mine->tree.current, root);
    assert_int_equal(mine->record->current, stage->root);
}

/* What was asked may be under way. */
static void what_was_asked_stays(void **state)
{
    (void)state;
    struct stage *stage = make();
    for (uint64_t i = 0; i < 3; i++)
        (void)note(stage, stage->a, 400 + i);
    for (uint64_t i = 0; i < 3; i++)
        (void)note(stage, stage->root, 500 + i);
    assert_int_equal(stage->mine->mend.to, stage->a);
    assert_int_equal(stage->mine->mend.agreed_ns, 200);
}

struct sleeper {
    pthread_mutex_t lock; /* held by the test while it is to sleep */
    pid_t tid;            /* atomic */
    struct kernel_thread *kernel_thread;
};

static void *sleep_on(void *context)
{
    struct sleeper *sleeper = context;
    __atomic_store_n(&sleeper->tid, gettid(), __ATOMIC_RELEASE);
    (void)pthread_mutex_lock(&sleeper->lock);
    (void)pthread_mutex_unlock(&sleeper->lock);
    return NULL;
}

static void place_below_m_a_b(struct kernel_thread *kernel_thread, void *context)
{
    static const uint64_t keys[] = {'M', 'A', 'B'};
    struct sleeper *sleeper = context;
    sleeper->kernel_thread = kernel_thread;
    kernel_thread__place(kernel_thread, 1, keys, 3);
}

/* A thread that was adopted, placed, and had no event has no handler that knows it: it is put right
 * on its behalf, once three samples say so; and no more when it takes part in the epoch itself. */
static void one_that_never_came_by_is_put_right_at_once(void **state)
{
    (void)state;
    const struct java_thread_facts facts = {
        .name = "sleeper", .name_length = 7, .kind = THREAD_PLATFORM, .java_id = 7};
    static struct sleeper sleeper = {.lock = PTHREAD_MUTEX_INITIALIZER};
    struct absent_place place;
    pthread_t other;
    struct stage *stage = make();
    (void)pthread_mutex_lock(&sleeper.lock);
    assert_int_equal(pthread_create(&other, NULL, sleep_on, &sleeper), 0);
    while (__atomic_load_n(&sleeper.tid, __ATOMIC_ACQUIRE) == 0)
        nap(MS);
    assert_int_not_equal(kernel_thread_table__adopt(&world->table, sleeper.tid, &facts), 0);
    kernel_thread_table__visit(&world->table, sleeper.tid, place_below_m_a_b, &sleeper);
    assert_true(kernel_thread_table__absent(&world->table, sleeper.tid, &place));
    assert_false(kernel_thread_table__absent(&world->table, gettid(), &place));
    ledger_ref in_a = node_at(&world->ledger, place.node)->parent;

    stage->sample = (struct sample){.flags = SAMPLE_OF_ABSENT,
                                    .tid = sleeper.tid,
                                    .thread = place.thread,
                                    .node = place.node,
                                    .charged_ns = place.charged_ns};
    assert_false(note(stage, in_a, 100));
    assert_false(note(stage, in_a, 200));
    assert_int_equal(sleeper.kernel_thread->record->current, place.node);
    assert_true(note(stage, in_a, 300));
    assert_int_equal(sleeper.kernel_thread->record->current, in_a);
    assert_int_equal(world->ledger.header->positions_corrected, stage->corrected + 1);

    sleeper.kernel_thread->joined = 1;
    stage->sample.node = in_a;
    stage->sample.charged_ns = sleeper.kernel_thread->record->charged_cpu_ns;
    for (unsigned i = 0; i < 3; i++)
        (void)note(stage, node_at(&world->ledger, in_a)->parent, 400 + i);
    assert_int_equal(sleeper.kernel_thread->record->current, in_a);
    (void)pthread_mutex_unlock(&sleeper.lock);
    assert_int_equal(pthread_join(other, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(three_samples_in_a_row),
        cmocka_unit_test(none_agreed_since_the_event),
        cmocka_unit_test(more_samples_change_nothing),
        cmocka_unit_test(one_that_agrees_begins_anew),
        cmocka_unit_test(another_place_begins_anew),
        cmocka_unit_test(an_event_begins_anew),
        cmocka_unit_test(threads_are_apart),
        cmocka_unit_test(the_thread_goes_there),
        cmocka_unit_test(an_event_comes_first),
        cmocka_unit_test(frames_that_are_there_after_all),
        cmocka_unit_test(what_was_asked_stays),
        cmocka_unit_test(one_that_never_came_by_is_put_right_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
