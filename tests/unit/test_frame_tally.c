/*
 * Samples that find methods with hooks on stacks, counted as recursion=N folds their frames: a
 * method that only a folded frame left behind has no exact time for that sample, and no tally.
 */
#include "agent/sampling/frame_tally.h"

#include <string.h>

/* cmocka.h needs the others before it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#define MIB        (UINT64_C(1) << 20)
#define FRAMES_MAX 32
#define SAMPLE_NS  1000000u

struct stage {
    struct ledger ledger;
    struct frame_tallies tallies;
    struct java_method methods[26];
    ledger_ref thread;
};

static void make(struct stage *stage, uint32_t levels)
{
    memset(stage, 0, sizeof *stage);
    assert_int_equal(ledger__create(&stage->ledger, NULL, MIB), 0);
    stage->ledger.header->recursion = levels;
    stage->tallies.ledger = &stage->ledger;
    stage->thread = ledger__take_shared(&stage->ledger, LEDGER_THREADS,
                                        sizeof(struct ledger_thread) / LEDGER_CELL_BYTES);
    for (unsigned i = 0; i < 26; i++) {
        const char name[] = {(char)('A' + i), '\0'};
        const struct ledger_method_names names = {"C", name, "()V", NULL};
        stage->methods[i].ref = ledger__add_method(&stage->ledger, 1 + i, &names, 0);
    }
}

static void unmake(struct stage *stage)
{
    frame_tallies__release(&stage->tallies);
    ledger__close(&stage->ledger);
}

/* Both oldest first, as letters. */
static void sample(struct stage *stage, const char *stack, const char *path)
{
    struct java_method *walked[FRAMES_MAX], *on_path[FRAMES_MAX], *room[FRAMES_MAX];
    struct tallied_sample told = {.thread = stage->thread,
                                  .seen_ns = SAMPLE_NS,
                                  .is_whole = true,
                                  .walked = walked,
                                  .path = on_path,
                                  .room = room};
    for (size_t i = strlen(stack); i-- > 0;)
        walked[told.walked_count++] = &stage->methods[stack[i] - 'A'];
    for (size_t i = strlen(path); i-- > 0;)
        on_path[told.path_count++] = &stage->methods[path[i] - 'A'];
    frame_tallies__add(&stage->tallies, &told);
    for (unsigned i = 0; i < 26; i++)
        assert_int_equal(stage->methods[i].standing, 0);
}

/* How many samples count for a method. */
static uint64_t seen(const struct stage *stage, char method)
{
    ledger_ref ref = 0;
    while ((ref = ledger__next(&stage->ledger, LEDGER_TALLIES, ref)) != 0) {
        const struct ledger_tally *tally = ledger__at(&stage->ledger, ref);
        if (tally->method == stage->methods[method - 'A'].ref)
            return tally->seen_ns / SAMPLE_NS;
    }
    return 0;
}

static void without_folding_all_of_the_stack_counts(void **state)
{
    (void)state;
    struct stage stage;
    make(&stage, 0);
    sample(&stage, "ABABA", "ABABA");
    assert_int_equal(seen(&stage, 'A'), 1);
    assert_int_equal(seen(&stage, 'B'), 1);
    unmake(&stage);
}

/* A calls B calls A: the time is A's, and not B's. */
static void what_a_folded_frame_leaves_behind_does_not_count(void **state)
{
    (void)state;
    struct stage stage;
    make(&stage, 1);
    sample(&stage, "AB", "AB");
    sample(&stage, "ABA", "A");
    sample(&stage, "ABAB", "AB");
    sample(&stage, "ABABA", "A");
    assert_int_equal(seen(&stage, 'A'), 4);
    assert_int_equal(seen(&stage, 'B'), 2);
    unmake(&stage);
    /* With two levels kept apart B always stands below the first A. */
    make(&stage, 2);
    sample(&stage, "AB", "AB");
    sample(&stage, "ABA", "ABA");
    sample(&stage, "ABACA", "ABA");
    sample(&stage, "ABAC", "ABAC");
    assert_int_equal(seen(&stage, 'A'), 4);
    assert_int_equal(seen(&stage, 'B'), 4);
    assert_int_equal(seen(&stage, 'C'), 1);
    unmake(&stage);
}

/* C is on the stack, above any folded frame, and its exact path does not have it: that is what
 * tallies are there to tell. */
static void what_the_path_lacks_for_another_reason_counts(void **state)
{
    (void)state;
    struct stage stage;
    make(&stage, 1);
    sample(&stage, "CAB", "CAB");
    sample(&stage, "CABA", "A");
    sample(&stage, "ABAC", "A");
    assert_int_equal(seen(&stage, 'C'), 3);
    assert_int_equal(seen(&stage, 'B'), 1);
    unmake(&stage);
}

/* Twice on the stack is once in the sample; a part of a stack says nothing. */
static void coarse_samples_weigh(void **state)
{
    (void)state;
    struct stage stage;
    struct java_method *walked[2], *room[2];
    struct tallied_sample told = {.seen_ns = SAMPLE_NS,
                                  .is_whole = true,
                                  .is_coarse = true,
                                  .walked = walked,
                                  .walked_count = 2,
                                  .room = room};
    make(&stage, 0);
    sample(&stage, "ABA", "AB");
    assert_int_equal(stage.tallies.java_samples, 1);
    assert_int_equal(stage.tallies.coarse_samples, 0);
    told.thread = stage.thread;
    walked[0] = walked[1] = &stage.methods[0];
    frame_tallies__add(&stage.tallies, &told);
    frame_tallies__add(&stage.tallies, &told);
    told.is_coarse = false;
    frame_tallies__add(&stage.tallies, &told);
    told.is_whole = false;
    frame_tallies__add(&stage.tallies, &told);
    assert_int_equal(stage.tallies.java_samples, 4);
    assert_int_equal(stage.tallies.coarse_samples, 2);
    assert_int_equal(stage.methods[0].coarse, 2);
    assert_int_equal(stage.methods[1].coarse, 0);
    unmake(&stage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_folding_all_of_the_stack_counts),
        cmocka_unit_test(what_a_folded_frame_leaves_behind_does_not_count),
        cmocka_unit_test(what_the_path_lacks_for_another_reason_counts),
        cmocka_unit_test(coarse_samples_weigh),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
