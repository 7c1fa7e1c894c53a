/* Several ledgers made into one: what is in it, against drawings. */
#include "merged_drawings.h"
#include "tools/report/report_balance.h"

#include <string.h>

static const struct report_thread *thread_of(const struct report_model *model, const char *name)
{
    for (uint32_t i = 0; i < model->thread_count; i++)
        if (strcmp(model->threads[i].name.bytes, name) == 0)
            return &model->threads[i];
    fail_msg("no thread %s", name);
    return NULL;
}

static void threads_keep_their_process_and_numbers(void **state)
{
    struct drawing first, second;
    (void)state;
    draw_first(&first);
    draw_second(&second);
    struct report_model *model = load_merged((struct drawing *[]){&first, &second}, 2);
    assert_int_equal(model->life, LEDGER_IS_CLOSED);
    assert_int_equal(model->thread_count, 3);
    const struct report_thread *main_thread = thread_of(model, "[pid 11 demo.First] main");
    const struct report_thread *child = thread_of(model, "[pid 11 demo.First] child");
    const struct report_thread *other = thread_of(model, "[pid 22 javac] main");
    assert_int_equal(main_thread->cpu_ns, 100 * S);
    assert_int_equal(main_thread->calls, 5);
    assert_int_equal(main_thread->wall_ns, 200 * S); /* drawn: twice the CPU */
    assert_int_equal(main_thread->totals[METRIC_MINOR_FAULTS], 6);
    assert_int_equal(main_thread->flags, THREAD_TERMINATED);
    assert_int_equal(other->cpu_ns, 20 * S);
    assert_int_equal(other->calls, 1);
    assert_ptr_equal(&model->threads[child->parent], main_thread);
    assert_string_equal(child->renames[0].bytes, "idle");

    const struct report_node *nodes = &model->nodes[main_thread->first_node];
    assert_int_equal(main_thread->end_node - main_thread->first_node, 3);
    assert_string_equal(model->methods[nodes[1].method].name.bytes, "a");
    enum report_column faults = report_column__of_metric(METRIC_MINOR_FAULTS);
    enum report_column delay = report_column__of_metric(METRIC_RUN_QUEUE_DELAY);
    assert_int_equal(model->base[faults][main_thread->first_node + 1], 5);
    assert_int_equal(model->cum[faults][other->first_node], 0);
    assert_int_equal(model->cum[delay][other->first_node], 8);
    assert_int_equal(nodes[2].method, model->nodes[other->first_node + 1].method);
    assert_int_equal(model->method_count, METHOD_FIRST_REAL + 2);
    report_model__free(model);
    drawing__end(&first);
    drawing__end(&second);
}

/* Hooks: 5 calls of 20 ns and one of 14 ns are 114 ns, 19 each. */
static void headers_add_up_and_the_balance_holds(void **state)
{
    struct drawing first, second;
    (void)state;
    draw_first(&first);
    draw_second(&second);
    struct report_model *model = load_merged((struct drawing *[]){&first, &second}, 2);
    struct report_balance balance = report_balance__of(model);
    assert_int_equal(balance.kernel_ns, 121 * S);
    assert_int_equal(balance.charged_ns, 120 * S);
    assert_int_equal(balance.difference_ns, 1 * S);
    assert_int_equal(model->header.pid, 0);
    assert_int_equal(model->header.dropped_enters, 10);
    assert_int_equal(model->header.hooked_methods, 3);
    assert_int_equal(model->header.hook_cost_ps, 19000);
    assert_int_equal(model->header.epoch_ns, 1000 * S);
    assert_int_equal(report_process__start_ns(&model->header), 999 * S);
    assert_int_equal(model->header.asof_ns, 15 * S); /* the second: 10 s after 1005 s */
    assert_int_equal(report_process__wall_ns(model), 16 * S);
    assert_string_equal(model->command.bytes,
                        "java -cp x:y -Dz demo.First 1; /opt/jdk/bin/javac -d x");
    report_model__free(model);
    drawing__end(&first);
    drawing__end(&second);
}

/* child ran for 7 s when its ledger was taken, 5 s before the other; not longer for the merging. */
static void times_are_shifted_and_lives_stay_as_long(void **state)
{
    struct drawing first, second;
    (void)state;
    draw_first(&first);
    draw_second(&second);
    struct report_model *model = load_merged((struct drawing *[]){&second, &first}, 2);
    const struct report_thread *child = thread_of(model, "[pid 11 demo.First] child");
    const struct report_thread *other = thread_of(model, "[pid 22 javac] main");
    assert_int_equal(child->start_ns, 3 * S);
    assert_int_equal(child->wall_ns, 7 * S);
    assert_int_equal(child->end_ns, 10 * S);
    assert_false(child->flags & THREAD_TERMINATED);
    assert_int_equal(other->start_ns, 7 * S); /* 1005 s and 2 s are 1000 s and 7 s */
    assert_int_equal(other->end_ns, 0);
    assert_int_equal(other->wall_ns, 40 * S);
    report_model__free(model);
    drawing__end(&first);
    drawing__end(&second);
}

