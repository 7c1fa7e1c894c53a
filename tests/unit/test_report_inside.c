/* What the books say inside of a thread against its samples, worked out on paper. */
#include "tools/report/report_inside.h"

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

#include "tests/unit/drawn_report.h"

#define MS UINT64_C(1000000)

/* Samples of 10 ms each; thread's: with no method. */
static struct ledger_tally *tally(struct drawing *drawing, ledger_ref thread, ledger_ref method,
                                  uint64_t samples)
{
    struct ledger_tally *record =
        ledger__at(&drawing->ledger, drawing__record(drawing, LEDGER_TALLIES));
    record->thread = thread;
    record->method = method;
    record->samples = samples;
    record->seen_ns = samples * 10 * MS;
    record->most_ns = method ? 0 : 10 * MS;
    return record;
}

struct books {
    struct drawing drawing;
    ledger_ref thread, root, a, b;
    struct ledger_tally *all, *of_a, *of_b;
};

/* A thread of 4 s, 1 s of it in `a`, which was called once, and 3 s in `b`; 400 samples, so many of
 * them with `a` on the stack. */
static void draw(struct books *books, uint64_t samples_of_a)
{
    struct drawing *drawing = &books->drawing;
    drawing__begin(drawing, 1u << 20);
    books->thread = drawing__thread(drawing, "main", THREAD_PLATFORM, 0);
    books->root = drawing__root(drawing, books->thread);
    books->a = drawing__call(drawing, books->root, drawn__method(drawing, "a"), 1, 1000 * MS);
    books->b = drawing__call(drawing, books->root, drawn__method(drawing, "b"), 1, 3000 * MS);
    books->all = tally(drawing, books->thread, 0, 400);
    books->of_a =
        tally(drawing, books->thread, drawing__node_at(drawing, books->a)->method, samples_of_a);
    books->of_b = tally(drawing, books->thread, drawing__node_at(drawing, books->b)->method,
                        400 - samples_of_a);
}

static struct report_inside judge(struct books *books, char text[256])
{
    struct report_model *model = drawn__load(&books->drawing);
    struct report_inside inside = report_inside__of(model);
    text[0] = '\0';
    if (inside.fault != INSIDE_FINE)
        report_inside__text(model, &inside, text, 256);
    report_model__free(model);
    drawing__end(&books->drawing);
    return inside;
}

static void check(struct books *books, const char *expected)
{
    char text[256];
    (void)judge(books, text);
    assert_string_equal(text, expected);
}

/*
 * Two methods are compared, each either way, with its tally and its node counted: 1 + 2 * (2 + 2) =
 * 9 times one in a million; so chance is what is likelier than e^-ln(9e6) = e^-16.013.
 *
 * a's exact share is 0.25; with the slack of 0.01, samples too few are held against 0.24:
 *   17 %: 400 * (0.17 ln(0.17/0.24) + 0.83 ln(0.83/0.76)) = 400 * (-0.058623 + 0.073140) = 5.81
 *   12 %: 400 * (0.12 ln(0.12/0.24) + 0.88 ln(0.88/0.76)) = 400 * (-0.083178 + 0.129014) = 18.33
 *   13 %: 400 * (0.13 ln(0.13/0.24) + 0.87 ln(0.87/0.76)) = 400 * (-0.079703 + 0.117605) = 15.16
 * and too many against 0.26:
 *   40 %: 400 * (0.40 ln(0.40/0.26) + 0.60 ln(0.60/0.74)) = 400 * (0.172313 - 0.125832) = 18.59
 *   38 %: 400 * (0.38 ln(0.38/0.26) + 0.62 ln(0.62/0.74)) = 400 * (0.144206 - 0.109701) = 13.80
 */
static void shares_that_agree(void **state)
{
    struct books books;
    char text[256];
    (void)state;
    draw(&books, 100);
    assert_int_equal(judge(&books, text).compared, 2);
    assert_string_equal(text, "");
}

static void shares_within_doubt(void **state)
{
    static const uint64_t samples[] = {68, 52, 152};
    struct books books;
    (void)state;
    for (size_t i = 0; i < sizeof(samples) / sizeof(samples[0]); i++) {
        draw(&books, samples[i]);
        check(&books, "");
    }
}

static void shares_beyond_doubt(void **state)
{
    struct books books;
    (void)state;
    draw(&books, 48);
    check(&books, "thread 'main': T.a has 25.00 % of its CPU, but was on the stack for 12.00 % of "
                  "that of its 400 samples: more than chance");
    draw(&books, 160);
    check(&books, "thread 'main': T.a has 25.00 % of its CPU, but was on the stack for 40.00 % of "
                  "that of its 400 samples: more than chance");
}

