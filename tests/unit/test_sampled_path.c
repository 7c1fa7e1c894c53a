/* The way of a sample's frames into the tree: recursion is folded as a plain list of letters says.
 */
#include "drawn_numbers.h"
#include "drawn_samples.h"
#include "native/tree/sampled_path.h"

/* cmocka.h needs the others before it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#define MIB         (UINT64_C(1) << 20)
#define FRAMES_MOST 200u
#define SAMPLES     2000u

struct grove {
    struct ledger ledger;
    struct method_maker maker;
    struct call_tree tree;
    ledger_ref root;
};

static struct grove *plant(uint32_t levels)
{
    static struct grove grove;

    memset(&grove, 0, sizeof grove);
    assert_int_equal(ledger__create(&grove.ledger, NULL, 64 * MIB), 0);
    grove.maker.ledger = &grove.ledger;
    call_tree__init(&grove.tree, &grove.ledger, make_letter_method, &grove.maker);
    grove.ledger.header->recursion = levels;
    grove.root = call_tree__add_plain_node(&grove.tree, 0, NODE_ROOT);
    return &grove;
}

static struct ledger_node *node_of(struct grove *grove, ledger_ref ref)
{
    return ledger__at(&grove->ledger, ref);
}

/* Small letters are Java's frames, capitals native ones. Returns the top frame's node. */
static ledger_ref add_sample(struct grove *grove, const char *frames)
{
    struct sampled_path path;

    sampled_path__begin(&path, &grove->tree.pool, grove->root);
    for (; *frames; frames++) {
        ledger_ref method = make_letter_method(&grove->maker, (uint64_t)(*frames | 0x20));
        enum ledger_node_kind kind = *frames & 0x20 ? NODE_SAMPLED : NODE_NATIVE;

        assert_int_not_equal(sampled_path__call(&path, kind, method), 0);
    }
    sample_tree__add(&node_of(grove, path.node)->cpu_samples, 1);
    return path.node;
}

static void check_tree(uint32_t levels, const char *const samples[], size_t count,
                       const char *expected)
{
    struct grove *grove = plant(levels);
    char text[DRAWING_BYTES];

    for (size_t i = 0; i < count; i++)
        (void)add_sample(grove, samples[i]);
    assert_string_equal(draw_samples(&grove->ledger, grove->root, text), expected);
    ledger__close(&grove->ledger);
}

static void recursion_comes_back(void **state)
{
    static const char *const samples[] = {"aaaa", "abcab", "abcabd", "aA"};

    (void)state;
    check_tree(1, samples, 4,
               "java a 1 0 0\n"
               "  java b 1 0 0\n"
               "    java c 0 0 0\n"
               "    java d 1 0 0\n"
               "  native a 1 0 0\n");
    check_tree(2, samples, 4,
               "java a 0 0 0\n"
               "  java a 1 0 0\n"
               "  java b 0 0 0\n"
               "    java c 0 0 0\n"
               "      java a 0 0 0\n"
               "        java b 1 0 0\n"
               "          java d 1 0 0\n"
               "  native a 1 0 0\n");
    check_tree(0, samples, 1,
               "java a 0 0 0\n  java a 0 0 0\n    java a 0 0 0\n      java a 1 0 0\n");
}

static void nodes_say_how_much_was_folded(void **state)
{
    struct grove *grove = plant(1);
    ledger_ref a, b;

    (void)state;
    a = add_sample(grove, "aaaa");
    b = add_sample(grove, "abab");
    assert_int_equal(ledger_node__level(node_of(grove, a)), 3);
    assert_int_equal(ledger_node__level(node_of(grove, b)), 0); /* a new `b` below the one `a` */
    assert_int_equal(add_sample(grove, "aa"), a);
    assert_int_equal(ledger_node__level(node_of(grove, a)), 3);
    assert_false(ledger_node__is_self(node_of(grove, a)));
    ledger__close(&grove->ledger);
}

static void a_thousand_levels_are_one_node(void **state)
{
    struct grove *grove = plant(1);
    char frames[8189];
    ledger_ref top;

    (void)state;
    memset(frames, 'r', sizeof(frames) - 1);
    frames[sizeof(frames) - 1] = '\0';
    top = add_sample(grove, frames);
    assert_int_equal(node_of(grove, top)->parent, grove->root);
    assert_int_equal(ledger_node__level(node_of(grove, top)), sizeof(frames) - 2);
    ledger__close(&grove->ledger);
}

/* As one would do it on paper: a frame that the path has so often ends the path at the last such
 * frame. */
static size_t fold(char *path, size_t length, char frame, uint32_t levels)
{
    size_t last = 0;
    uint32_t found = 0;

    for (size_t i = 0; i < length; i++)
        if (path[i] == frame) {
            found++;
            last = i + 1;
        }
    if (found >= levels)
        return last;
    path[length] = frame;
    return length + 1;
}

static void check_path(struct grove *grove, ledger_ref node, const char *path, size_t length)
{
    while (length-- > 0) {
        ledger_ref method = make_letter_method(&grove->maker, (uint64_t)(path[length] | 0x20));

        assert_int_equal(node_of(grove, node)->method, method);
        assert_int_equal(ledger_node__kind(node_of(grove, node)),
                         path[length] & 0x20 ? NODE_SAMPLED : NODE_NATIVE);
        node = node_of(grove, node)->parent;
    }
    assert_int_equal(node, grove->root);
}

static void drawn_stacks_are_folded_as_on_paper(void **state)
{
    uint64_t seed = 7;

    (void)state;
    for (uint32_t levels = 1; levels <= 3; levels++) {
        struct grove *grove = plant(levels);

        for (unsigned i = 0; i < SAMPLES; i++) {
            char frames[FRAMES_MOST + 1], path[FRAMES_MOST];
            size_t count = 1 + next_random(&seed) % FRAMES_MOST, length = 0;
            uint64_t letters = 1 + next_random(&seed) % 26;

            for (size_t j = 0; j < count; j++) {
                frames[j] =
                    (char)((next_random(&seed) % 8 ? 'a' : 'A') + next_random(&seed) % letters);
                length = fold(path, length, frames[j], levels);
            }
            frames[count] = '\0';
            check_path(grove, add_sample(grove, frames), path, length);
        }
        ledger__close(&grove->ledger);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recursion_comes_back),
        cmocka_unit_test(nodes_say_how_much_was_folded),
        cmocka_unit_test(a_thousand_levels_are_one_node),
        cmocka_unit_test(drawn_stacks_are_folded_as_on_paper),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