static void profiling_that_was_stopped_keeps_lives_too(void **state)
{
    struct drawing first, second;
    (void)state;
    draw_first(&first);
    draw_second(&second);
    struct ledger_header *header = first.ledger.header;
    header->starts = 2; /* on again at 8 s, off for 2 s before that */
    header->profiling = 1;
    header->since_ns = 8 * S;
    header->unprofiled_wall_ns = 2 * S;
    struct report_model *model = load_merged((struct drawing *[]){&first, &second}, 2);
    assert_int_equal(thread_of(model, "[pid 11 demo.First] child")->wall_ns, 5 * S);
    report_model__free(model);
    drawing__end(&first);
    drawing__end(&second);
}

static void one_ledger_stays_as_it_is_but_for_names(void **state)
{
    struct drawing first;
    (void)state;
    draw_first(&first);
    struct report_model *before = drawn__load(&first);
    struct report_model *model = load_merged((struct drawing *[]){&first}, 1);
    assert_int_equal(model->thread_count, before->thread_count);
    assert_int_equal(model->node_count, before->node_count);
    assert_memory_equal(model->nodes, before->nodes, before->node_count * sizeof(*before->nodes));
    for (size_t column = 0; column < COLUMN_COUNT; column++)
        if (before->base[column])
            assert_memory_equal(model->base[column], before->base[column],
                                before->node_count * sizeof(uint64_t));
    for (uint32_t i = 0; i < before->thread_count; i++) {
        assert_string_equal(model->threads[i].name.bytes + strlen("[pid 11 demo.First] "),
                            before->threads[i].name.bytes);
        assert_int_equal(model->threads[i].wall_ns, before->threads[i].wall_ns);
        assert_int_equal(model->threads[i].start_ns, before->threads[i].start_ns);
        assert_int_equal(model->threads[i].end_ns, before->threads[i].end_ns);
    }
    assert_int_equal(model->header.pid, 11);
    assert_int_equal(model->header.hook_cost_ps, 20000);
    assert_int_equal(model->header.dropped_enters, before->header.dropped_enters);
    report_model__free(before);
    report_model__free(model);
    drawing__end(&first);
}

static void merged_ledgers_merge_again(void **state)
{
    struct drawing second, again;
    (void)state;
    draw_second(&second);
    drawing__begin(&again, 1u << 20);
    set_process(&again, 0, "several", 1000 * S); /* what a merged ledger says of its process */
    drawing__thread(&again, "[pid 1 x] main", THREAD_PLATFORM, 4);
    struct report_model *model = load_merged((struct drawing *[]){&again, &second}, 2);
    assert_int_equal(thread_of(model, "[pid 1 x] main")->cpu_ns, 4);
    assert_int_equal(thread_of(model, "[pid 22 javac] main")->cpu_ns, 20 * S);
    report_model__free(model);
    drawing__end(&second);
    drawing__end(&again);
}

static void processes_that_look_the_same_get_a_number(void **state)
{
    struct drawing drawings[2];
    (void)state;
    draw_first(&drawings[0]);
    draw_first(&drawings[1]);
    struct report_model *model = load_merged((struct drawing *[]){&drawings[0], &drawings[1]}, 2);
    assert_int_equal(thread_of(model, "[pid 11 demo.First] main")->cpu_ns, 100 * S);
    assert_int_equal(thread_of(model, "[pid 11 demo.First #2] main")->cpu_ns, 100 * S);
    assert_int_equal(model->method_count, METHOD_FIRST_REAL + 2);
    report_model__free(model);
    drawing__end(&drawings[0]);
    drawing__end(&drawings[1]);
}