/* 48 samples had `a`, 332 `b`, and 20 may have had either: 68 are 17 %. */
static void doubtful_samples_count_for_the_books(void **state)
{
    struct books books;
    (void)state;
    draw(&books, 48);
    books.of_b->seen_ns -= 200 * MS;
    books.of_a->doubtful_ns = books.of_b->doubtful_ns = 200 * MS;
    check(&books, "");
    draw(&books, 48);
    books.of_b->seen_ns -= 200 * MS;
    books.all->doubtful_ns = 200 * MS;
    check(&books, "");
    draw(&books, 48);
    books.of_b->seen_ns -= 10 * MS;
    books.of_a->doubtful_ns = 10 * MS; /* 49 are 12.25 %: 17.5 */
    check(&books, "thread 'main': T.a has 25.00 % of its CPU, but was on the stack for 12.00 % of "
                  "that of its 400 samples: more than chance");
}

/* `a` is by 500 ms more than samples saw, and it may be these: then 1 s of 4 are seen. */
static void what_no_sample_saw_counts_for_the_books(void **state)
{
    struct books books;
    (void)state;
    draw(&books, 100);
    drawing__node_at(&books.drawing, books.a)->cpu_ns += 500 * MS;
    check(&books, "");
}

/* No sample of a stale frame's method, whatever its node says; as the samples have it, none at all.
 */
static void a_method_that_samples_never_found(void **state)
{
    struct books books;
    (void)state;
    draw(&books, 0);
    drawing__node_at(&books.drawing, books.a)->cpu_ns = 3990 * MS;
    drawing__node_at(&books.drawing, books.b)->cpu_ns = 10 * MS;
    check(&books, "thread 'main': T.a has 99.75 % of its CPU, but was on the stack for 0.00 % of "
                  "that of its 400 samples: more than chance");
}

/* After another start hooks may be others: frames without exact nodes are no fault, nodes without
 * frames are. */
static void samples_without_hooks(void **state)
{
    struct books books;
    (void)state;
    draw(&books, 160);
    books.drawing.ledger.header->starts = 2;
    check(&books, "thread 'main': T.b has 75.00 % of its CPU, but was on the stack for 60.00 % of "
                  "that of its 400 samples: more than chance");
}

/* Its hooks were silent for a while: nothing is compared but `b`. */
static void methods_that_were_not_always_heard(void **state)
{
    struct books books;
    char text[256];
    (void)state;
    draw(&books, 160);
    books.of_b->seen_ns = 3000 * MS;
    struct ledger_hooking *hooking =
        ledger__at(&books.drawing.ledger, drawing__record(&books.drawing, LEDGER_HOOKINGS));
    hooking->method = drawing__node_at(&books.drawing, books.a)->method;
    assert_int_equal(judge(&books, text).compared, 1);
    assert_string_equal(text, "");
}

/* The record was another thread's when samples were counted. */
static void tallies_of_another_thread(void **state)
{
    struct books books;
    char text[256];
    (void)state;
    draw(&books, 0);
    drawing__thread_at(&books.drawing, books.thread)->start_ns = 7;
    assert_int_equal(judge(&books, text).compared, 0);
    assert_string_equal(text, "");
}

static void what_a_tree_cannot_have(void **state)
{
    struct books books;
    (void)state;
    draw(&books, 100);
    drawing__node_at(&books.drawing, books.a)->calls = 0;
    check(&books, "thread 'main': T.a has 1.000 s of CPU, but no call");
    draw(&books, 100);
    drawing__node_at(&books.drawing, books.a)->calls = 0;
    drawing__call(&books.drawing, books.a, drawn__method(&books.drawing, "c"), 2, 0);
    check(&books, "thread 'main': T.a has calls below it, but no call or no hook of its own");
    draw(&books, 100);
    drawing__thread_at(&books.drawing, books.thread)->left_cpu_ns = 3500 * MS;
    check(&books, "thread 'main': 500 ms of CPU more in its tree than its kernel thread charged "
                  "to it");
}

/* Frames that stood when events began have no calls. */
static void what_seeded_frames_may_have(void **state)
{
    struct books books;
    (void)state;
    draw(&books, 100);
    drawing__node_at(&books.drawing, books.a)->calls = 0;
    drawing__call(&books.drawing, books.a, drawn__method(&books.drawing, "c"), 2, 0);
    drawing__thread_at(&books.drawing, books.thread)->flags |= THREAD_SEEDED;
    drawing__thread_at(&books.drawing, books.thread)->left_cpu_ns = 4000 * MS;
    check(&books, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shares_that_agree),
        cmocka_unit_test(shares_within_doubt),
        cmocka_unit_test(shares_beyond_doubt),
        cmocka_unit_test(doubtful_samples_count_for_the_books),
        cmocka_unit_test(what_no_sample_saw_counts_for_the_books),
        cmocka_unit_test(a_method_that_samples_never_found),
        cmocka_unit_test(samples_without_hooks),
        cmocka_unit_test(methods_that_were_not_always_heard),
        cmocka_unit_test(tallies_of_another_thread),
        cmocka_unit_test(what_a_tree_cannot_have),
        cmocka_unit_test(what_seeded_frames_may_have),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
