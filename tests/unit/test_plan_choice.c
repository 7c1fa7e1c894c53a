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
    struct chosen_method *methods;
    size_t count;
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
    assert_int_equal(plan_choice__make(choice.reader, TWO_PERCENT, &choice.methods, &choice.count),
                     0);
    return choice;
}

static const struct chosen_method *find(const struct choice *choice, ledger_ref method)
{
    for (size_t i = 0; i < choice->count; i++)
        if (choice->methods[i].method == method)
            return &choice->methods[i];
    fail_msg("a method is not in the choice");
    return NULL;
}

static void end(struct drawing *drawing, struct choice *choice)
{
    free(choice->methods);
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
    assert_int_equal(choice.count, 5);
    assert_int_equal(find(&choice, methods[2])->resolved_ns, 4 * SECOND);
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(find(&choice, methods[i])->is_hooked, i != 3);
        assert_int_equal(find(&choice, methods[i])->resolved_ns != 0, i == 2);
    }
    end(&drawing, &choice);
}

/* Three methods with long calls, and room for two and a half. */
static void the_fewest_calls_come_first(void **state)
{
    struct drawing drawing;
    struct choice choice;
    ledger_ref methods[3], root;

    (void)state;
    begin(&drawing, 100 * SECOND);
    root = drawing__root(&drawing, drawing__thread(&drawing, "main", THREAD_PLATFORM, 0));
    methods[0] = drawing__method(&drawing, "A", "thirty", "()V");
    methods[1] = drawing__method(&drawing, "A", "ten", "()V");
    methods[2] = drawing__method(&drawing, "A", "twenty", "()V");
    (void)drawing__call(&drawing, root, methods[0], 30, 60 * MS);
    (void)drawing__call(&drawing, root, methods[1], 10, 20 * MS);
    (void)drawing__call(&drawing, root, methods[2], 20, 40 * MS);
    choice = choose(&drawing);
    for (size_t i = 0; i < 3; i++)
        assert_true(find(&choice, methods[i])->is_hooked);
    drawing.ledger.header->process_cpu_ns =
        (uint64_t)(2.5 * (double)find(&choice, methods[2])->cost_ns / ROOM);
    free(choice.methods);
    ledger_reader__close(choice.reader);
    choice = choose(&drawing);
    assert_false(find(&choice, methods[0])->is_hooked);
    assert_true(find(&choice, methods[1])->is_hooked);
    assert_true(find(&choice, methods[2])->is_hooked);
    end(&drawing, &choice);
}

/* With a budget the earlier run itself found what fits. */
static void what_a_budget_kept_is_hooked(void **state)
{
    struct drawing drawing;
    struct choice choice;
    ledger_ref method, root;

    (void)state;
    begin(&drawing, MS);
    drawing.ledger.header->overhead_ppm = TWO_PERCENT;
    root = drawing__root(&drawing, drawing__thread(&drawing, "main", THREAD_PLATFORM, 0));
    method = drawing__method(&drawing, "A", "often", "()V");
    (void)drawing__method(&drawing, "A", "never", "()V");
    (void)drawing__call(&drawing, root, method, 1000000, MS);
    choice = choose(&drawing);
    assert_int_equal(choice.count, 1);
    assert_true(find(&choice, method)->is_hooked);
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
    assert_int_equal(choice.count, 1);
    end(&drawing, &choice);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(short_calls_from_long_ones_are_hooked),
        cmocka_unit_test(the_fewest_calls_come_first),
        cmocka_unit_test(what_a_budget_kept_is_hooked),
        cmocka_unit_test(nodes_on_a_cycle_end_nowhere),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
