/* The merge of sampled stacks into an activity profile, against a slow reference on drawn
 * sequences. */
#include "drawn_numbers.h"
#include "native/activity/activity_tree.h"
#include "native/activity/task_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

/* cmocka.h needs the others before it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#define MIB       (UINT64_C(1) << 20)
#define SAMPLES   3000u
#define DEPTH_MAX 6u
#define PATHS_MAX 4096u

/* A stack as text: "query/scan ORDERS". */
struct drawn {
    char text[256];
    uint64_t cpu_ns;
    uint64_t waited_ns;
    enum activity_state state;
};

static char identifiers[][8] = {"query", "scan", "sort", "spill"};
static char parameters[][8] = {"", "", "ORDERS", "ITEMS"};

static uint64_t drawn_below(uint64_t *seed, uint64_t limit)
{
    return next_mixed(seed) % limit;
}

/* To a text that has room for 256 bytes. */
static void append(char *text, const char *more, size_t length)
{
    size_t before = strlen(text);

    assert_true(before + length < 256);
    memcpy(text + before, more, length);
    text[before + length] = '\0';
}

static struct drawn draw(uint64_t *seed, struct activity_frame frames[DEPTH_MAX], uint32_t *depth)
{
    struct drawn drawn = {.cpu_ns = drawn_below(seed, 1000), .waited_ns = drawn_below(seed, 1000)};

    drawn.state = (enum activity_state)drawn_below(seed, ACTIVITY_STATES);
    *depth = (uint32_t)drawn_below(seed, DEPTH_MAX + 1);
    for (uint32_t i = 0; i < *depth; i++) {
        const char *name = identifiers[drawn_below(seed, 4)];
        const char *parameter = parameters[drawn_below(seed, 4)];

        frames[i] = (struct activity_frame){name, strlen(name), parameter, strlen(parameter)};
        append(drawn.text, "/", i > 0);
        append(drawn.text, name, strlen(name));
        append(drawn.text, " ", *parameter != '\0');
        append(drawn.text, parameter, strlen(parameter));
    }
    return drawn;
}

/* The reference: what stands at a path is the sum over all samples whose whole stack is that path,
 * and the tree has exactly the paths that stacks begin with. No tree, no merge. */
struct sums {
    uint64_t samples, below, cpu_ns, lock_ns;
};

static struct sums reference(const struct drawn *drawn, const char *path)
{
    struct sums sums = {0, 0, 0, 0};
    size_t length = strlen(path);

    for (uint32_t i = 0; i < SAMPLES; i++) {
        const char *text = drawn[i].text;
        bool same = strcmp(text, path) == 0;

        sums.below += !length || (strncmp(text, path, length) == 0 &&
                                  (text[length] == '/' || text[length] == '\0'));
        sums.samples += same;
        sums.cpu_ns += same ? drawn[i].cpu_ns : 0;
        sums.lock_ns += same && drawn[i].state == ACTIVITY_LOCK ? drawn[i].waited_ns : 0;
    }
    return sums;
}

static const struct ledger_string *string_of(struct ledger *ledger, ledger_ref ref)
{
    return ledger__at(ledger, ref);
}

static void append_name(struct ledger *ledger, const struct ledger_node *node, char path[256])
{
    const struct ledger_method *method = ledger__at(ledger, node->method);
    const struct ledger_string *name = string_of(ledger, method->name);
    const struct ledger_string *parameter = string_of(ledger, method->signature);

    assert_int_equal(ledger_node__kind(node), NODE_LOGICAL);
    assert_true(method->flags & METHOD_LOGICAL);
    append(path, "/", *path != '\0');
    append(path, ledger_string__bytes(name), name->length);
    append(path, " ", parameter->length > 0);
    append(path, ledger_string__bytes(parameter), parameter->length);
}

/* Compares a node and all below it; returns the samples in it and below. */
static uint64_t compare(struct ledger *ledger, ledger_ref ref, const char *path,
                        const struct drawn *drawn, unsigned *nodes)
{
    const struct ledger_node *node = ledger__at(ledger, ref);
    struct sums expected = reference(drawn, path);
    const struct ledger_side *side = node->side ? ledger__at(ledger, node->side) : NULL;
    uint64_t samples = node->samples;

    ++*nodes;
    assert_int_equal(node->samples, expected.samples);
    assert_int_equal(node->cpu_ns, expected.cpu_ns);
    assert_int_equal(side ? side->value[METRIC_PARK] : 0, expected.lock_ns);
    for (ledger_ref child = node->first_child; child;
         child = ((struct ledger_node *)ledger__at(ledger, child))->next_sibling) {
        char below[256];

        snprintf(below, sizeof below, "%s", path);
        append_name(ledger, ledger__at(ledger, child), below);
        samples += compare(ledger, child, below, drawn, nodes);
    }
    assert_int_equal(samples, expected.below);
    return samples;
}

