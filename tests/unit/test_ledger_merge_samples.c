/* Samples of several ledgers made into one: their trees, symbols, code and places. */
#include "merged_drawings.h"

#include <string.h>

static const struct ledger_method *method_named(const struct ledger_reader *reader,
                                                const char *name)
{
    ledger_ref ref = 0;
    while ((ref = ledger_reader__next(reader, LEDGER_METHODS, ref)) != 0) {
        const struct ledger_method *method = ledger_reader__method(reader, ref);
        size_t length;
        const char *bytes = ledger_reader__string(reader, method->name, &length);
        if (length == strlen(name) && memcmp(bytes, name, length) == 0)
            return method;
    }
    fail_msg("no method %s", name);
    return NULL;
}

static void assert_sampled_tree(const struct ledger_reader *reader, ledger_ref thread_ref)
{
    const struct ledger_thread *thread = ledger_reader__thread(reader, thread_ref);
    const struct ledger_node *root = ledger_reader__node(reader, thread->root);
    const struct ledger_node *in_a = ledger_reader__node(reader, root->first_child);
    const struct ledger_node *self = ledger_reader__node(reader, in_a->sampled);
    const struct ledger_node *native = ledger_reader__node(reader, self->next_sibling);
    const struct ledger_node *kernel = ledger_reader__node(reader, native->first_child);
    assert_int_equal(in_a->calls, 1);
    assert_int_equal(in_a->first_child, 0);
    assert_true(ledger_node__is_self(self));
    assert_int_equal(self->cpu_samples, 4);
    assert_int_equal(self->parent, root->first_child);
    assert_int_equal(ledger_node__kind(native), NODE_NATIVE);
    assert_int_equal(native->cpu_samples, 6);
    assert_int_equal(native->next_sibling, 0);
    assert_ptr_equal(ledger_reader__method(reader, native->method), method_named(reader, "malloc"));
    assert_int_equal(ledger_node__kind(kernel), NODE_KERNEL);
    assert_int_equal(kernel->cpu_samples, 2);
    assert_int_equal(kernel->parent, self->next_sibling);
    assert_int_equal(kernel->sampled | kernel->first_child | native->sampled, 0);
}

static void samples_come_along(void **state)
{
    struct drawing drawings[2];
    uint64_t skipped;
    (void)state;
    draw_samples(&drawings[0], 1, 0x7f0000001000);
    draw_samples(&drawings[1], 3, 0x7e0000002000);
    struct ledger_reader *reader =
        merge((struct drawing *[]){&drawings[0], &drawings[1]}, 2, &skipped);
    assert_int_equal(skipped, 0);
    ledger_ref thread = ledger_reader__next(reader, LEDGER_THREADS, 0);
    assert_sampled_tree(reader, thread);
    assert_sampled_tree(reader, ledger_reader__next(reader, LEDGER_THREADS, thread));

    /* One malloc, whose place both have; each its own compiled code. */
    const struct ledger_method *symbol = method_named(reader, "malloc");
    const struct ledger_place *place = ledger_reader__place(reader, symbol->places);
    assert_non_null(ledger_reader__image(reader, symbol->image));
    assert_int_equal(place->offset, 16);
    assert_int_equal(place->cpu_samples, 12);
    assert_int_equal(place->next, 0);
    ledger_ref ref = 0;
    uint64_t addresses = 0;
    while ((ref = ledger_reader__next(reader, LEDGER_CODE, ref)) != 0) {
        const struct ledger_code *code = ledger_reader__code(reader, ref);
        size_t length;
        assert_memory_equal(ledger_reader__string(reader, code->bytes, &length), "\x90\x90\xc3", 3);
        assert_ptr_equal(ledger_reader__method(reader, code->method), method_named(reader, "a"));
        place = ledger_reader__place(reader, code->places);
        assert_int_equal(place->owner, ref);
        assert_int_equal(place->cpu_samples, 4);
        assert_int_equal(place->bci, 3);
        addresses += code->address;
    }
    assert_int_equal(addresses, 0x7f0000001000 + 0x7e0000002000);
    assert_int_equal(ledger_reader__header(reader)->samples, 24);
    assert_int_equal(ledger_reader__header(reader)->sample_interval_ns, 2); /* of 1 and 3 */
    ledger_reader__close(reader);
    drawing__end(&drawings[0]);
    drawing__end(&drawings[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples_come_along),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
