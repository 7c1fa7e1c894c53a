/* Which methods a plan hooks, on trees whose times and calls are drawn. */
#include "agent/methods/plan_choice.h"
#include "tests/ledger_drawing.h"

#include <stdlib.h>
#include <string.h>

/* cmocka.h needs the others before it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#define MS          UINT64_C(1000000)
#define SECOND      (1000 * MS)
#define TWO_PERCENT 20000u
#define ROOM        (0.02 * 0.6) /* of the program's CPU */

struct choice {
    struct ledger_reader *reader;
    struct plan_choice made;
};

static void begin(struct drawing *drawing, uint64_t cpu_ns)
{
    drawing__begin(drawing, 1u << 20);
    drawing->ledger.header->process_cpu_ns = cpu_ns;
    drawing->ledger.header->hook_cost_ps = 20000;
}

static struct choice choose(const struct drawing *drawing)
{
    struct choice choice;
    char message[512] = "";

    drawing->ledger.header->state = LEDGER_CLOSED;
    choice.reader = ledger_reader__open_fd(drawing->ledger.fd, "drawing", message, sizeof message);
    assert_non_null(choice.reader);
    assert_int_equal(plan_choice__make(choice.reader, TWO_PERCENT, &choice.made), 0);
    return choice;
}

static const struct chosen_method *find(const struct choice *choice, ledger_ref method)
{
    for (size_t i = 0; i < choice->made.count; i++)
        if (choice->made.methods[i].method == method)
            return &choice->made.methods[i];
    fail_msg("a method is not in the choice");
    return NULL;
}

static void end(struct drawing *drawing, struct choice *choice)
{
    free(choice->made.methods);
    ledger_reader__close(choice->reader);
    ledger__close(&drawing->ledger);
}

/*
 * main x1
 *   phase x2               2 s a call
 *     unit x5000           0.8 ms a call
 *       inner x5,000,000   0.78 us a call: its hooks cost more than the room
 *   rare x3
 */
static void short_calls_from_long_ones_are_hooked(void **state)
{
    struct drawing drawing;
    struct choice choice;
    ledger_ref methods[5], node;

    (void)state;
    begin(&drawing, 5 * SECOND);
    methods[0] = drawing__method(&drawing, "A", "main", "()V");
    methods[1] = drawing__method(&drawing, "A", "phase", "()V");
    methods[2] = drawing__method(&drawing, "A", "unit", "()V");
    methods[3] = drawing__method(&drawing, "A", "inner", "()V");
    methods[4] = drawing__method(&drawing, "A", "rare", "()V");
    node = drawing__root(&drawing, drawing__thread(&drawing, "main", THREAD_PLATFORM, 0));
    node = drawing__call(&drawing, node, methods[0], 1, 0);
    (void)drawing__call(&drawing, node, methods[4], 3, 6 * MS);
    node = drawing__call(&drawing, node, methods[1], 2, 0);
    node = drawing__call(&drawing, node, methods[2], 5000, 100 * MS);
    (void)drawing__call(&drawing, node, methods[3], 5000000, 3900 * MS);
    choice = choose(&drawing);
    assert_int_equal(choice.made.count, 5);
    assert_int_equal(find(&choice, methods[2])->resolved_ns, 4 * SECOND);
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(find(&choice, methods[i])->is_hooked, i != 3);
        assert_int_equal(find(&choice, methods[i])->resolved_ns != 0, i == 2);
    }
    end(&drawing, &choice);
}

static void set_room(struct drawing *drawing, double room_ns)
{
    drawing->ledger.header->process_cpu_ns = (uint64_t)(room_ns / ROOM);
}

static struct choice choose_anew(const struct drawing *drawing, struct choice *choice)
{
    free(choice->made.methods);
    ledger_reader__close(choice->reader);
    return choose(drawing);
}

