/* Folding with samples: they are in the group's tree, as many as before, and none that is still on
 * its way loses its node. */
#include "drawn_samples.h"
#include "java_world.h"
#include "native/snapshot/process_scan.h"
#include "native/thread/kernel_thread_events.h"
#include "native/thread/thread_fold.h"
#include "native/tree/sample_tree.h"

/* cmocka.h needs the others before it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#define MIB (UINT64_C(1) << 20)

static struct kernel_thread mine;
static struct ledger_kernel_thread record;

static struct java_world *make(void)
{
    struct java_world *world = java_world__make(4 * MIB, LEDGER_CLOCK_PLAIN, 0, false);
    assert_non_null(world);
    java_world__begin_here(world, &mine, &record);
    world->ledger.header->kept_threads = THREADS_KEPT; /* none has a row of its own */
    return world;
}

/* Calls A, in which p was sampled so many times; A itself once. All are merged but `missing`. */
static ledger_ref add(struct java_world *world, const char *name, uint64_t samples,
                      uint64_t missing)
{
    const struct java_thread_facts facts = {
        .name = name, .name_length = strlen(name), .kind = THREAD_PLATFORM, .java_id = 1};
    struct record_pool *pool = &mine.tree.pool;
    ledger_ref ref = kernel_thread__add_thread(&mine, &facts);
    struct ledger_thread *thread = ledger__at(&world->ledger, ref);
    call_tree__go_to(&mine.tree, thread->root, 0);
    play(&mine.tree, "A /A");
    ledger_ref a = child_of(&world->ledger, thread->root, 'A');
    ledger_ref p =
        sample_tree__child(pool, a, NODE_SAMPLED, make_letter_method(&world->maker, 'p'), false);
    ledger_ref self =
        sample_tree__child(pool, a, NODE_SAMPLED, make_letter_method(&world->maker, 'A'), true);
    ((struct ledger_node *)ledger__at(&world->ledger, p))->cpu_samples = samples;
    ((struct ledger_node *)ledger__at(&world->ledger, self))->wall_samples = 1;
    thread->samples = samples + 1;
    thread->merged_samples = samples + 1 - missing;
    thread->flags |= THREAD_TERMINATED;
    return ref;
}

static const struct ledger_thread *thread_at(const struct java_world *world, ledger_ref ref)
{
    return ledger__at(&world->ledger, ref);
}

static void check_samples(const struct ledger *ledger, const struct ledger_thread *thread,
                          const char *drawn)
{
    char text[DRAWING_BYTES];
    ledger_ref a = child_of(ledger, thread->root, 'A');
    assert_string_equal(draw_samples(ledger, a, text), drawn);
}

static void samples_are_added(void **state)
{
    (void)state;
    static struct thread_folder folder;
    struct java_world *world = make();
    memset(&folder, 0, sizeof folder);
    ledger_ref one = add(world, "pool-1", 5, 0), two = add(world, "pool-2", 7, 0);
    assert_int_equal(thread_fold__fold(&folder, &mine.tree, one), one);
    assert_int_equal(thread_fold__fold(&folder, &mine.tree, two), one);
    assert_int_equal(thread_at(world, one)->members, 2);
    assert_int_equal(thread_at(world, one)->samples, 5 + 1 + 7 + 1);
    assert_int_equal(thread_at(world, one)->merged_samples, 5 + 1 + 7 + 1);
    check_samples(&world->ledger, thread_at(world, one), "java p 12 0 0\nself A 0 2 0\n");
    assert_int_equal(thread_at(world, two)->kind, 0);
    assert_int_equal(world->ledger.header->dropped_samples, 0);
}

/* A node stands for the highest level that it has in any member. */
static void levels_of_recursion_are_kept(void **state)
{
    (void)state;
    static struct thread_folder folder;
    struct java_world *world = make();
    memset(&folder, 0, sizeof folder);
    world->ledger.header->recursion = 1;
    ledger_ref one = add(world, "pool-1", 0, 0), two = add(world, "pool-2", 0, 0);
    play(&mine.tree, "A A A /A /A /A");
    assert_int_equal(thread_fold__fold(&folder, &mine.tree, one), one);
    call_tree__go_to(&mine.tree, thread_at(world, one)->root, 0);
    assert_int_equal(thread_fold__fold(&folder, &mine.tree, two), one);
    const struct ledger_node *a =
        ledger__at(&world->ledger, child_of(&world->ledger, thread_at(world, one)->root, 'A'));
    assert_int_equal(a->calls, 1 + 1 + 3);
    assert_int_equal(ledger_node__level(a), 2);
    assert_int_equal(ledger_node__path_level(a), 0);
}

