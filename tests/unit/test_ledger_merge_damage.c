/* Damaged ledgers made into one: what a report leaves out is left out, all else can be read. */
#include "drawn_numbers.h"
#include "merged_drawings.h"
#include "tools/report/report_balance.h"

#include <string.h>

static uint64_t charged_ns(const struct report_model *model)
{
    return report_balance__of(model).charged_ns;
}

/* Links that lead nowhere, elsewhere or in circles are left out as a report leaves them out, so the
 * sums agree. */
static void damaged_links_are_left_out_as_in_a_report(void **state)
{
    static const size_t links[] = {
        offsetof(struct ledger_node, method), offsetof(struct ledger_node, parent),
        offsetof(struct ledger_node, first_child), offsetof(struct ledger_node, next_sibling),
        offsetof(struct ledger_node, side)};
    uint64_t seed = 42;
    (void)state;
    for (unsigned round = 0; round < 500; round++) {
        struct drawing drawing;
        uint64_t skipped;
        draw_first(&drawing);
        uint64_t cells = drawing__bytes(&drawing) / LEDGER_CELL_BYTES;
        ledger_ref ref = ledger__next(&drawing.ledger, LEDGER_NODES, 0);
        for (uint64_t skip = next_random(&seed) % 4; skip > 0; skip--)
            ref = ledger__next(&drawing.ledger, LEDGER_NODES, ref);
        char *node = ledger__at(&drawing.ledger, ref);
        ledger_ref wrong = (ledger_ref)(next_random(&seed) % (cells + 2));
        size_t link = links[next_random(&seed) % (sizeof(links) / sizeof(links[0]))];
        memcpy(node + link, &wrong, sizeof(wrong));
        struct report_model *before = drawn__load(&drawing);
        struct ledger_reader *reader = merge((struct drawing *[]){&drawing}, 1, &skipped);
        struct report_model *after = report_model__load(reader, ~UINT64_C(0));
        assert_int_equal(skipped, before->skipped);
        assert_int_equal(charged_ns(after), charged_ns(before));
        assert_int_equal(after->node_count, before->node_count);
        report_model__free(before);
        report_model__free(after);
        ledger_reader__close(reader);
        drawing__end(&drawing);
    }
}

/* Any byte behind the header, any value: what comes out can be read. */
static void damaged_bytes_are_survived(void **state)
{
    uint64_t seed = 4711;
    (void)state;
    for (unsigned round = 0; round < 1000; round++) {
        struct drawing drawing;
        uint64_t skipped;
        draw_samples(&drawing, 1, 0x1000);
        size_t bytes = drawing__bytes(&drawing) - LEDGER_CHUNK_BYTES;
        char *content = drawing.ledger.base + LEDGER_CHUNK_BYTES;
        for (unsigned i = 0; i < 1 + round % 8; i++)
            content[next_random(&seed) % bytes] = (char)next_random(&seed);
        struct ledger_reader *reader = merge((struct drawing *[]){&drawing}, 1, &skipped);
        struct report_model *model = report_model__load(reader, ~UINT64_C(0));
        assert_int_equal(ledger_reader__skipped(reader), 0);
        report_model__free(model);
        ledger_reader__close(reader);
        drawing__end(&drawing);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(damaged_links_are_left_out_as_in_a_report),
        cmocka_unit_test(damaged_bytes_are_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