/* Three methods with long calls, whose hooks cost about the same, and room for two and a half. */
static void the_most_cpu_comes_first_at_one_price(void **state)
{
    struct drawing drawing;
    struct choice choice;
    ledger_ref methods[3], root;

    (void)state;
    begin(&drawing, 100 * SECOND);
    root = drawing__root(&drawing, drawing__thread(&drawing, "main", THREAD_PLATFORM, 0));
    methods[0] = drawing__method(&drawing, "A", "ten", "()V");
    methods[1] = drawing__method(&drawing, "A", "twenty", "()V");
    methods[2] = drawing__method(&drawing, "A", "thirty", "()V");
    (void)drawing__call(&drawing, root, methods[0], 10, 20 * MS);
    (void)drawing__call(&drawing, root, methods[1], 20, 40 * MS);
    (void)drawing__call(&drawing, root, methods[2], 30, 60 * MS);
    choice = choose(&drawing);
    for (size_t i = 0; i < 3; i++)
        assert_true(find(&choice, methods[i])->is_hooked);
    assert_int_equal(find(&choice, methods[2])->cum_ns, 60 * MS);
    set_room(&drawing, 2.5 * (double)find(&choice, methods[2])->cost_ns);
    choice = choose_anew(&drawing, &choice);
    assert_false(find(&choice, methods[0])->is_hooked);
    assert_true(find(&choice, methods[1])->is_hooked);
    assert_true(find(&choice, methods[2])->is_hooked);
    end(&drawing, &choice);
}

/* A method with a hundred thousand calls costs more than many with one. */
static void the_cheapest_come_first(void **state)
{
    struct drawing drawing;
    struct choice choice;
    ledger_ref dear, cheap[4], root;

    (void)state;
    begin(&drawing, 100 * SECOND);
    root = drawing__root(&drawing, drawing__thread(&drawing, "main", THREAD_PLATFORM, 0));
    dear = drawing__method(&drawing, "A", "dear", "()V");
    (void)drawing__call(&drawing, root, dear, 100000, 200 * SECOND);
    for (size_t i = 0; i < 4; i++) {
        cheap[i] = drawing__method(&drawing, "B", (const char *[]){"a", "b", "c", "d"}[i], "()V");
        (void)drawing__call(&drawing, root, cheap[i], 1, 2 * MS);
    }
    choice = choose(&drawing);
    set_room(&drawing, (double)find(&choice, dear)->cost_ns + 1000);
    choice = choose_anew(&drawing, &choice);
    assert_false(find(&choice, dear)->is_hooked);
    for (size_t i = 0; i < 4; i++)
        assert_true(find(&choice, cheap[i])->is_hooked);
    end(&drawing, &choice);
}

static ledger_ref silenced(struct drawing *drawing, const char *name, ledger_ref thread,
                           uint32_t rate, uint64_t seen_ns)
{
    ledger_ref method = drawing__method(drawing, "A", name, "()V");
    struct ledger_hooking *hooking =
        ledger__at(&drawing->ledger, drawing__record(drawing, LEDGER_HOOKINGS));
    struct ledger_tally *tally =
        ledger__at(&drawing->ledger, drawing__record(drawing, LEDGER_TALLIES));

    *hooking = (struct ledger_hooking){
        .method = method, .state = HOOKING_OFF, .rate = rate, .code_hash = 7, .mutes = 1};
    *tally =
        (struct ledger_tally){.thread = thread, .method = method, .samples = 1, .seen_ns = seen_ns};
    return method;
}

static ledger_ref frame(struct drawing *drawing, ledger_ref parent, ledger_ref method,
                        uint64_t seen_ns)
{
    ledger_ref ref = drawing__frame(drawing, parent, NODE_SAMPLED, method, 1);

    drawing__node_at(drawing, ref)->seen_ns = seen_ns;
    return ref;
}

/*
 * Ten seconds of a process, the methods below main silenced:
 *
 * main x1
 *   phase, 1 a second           0.9 s a call
 *     forEach                   has no hooks
 *       unit, 1,000 a second    0.9 ms a call
 *         inner, 100,000 a second
 */
static void what_samples_see_in_short_calls_is_hooked(void **state)
{
    struct drawing drawing;
    struct choice choice;
    const struct chosen_method *chosen;
    ledger_ref outer, phase, unit, inner, thread, node, for_each;

    (void)state;
    begin(&drawing, 100 * SECOND);
    drawing.ledger.header->asof_ns = 10 * SECOND;
    thread = drawing__thread(&drawing, "main", THREAD_PLATFORM, 0);
    phase = silenced(&drawing, "phase", thread, 1, 9 * SECOND);
    unit = silenced(&drawing, "unit", thread, 1000, 9 * SECOND);
    inner = silenced(&drawing, "inner", thread, 100000, 8 * SECOND);
    for_each = drawing__method(&drawing, "java.util.List", "forEach", "()V");
    outer = drawing__method(&drawing, "A", "main", "()V");
    node = drawing__call(&drawing, drawing__root(&drawing, thread), outer, 1, 10 * SECOND);
    node = frame(&drawing, node, phase, 0);
    node = frame(&drawing, node, for_each, 0);
    node = frame(&drawing, node, unit, 1 * SECOND);
    (void)frame(&drawing, node, inner, 8 * SECOND);
    choice = choose(&drawing);
    assert_int_equal(choice.made.count, 2);
    assert_int_equal(find(&choice, outer)->cum_ns, 10 * SECOND);
    chosen = find(&choice, unit);
    assert_true(chosen->is_hooked && chosen->is_estimate);
    assert_int_equal(chosen->calls, 10000);
    assert_int_equal(chosen->cum_ns, 9 * SECOND);
    assert_int_equal(chosen->resolved_ns, 9 * SECOND);
    assert_int_equal(chosen->code_hash, 7);
    end(&drawing, &choice);
}