static void it_waits_for_samples_on_their_way(void **state)
{
    (void)state;
    static struct thread_folder folder, tidier;
    struct java_world *world = make();
    struct ledger_ended_threads *ended = &world->ledger.ended;
    memset(&folder, 0, sizeof folder);
    memset(&tidier, 0, sizeof tidier);
    ledger_ref one = add(world, "pool-1", 5, 0), late = add(world, "pool-2", 7, 2);
    assert_int_equal(thread_fold__fold(&folder, &mine.tree, one), one);
    assert_int_equal(thread_fold__fold(&folder, &mine.tree, late), 0);
    /* Its kernel thread may use it still: nobody else sees it before the next one is over. */
    assert_int_equal(ended->waiting, 0);
    assert_int_equal(thread_fold__fold(&folder, &mine.tree, add(world, "pool-3", 1, 0)), one);
    assert_int_equal(ended->waiting, late);
    /* As long as it takes. */
    thread_fold__tidy(&tidier, &mine.tree);
    assert_int_equal(ended->waiting, late);
    assert_int_equal(thread_at(world, late)->kind, THREAD_PLATFORM);
    check_samples(&world->ledger, thread_at(world, late), "java p 7 0 0\nself A 0 1 0\n");
    check_samples(&world->ledger, thread_at(world, one), "java p 6 0 0\nself A 0 2 0\n");
    /* There they are; whoever tidies has groups of its own. */
    ((struct ledger_thread *)ledger__at(&world->ledger, late))->merged_samples = 8;
    thread_fold__tidy(&tidier, &mine.tree);
    assert_int_equal(ended->waiting, 0);
    assert_true((thread_at(world, late)->flags & THREAD_GROUP) != 0);
    assert_int_equal(thread_at(world, late)->members, 1);
    assert_int_equal(world->ledger.header->folded_threads, 3);
    thread_fold__join_groups(&world->ledger);
    assert_int_equal(thread_at(world, one)->members, 3);
    assert_int_equal(thread_at(world, one)->samples, 6 + 2 + 8);
    check_samples(&world->ledger, thread_at(world, one), "java p 13 0 0\nself A 0 3 0\n");
}

static unsigned count_rows(const struct java_world *world)
{
    ledger_ref ref = 0;
    unsigned threads = 0;
    while ((ref = ledger__next(&world->ledger, LEDGER_THREADS, ref)) != 0)
        threads += thread_at(world, ref)->kind == THREAD_PLATFORM;
    return threads;
}

/* Any number can wait, and none keeps its row for that. */
/* The copy has its numbers in one place. */
static void it_waits_while_the_ledger_is_copied(void **state)
{
    (void)state;
    static struct thread_folder folder, tidier;
    struct java_world *world = make();
    memset(&folder, 0, sizeof folder);
    memset(&tidier, 0, sizeof tidier);
    ledger_ref one = add(world, "pool-1", 5, 0), late = add(world, "pool-2", 7, 0);
    assert_int_equal(thread_fold__fold(&folder, &mine.tree, one), one);
    assert_int_equal(ledger__hold_folding(&world->ledger), 0);
    assert_int_equal(thread_fold__fold(&folder, &mine.tree, late), 0);
    assert_int_equal(thread_at(world, late)->kind, THREAD_PLATFORM);
    assert_int_equal(thread_at(world, one)->members, 1);
    check_samples(&world->ledger, thread_at(world, one), "java p 5 0 0\nself A 0 1 0\n");
    check_samples(&world->ledger, thread_at(world, late), "java p 7 0 0\nself A 0 1 0\n");
    ledger__let_go_folding(&world->ledger);
    assert_int_equal(thread_fold__fold(&folder, &mine.tree, add(world, "pool-3", 1, 0)), one);
    assert_int_equal(thread_at(world, one)->members, 2);
    thread_fold__tidy(&tidier, &mine.tree);
    assert_int_equal(world->ledger.ended.waiting, 0);
    assert_int_equal(world->ledger.header->folded_threads, 3);
    assert_int_equal(world->ledger.header->folds_begun, world->ledger.header->folds_done);
}