/* How many different paths the stacks begin with, the empty one included. */
static unsigned count_paths(const struct drawn *drawn)
{
    static char paths[PATHS_MAX][256];
    unsigned count = 1;

    paths[0][0] = '\0';
    for (uint32_t i = 0; i < SAMPLES; i++)
        for (size_t end = 1; end <= strlen(drawn[i].text); end++) {
            bool known = drawn[i].text[end] != '/' && drawn[i].text[end] != '\0';
            char path[256];

            snprintf(path, sizeof path, "%.*s", (int)end, drawn[i].text);
            for (unsigned j = 0; !known && j < count; j++)
                known = strcmp(paths[j], path) == 0;
            if (!known)
                memcpy(paths[count++], path, sizeof(path));
            assert_true(count < PATHS_MAX);
        }
    return count;
}

static void the_merge_is_that_of_the_reference(void **state)
{
    (void)state;
    static struct drawn drawn[SAMPLES];

    for (uint64_t seed = 1; seed <= 3; seed++) {
        uint64_t numbers = seed;
        struct activity_tree tree;
        struct ledger ledger;
        unsigned nodes = 0;

        assert_int_equal(ledger__create(&ledger, NULL, 16 * MIB), 0);
        activity_tree__init(&tree, &ledger);
        ledger_ref root = activity_tree__add_root(&tree);
        for (uint32_t i = 0; i < SAMPLES; i++) {
            struct activity_frame frames[DEPTH_MAX];
            uint32_t depth;

            drawn[i] = draw(&numbers, frames, &depth);
            struct activity_share share = {.samples = 1,
                                           .cpu_ns = drawn[i].cpu_ns,
                                           .waited_ns = drawn[i].waited_ns,
                                           .wall_ns = drawn[i].cpu_ns + drawn[i].waited_ns,
                                           .state = drawn[i].state};
            activity_tree__charge(&tree, activity_tree__find(&tree, root, frames, depth), &share);
        }
        assert_int_equal(compare(&ledger, root, "", drawn, &nodes), SAMPLES);
        assert_int_equal(nodes, count_paths(drawn));
        ledger__close(&ledger);
    }
}

static void too_many_parameters_are_other(void **state)
{
    (void)state;
    struct activity_tree tree;
    struct ledger ledger;
    unsigned children = 0;
    char number[16];

    assert_int_equal(ledger__create(&ledger, NULL, 16 * MIB), 0);
    activity_tree__init(&tree, &ledger);
    tree.parameters_max = 10;
    ledger_ref root = activity_tree__add_root(&tree), last = 0;
    for (unsigned round = 0; round < 2; round++)
        for (unsigned i = 0; i < 15; i++) {
            snprintf(number, sizeof number, "%u", i);
            struct activity_frame frame = {"row", 3, number, strlen(number)};
            last = activity_tree__find(&tree, root, &frame, 1);
        }
    const struct ledger_node *node = ledger__at(&ledger, root);
    for (ledger_ref child = node->first_child; child;
         child = ((struct ledger_node *)ledger__at(&ledger, child))->next_sibling)
        children++;
    assert_int_equal(children, 11);
    assert_int_equal(ledger.header->other_parameters, 10);
    const struct ledger_node *other = ledger__at(&ledger, last);
    const struct ledger_method *method = ledger__at(&ledger, other->method);
    const struct ledger_string *parameter = string_of(&ledger, method->signature);
    assert_memory_equal(ledger_string__bytes(parameter), "(other)", 7);
    /* Without a parameter there is nothing to bound. */
    struct activity_frame plain = {"plain", 5, NULL, 0};
    assert_int_not_equal(activity_tree__find(&tree, root, &plain, 1), last);
    ledger__close(&ledger);
}

static void the_kernels_words_are_states(void **state)
{
    (void)state;
    char line[64];

    assert_int_equal(task_state__of_syscall("running\n"), ACTIVITY_RUNNING);
    assert_int_equal(task_state__of_syscall("-1 0x7ffe 0x7f12\n"), ACTIVITY_IO);
    assert_int_equal(task_state__of_syscall(""), ACTIVITY_UNKNOWN);
    snprintf(line, sizeof line, "%d 0x7f 0x80 0x2", SYS_futex);
    assert_int_equal(task_state__of_syscall(line), ACTIVITY_LOCK);
    snprintf(line, sizeof line, "%d 0x0 0x0", SYS_clock_nanosleep);
    assert_int_equal(task_state__of_syscall(line), ACTIVITY_SLEEP);
    snprintf(line, sizeof line, "%d 0x3", SYS_fsync);
    assert_int_equal(task_state__of_syscall(line), ACTIVITY_IO);
    snprintf(line, sizeof line, "%d", SYS_rt_sigsuspend);
    assert_int_equal(task_state__of_syscall(line), ACTIVITY_UNKNOWN);
    assert_int_equal(task_state__of_wchan("futex_wait_queue"), ACTIVITY_LOCK);
    assert_int_equal(task_state__of_wchan("hrtimer_nanosleep"), ACTIVITY_SLEEP);
    assert_int_equal(task_state__of_wchan("pipe_read"), ACTIVITY_IO);
    assert_int_equal(task_state__of_wchan("do_epoll_wait"), ACTIVITY_IO);
    assert_int_equal(task_state__of_wchan("0"), ACTIVITY_RUNNING);
    assert_int_equal(task_state__of_wchan("sigsuspend"), ACTIVITY_UNKNOWN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_merge_is_that_of_the_reference),
        cmocka_unit_test(too_many_parameters_are_other),
        cmocka_unit_test(the_kernels_words_are_states),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