/*
 * Ten seconds of a process, two methods silenced after 64 calls in a burst of a million a second.
 * `counted` made 200 calls since, which were counted, and `missed` may have made millions: of its
 * time half a second was not counted. No sample saw either.
 */
static void calls_that_were_counted_are_no_estimate(void **state)
{
    struct drawing drawing;
    struct choice choice;
    const struct chosen_method *chosen;
    ledger_ref root, thread, method[2];

    (void)state;
    begin(&drawing, 100 * SECOND);
    drawing.ledger.header->asof_ns = 10 * SECOND;
    thread = drawing__thread(&drawing, "main", THREAD_PLATFORM, 0);
    root = drawing__root(&drawing, thread);
    for (unsigned i = 0; i < 2; i++) {
        struct ledger_hooking *hooking;

        method[i] = drawing__method(&drawing, "A", i ? "missed" : "counted", "()V");
        (void)drawing__call(&drawing, root, method[i], 64, MS);
        hooking = ledger__at(&drawing.ledger, drawing__record(&drawing, LEDGER_HOOKINGS));
        *hooking = (struct ledger_hooking){.method = method[i],
                                           .state = HOOKING_COUNTED,
                                           .from_ns = 1 * SECOND,
                                           .since_ns = 2 * SECOND,
                                           .heard_ns = i ? SECOND / 2 : SECOND,
                                           .rate = 1000000,
                                           .code_hash = 7,
                                           .mutes = 1,
                                           .counts = 1,
                                           .counted = 200};
    }
    choice = choose(&drawing);
    chosen = find(&choice, method[0]);
    assert_true(chosen->is_hooked && !chosen->is_estimate);
    assert_int_equal(chosen->calls, 264);
    assert_int_equal(chosen->code_hash, 7);
    assert_int_equal(choice.made.count, 1);
    end(&drawing, &choice);
}

/* Its hooks would cost more than a tenth of what they tell. */
static void what_tells_little_for_its_price_stays_silent(void **state)
{
    struct drawing drawing;
    struct choice choice;
    ledger_ref thread, node;

    (void)state;
    begin(&drawing, 10000 * SECOND);
    drawing.ledger.header->asof_ns = 10 * SECOND;
    thread = drawing__thread(&drawing, "main", THREAD_PLATFORM, 0);
    node = drawing__call(&drawing, drawing__root(&drawing, thread),
                         drawing__method(&drawing, "A", "main", "()V"), 1, 10 * SECOND);
    (void)frame(&drawing, node, silenced(&drawing, "often", thread, 10000000, 9 * SECOND),
                9 * SECOND);
    choice = choose(&drawing);
    assert_int_equal(choice.made.count, 1);
    end(&drawing, &choice);
}

/*
 * main x1
 *   walk x20        5 s, with its own recursion
 *     unit x10000   0.4 ms a call
 */
static void folded_recursion_is_one_long_call(void **state)
{
    struct drawing drawing;
    struct choice choice;
    ledger_ref walk, unit, node;

    (void)state;
    begin(&drawing, 100 * SECOND);
    drawing.ledger.header->recursion = 1;
    node = drawing__root(&drawing, drawing__thread(&drawing, "main", THREAD_PLATFORM, 0));
    walk = drawing__method(&drawing, "A", "walk", "()V");
    unit = drawing__method(&drawing, "A", "unit", "()V");
    node = drawing__call(&drawing, node, drawing__method(&drawing, "A", "main", "()V"), 1, 0);
    node = drawing__call(&drawing, node, walk, 20, SECOND);
    drawing__node_at(&drawing, node)->kind_and_level |= 5;
    (void)drawing__call(&drawing, node, unit, 10000, 4 * SECOND);
    choice = choose(&drawing);
    assert_int_equal(find(&choice, walk)->cum_ns, 5 * SECOND);
    assert_int_equal(find(&choice, walk)->resolved_ns, 0);
    assert_int_equal(find(&choice, unit)->resolved_ns, 4 * SECOND);
    end(&drawing, &choice);
}