static void any_number_can_wait(void **state)
{
    (void)state;
    static struct thread_folder folder, tidier;
    struct java_world *world = make();
    memset(&folder, 0, sizeof folder);
    memset(&tidier, 0, sizeof tidier);
    for (unsigned i = 0; i < 500; i++)
        assert_int_equal(thread_fold__fold(&folder, &mine.tree, add(world, "pool-1", 1, 1)), 0);
    assert_int_not_equal(thread_fold__fold(&folder, &mine.tree, add(world, "other", 1, 0)), 0);
    assert_int_equal(count_rows(world), 500 + 1);
    ledger_ref ref = 0;
    while ((ref = ledger__next(&world->ledger, LEDGER_THREADS, ref)) != 0) {
        struct ledger_thread *thread = ledger__at(&world->ledger, ref);
        thread->merged_samples = thread->samples;
    }
    thread_fold__tidy(&tidier, &mine.tree);
    assert_int_equal(count_rows(world), 2);
    assert_int_equal(thread_at(world, tidier.groups[0].thread)->members, 500);
    check_samples(&world->ledger, thread_at(world, tidier.groups[0].thread),
                  "java p 500 0 0\nself A 0 500 0\n");
}

/* Rows of their own are for as long as nothing else needs the memory: of 4 MiB, a quarter. */
static void kept_rows_are_given_up_when_memory_is_short(void **state)
{
    (void)state;
    static struct thread_folder folder, tidier;
    struct java_world *world = make();
    struct ledger_header *header = world->ledger.header;
    memset(&folder, 0, sizeof folder);
    memset(&tidier, 0, sizeof tidier);
    header->kept_threads = 0;
    unsigned kept = 0;
    while (thread_fold__fold(&folder, &mine.tree, add(world, "pool-1", 1, 0)) == 0)
        kept++;
    assert_true(ledger__uses_part(&world->ledger, KEPT_PART));
    assert_int_equal(header->kept_threads, kept);
    assert_true(header->chunks_used * 4096ull <= (4 * MIB) / KEPT_PART + 4096);
    /* No more rows from here on, and the ledger does not grow. */
    for (unsigned i = 1; i < 1000; i++)
        assert_int_not_equal(thread_fold__fold(&folder, &mine.tree, add(world, "pool-1", 1, 0)), 0);
    assert_true(header->chunks_used * 4096ull <= (4 * MIB) / KEPT_PART + 4 * 4096);
    assert_int_equal(count_rows(world), kept + 1);
    /* The kept ones stay for now, … */
    thread_fold__tidy(&tidier, &mine.tree);
    assert_int_equal(count_rows(world), kept + 1);
    /* … until others take more. */
    while (!ledger__uses_part(&world->ledger, GIVEN_UP_PART))
        assert_int_not_equal(ledger__take_shared(&world->ledger, LEDGER_STRINGS, 60), 0);
    thread_fold__tidy(&tidier, &mine.tree);
    assert_int_equal(count_rows(world), 2);
    assert_int_equal(header->kept_threads, 0);
    assert_int_equal(header->folded_threads, kept + 1000);
    assert_int_equal(thread_at(world, tidier.groups[0].thread)->members, kept);
    thread_fold__join_groups(&world->ledger);
    assert_int_equal(count_rows(world), 1);
    char drawn[64];
    (void)snprintf(drawn, sizeof drawn, "java p %u 0 0\nself A 0 %u 0\n", kept + 1000, kept + 1000);
    check_samples(&world->ledger, find_thread(&world->ledger, 1), drawn);
}

/* Many names: what there is no group of is in one of its kind. */
static void any_number_of_names_fits(void **state)
{
    (void)state;
    static struct thread_folder folder;
    struct java_world *world = make();
    memset(&folder, 0, sizeof folder);
    for (unsigned i = 0; i < 500; i++) {
        char name[] = {'t', (char)('a' + i / 26 % 26), (char)('a' + i % 26), '\0'};
        assert_int_not_equal(thread_fold__fold(&folder, &mine.tree, add(world, name, 1, 0)), 0);
    }
    unsigned rows = FOLD_GROUPS - 3 + 1;
    assert_int_equal(count_rows(world), rows);
    const struct ledger_thread *others =
        thread_at(world, folder.groups[folder.group_count - 1].thread);
    assert_true(is_named(&world->ledger, others->name, "(threads of other names)"));
    assert_int_equal(others->members, 500 - (rows - 1));
    assert_int_equal(node_at(&world->ledger, child_of(&world->ledger, others->root, 'A'))->calls,
                     500 - (rows - 1));
}