static void applications_are_found_in_commands(void **state)
{
    static const struct {
        const char *command, *name;
    } cases[] = {
        {"demo.Main --rounds 3", "[pid 5 demo.Main] t"},
        {"/usr/bin/java -Xmx1g -jar /srv/shop.jar --port 80", "[pid 5 shop.jar] t"},
        {"java -p mods -m shop/org.shop.Main x", "[pid 5 org.shop.Main] t"},
        {"java @options --add-opens a/b=c demo.Main", "[pid 5 demo.Main] t"},
        {"java", "[pid 5 java] t"},
        {"", "[pid 5 java] t"},
        {"java a]b[c", "[pid 5 a_b_c] t"},
        {"java org.example.very.deep.package.name.here.Application",
         "[pid 5 very.deep.package.name.here.Application] t"},
        {"java xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\303\244", /* 38 and a letter of two bytes */
         "[pid 5 xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx] t"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct drawing drawing;
        drawing__begin(&drawing, 1u << 20);
        set_process(&drawing, 5, cases[i].command, 1000 * S);
        drawing__thread(&drawing, "t", THREAD_PLATFORM, 1);
        struct report_model *model = load_merged((struct drawing *[]){&drawing}, 1);
        assert_string_equal(model->threads[0].name.bytes, cases[i].name);
        report_model__free(model);
        drawing__end(&drawing);
    }
}

/* One the agent did not ask for is 0, whatever stands in its place. */
static void unknown_metrics_are_zero(void **state)
{
    struct drawing first, second;
    (void)state;
    draw_first(&first);
    draw_second(&second);
    ledger_ref thread = ledger__next(&second.ledger, LEDGER_THREADS, 0);
    drawing__thread_at(&second, thread)->totals[METRIC_MINOR_FAULTS] = 99;
    struct report_model *model = load_merged((struct drawing *[]){&first, &second}, 2);
    assert_int_equal(thread_of(model, "[pid 22 javac] main")->totals[METRIC_MINOR_FAULTS], 0);
    report_model__free(model);
    drawing__end(&first);
    drawing__end(&second);
}

static void a_total_that_is_not_known_leaves_no_balance(void **state)
{
    struct drawing first, second;
    (void)state;
    draw_first(&first);
    draw_second(&second);
    second.ledger.header->process_cpu_ns = 0;
    struct report_model *model = load_merged((struct drawing *[]){&first, &second}, 2);
    assert_int_equal(model->header.process_cpu_ns, 0);
    report_model__free(model);
    drawing__end(&first);
    drawing__end(&second);
}

static unsigned count_methods(const struct ledger_reader *reader)
{
    unsigned count = 0;
    ledger_ref ref = 0;
    while ((ref = ledger_reader__next(reader, LEDGER_METHODS, ref)) != 0)
        count++;
    return count;
}

/* Two class loaders' classes of one name stay two within a process, and meet those of others. */
static void equal_methods_of_one_process_stay_apart(void **state)
{
    struct drawing drawings[2];
    uint64_t skipped;
    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        drawing__begin(&drawings[i], 1u << 20);
        set_process(&drawings[i], (int32_t)i + 1, "x", 1000 * S);
        drawn__method(&drawings[i], "a");
        drawn__method(&drawings[i], "a");
        drawing__method(&drawings[i], "T", "a", "(I)V");
    }
    struct ledger_reader *reader =
        merge((struct drawing *[]){&drawings[0], &drawings[1]}, 2, &skipped);
    assert_int_equal(count_methods(reader), 3);
    ledger_reader__close(reader);
    drawing__end(&drawings[0]);
    drawing__end(&drawings[1]);
}

/* 1,000 of them meet those of others, which bounds the search; no method is lost. */
static void many_equal_methods_stay_apart(void **state)
{
    struct drawing drawings[2];
    uint64_t skipped;
    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        drawing__begin(&drawings[i], 1u << 20);
        set_process(&drawings[i], (int32_t)i + 1, "x", 1000 * S);
        for (unsigned n = 0; n < 1500; n++)
            drawn__method(&drawings[i], "a");
    }
    struct ledger_reader *reader =
        merge((struct drawing *[]){&drawings[0], &drawings[1]}, 2, &skipped);
    assert_int_equal(skipped, 0);
    assert_int_equal(count_methods(reader), 1500 + 500);
    ledger_reader__close(reader);
    drawing__end(&drawings[0]);
    drawing__end(&drawings[1]);
}

/* The tree of a killed process's virtual thread: parked for 3 s, and since 4 s. */
static void a_killed_process_is_parked_up_to_its_end(void **state)
{
    struct drawing drawing;
    (void)state;
    drawing__begin(&drawing, 1u << 20);
    set_process(&drawing, 999999999, "x", 1000 * S);
    drawing.ledger.header->state = LEDGER_LIVE;
    ledger_ref ref = drawing__thread(&drawing, "v", THREAD_VIRTUAL, 1);
    drawing__thread_at(&drawing, ref)->parked_ns = 3 * S;
    drawing__thread_at(&drawing, ref)->unmounted_ns = 4 * S;
    struct report_model *model = load_merged((struct drawing *[]){&drawing}, 1);
    assert_int_equal(model->life, LEDGER_IS_CLOSED);
    assert_int_equal(model->threads[0].parked_ns, 9 * S);
    assert_int_equal(model->threads[0].wall_ns, 10 * S);
    report_model__free(model);
    drawing__end(&drawing);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_keep_their_process_and_numbers),
        cmocka_unit_test(headers_add_up_and_the_balance_holds),
        cmocka_unit_test(times_are_shifted_and_lives_stay_as_long),
        cmocka_unit_test(profiling_that_was_stopped_keeps_lives_too),
        cmocka_unit_test(one_ledger_stays_as_it_is_but_for_names),
        cmocka_unit_test(merged_ledgers_merge_again),
        cmocka_unit_test(processes_that_look_the_same_get_a_number),
        cmocka_unit_test(applications_are_found_in_commands),
        cmocka_unit_test(unknown_metrics_are_zero),
        cmocka_unit_test(a_total_that_is_not_known_leaves_no_balance),
        cmocka_unit_test(equal_methods_of_one_process_stay_apart),
        cmocka_unit_test(many_equal_methods_stay_apart),
        cmocka_unit_test(a_killed_process_is_parked_up_to_its_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