/* What a budget silenced, and no sample saw, is no candidate, and takes no room from the rest. */
static void what_a_budget_silenced_is_left_alone(void **state)
{
    struct drawing drawing;
    struct choice choice;
    struct ledger_hooking *hooking;
    ledger_ref often, rare, root;

    (void)state;
    begin(&drawing, 100 * SECOND);
    drawing.ledger.header->overhead_ppm = TWO_PERCENT;
    root = drawing__root(&drawing, drawing__thread(&drawing, "main", THREAD_PLATFORM, 0));
    often = drawing__method(&drawing, "A", "often", "()V");
    rare = drawing__method(&drawing, "A", "rare", "()V");
    (void)drawing__call(&drawing, root, often, 48, 100 * MS);
    (void)drawing__call(&drawing, root, rare, 40, MS);
    hooking = ledger__at(&drawing.ledger, ledger__take_shared(&drawing.ledger, LEDGER_HOOKINGS,
                                                              LEDGER_HOOKING_CELLS));
    hooking->method = often;
    hooking->state = HOOKING_OFF;
    choice = choose(&drawing);
    assert_int_equal(choice.made.count, 1);
    set_room(&drawing, 1.5 * (double)find(&choice, rare)->cost_ns);
    choice = choose_anew(&drawing, &choice);
    assert_true(find(&choice, rare)->is_hooked);
    end(&drawing, &choice);
}

/* Of a hundred methods with hooks the earlier run called one; ten others had no hooks yet. */
static void methods_without_calls_need_room_too(void **state)
{
    struct drawing drawing;
    struct choice choice;
    double of_one;
    ledger_ref root;

    (void)state;
    begin(&drawing, 100 * SECOND);
    drawing.ledger.header->overhead_ppm = TWO_PERCENT;
    drawing.ledger.header->hooked_methods = 100;
    drawing.ledger.header->postponed_methods = 10;
    root = drawing__root(&drawing, drawing__thread(&drawing, "main", THREAD_PLATFORM, 0));
    (void)drawing__call(&drawing, root, drawing__method(&drawing, "A", "one", "()V"), 1, MS);
    choice = choose(&drawing);
    assert_false(choice.made.is_short);
    of_one = (double)choice.made.methods[0].cost_ns;
    set_room(&drawing, of_one + 99 * 5000 + 10 * 20000 + 10000); /* and a little more */
    choice = choose_anew(&drawing, &choice);
    assert_false(choice.made.is_short);
    set_room(&drawing, of_one + 99 * 5000 + 10 * 20000 - 10000);
    choice = choose_anew(&drawing, &choice);
    assert_true(choice.made.is_short);
    assert_true(choice.made.methods[0].is_hooked);
    end(&drawing, &choice);
}

/* In a damaged ledger. */
static void nodes_on_a_cycle_end_nowhere(void **state)
{
    struct drawing drawing;
    struct choice choice;
    ledger_ref method, nodes[2];

    (void)state;
    begin(&drawing, SECOND);
    nodes[0] = drawing__root(&drawing, drawing__thread(&drawing, "main", THREAD_PLATFORM, 0));
    method = drawing__method(&drawing, "A", "a", "()V");
    nodes[0] = drawing__call(&drawing, nodes[0], method, 1, MS);
    nodes[1] = drawing__call(&drawing, nodes[0], method, 1, MS);
    ((struct ledger_node *)ledger__at(&drawing.ledger, nodes[0]))->parent = nodes[1];
    choice = choose(&drawing);
    assert_int_equal(choice.made.count, 1);
    end(&drawing, &choice);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(short_calls_from_long_ones_are_hooked),
        cmocka_unit_test(the_most_cpu_comes_first_at_one_price),
        cmocka_unit_test(the_cheapest_come_first),
        cmocka_unit_test(what_samples_see_in_short_calls_is_hooked),
        cmocka_unit_test(calls_that_were_counted_are_no_estimate),
        cmocka_unit_test(what_tells_little_for_its_price_stays_silent),
        cmocka_unit_test(folded_recursion_is_one_long_call),
        cmocka_unit_test(what_a_budget_silenced_is_left_alone),
        cmocka_unit_test(methods_without_calls_need_room_too),
        cmocka_unit_test(nodes_on_a_cycle_end_nowhere),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