/* Each kernel thread has groups of its own; a copy has one. */
static void groups_of_a_copy_are_joined(void **state)
{
    (void)state;
    static struct thread_folder first, second;
    struct java_world *world = make();
    memset(&first, 0, sizeof first);
    memset(&second, 0, sizeof second);
    ledger_ref one = add(world, "pool-1", 5, 0), other = add(world, "pool-9", 30, 0);
    assert_int_equal(thread_fold__fold(&first, &mine.tree, one), one);
    assert_int_equal(thread_fold__fold(&second, &mine.tree, other), other);
    assert_int_equal(thread_fold__fold(&second, &mine.tree, add(world, "pool-8", 2, 0)), other);
    thread_fold__join_groups(&world->ledger);
    assert_int_equal(thread_at(world, other)->kind, 0);
    assert_int_equal(thread_at(world, one)->members, 3);
    assert_int_equal(thread_at(world, one)->samples, 6 + 31 + 3);
    check_samples(&world->ledger, thread_at(world, one), "java p 37 0 0\nself A 0 3 0\n");
}

/* ---- where the profiler's own thread finds who runs on a kernel thread ---- */

static void the_place_of_a_kernel_thread(void **state)
{
    (void)state;
    struct java_world *world = java_world__make(4 * MIB, LEDGER_CLOCK_PLAIN, 0, false);
    struct kernel_thread_place place = {0};
    assert_non_null(world);
    assert_false(kernel_thread_table__place(&world->table, gettid(), &place));
    struct kernel_thread *here = kernel_thread_table__enter(&world->table);
    assert_non_null(here);
    assert_int_equal(start_java(here, "main", 1), 0);
    here->host = world;
    const struct ledger_thread *thread = find_thread(&world->ledger, 1);
    assert_true(kernel_thread_table__place(&world->table, gettid(), &place));
    assert_ptr_equal(ledger__at(&world->ledger, place.thread), thread);
    assert_int_equal(place.node, thread->root);
    assert_ptr_equal(place.host, world);
    uint64_t token = kernel_thread__push(here, 'A');
    assert_true(kernel_thread_table__place(&world->table, gettid(), &place));
    assert_int_equal(place.node, child_of(&world->ledger, thread->root, 'A'));
    kernel_thread__pop(here, token);
    assert_true(kernel_thread_table__place(&world->table, gettid(), &place));
    assert_int_equal(place.node, thread->root);
    assert_false(kernel_thread_table__place(&world->table, 0x3fffffff, &place));
}

static bool runs_no_java(void *context, pid_t tid)
{
    (void)context, (void)tid;
    return false;
}

static const struct ledger_unprofiled *none_unprofiled(void *context, pid_t tid, uint64_t start)
{
    (void)context, (void)tid, (void)start;
    return NULL;
}

/* All threads of this process have rows in a copy's scan. */
static void the_row_of_a_kernel_thread(void **state)
{
    (void)state;
    struct java_world *world = java_world__make(4 * MIB, LEDGER_CLOCK_PLAIN, 0, false);
    const struct scan_java java = {.runs_java = runs_no_java, .unprofiled = none_unprofiled};
    struct process_scan scan;
    assert_non_null(world);
    process_scan__init(&scan, &world->ledger, getpid(), 0, &java);
    assert_int_equal(process_scan__row(&scan, gettid()), 0);
    assert_int_equal(process_scan__run(&scan, 1, SCAN_ALL), 0);
    ledger_ref row = process_scan__row(&scan, gettid());
    assert_int_not_equal(row, 0);
    assert_int_equal(thread_at(world, row)->tids[0], gettid());
    assert_int_equal(process_scan__row(&scan, 0x3fffffff), 0);
    process_scan__close(&scan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples_are_added),
        cmocka_unit_test(levels_of_recursion_are_kept),
        cmocka_unit_test(it_waits_for_samples_on_their_way),
        cmocka_unit_test(it_waits_while_the_ledger_is_copied),
        cmocka_unit_test(any_number_can_wait),
        cmocka_unit_test(kept_rows_are_given_up_when_memory_is_short),
        cmocka_unit_test(any_number_of_names_fits),
        cmocka_unit_test(groups_of_a_copy_are_joined),
        cmocka_unit_test(the_place_of_a_kernel_thread),
        cmocka_unit_test(the_row_of_a_kernel_thread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
