/* Cycles of threads that wait for each other: all of them, each once, and nothing else. */
#include "native/thread/wait_cycle.h"

#include <stdio.h>
#include <string.h>

/* cmocka.h needs the others before it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#define NOBODY     WAIT_FOR_NOBODY
#define TEXT_BYTES 256

/* "0 1 ;3 4 5 ;" */
static void write_cycle(void *context, const uint32_t *cycle, uint32_t length)
{
    char *text = context;
    size_t used = strlen(text);
    for (uint32_t i = 0; i < length; i++)
        used += (size_t)snprintf(text + used, TEXT_BYTES - used, "%u ", cycle[i]);
    snprintf(text + used, TEXT_BYTES - used, ";");
}

static void check(const uint32_t *owner_of, uint32_t count, const char *expected)
{
    char text[TEXT_BYTES] = "";
    uint32_t scratch[64];
    assert_true(2 * count <= 64);
    wait_cycle__each(owner_of, count, scratch, write_cycle, text);
    assert_string_equal(text, expected);
}

#define CHECK(expected, ...)                                                                       \
    do {                                                                                           \
        static const uint32_t owner_of[] = {__VA_ARGS__};                                          \
        check(owner_of, sizeof owner_of / sizeof *owner_of, expected);                             \
    } while (0)

static void nobody_waits_for_each_other(void **state)
{
    (void)state;
    check(NULL, 0, "");
    CHECK("", NOBODY);
    CHECK("", 1, 2, NOBODY);
    CHECK("", NOBODY, 0, 0, 1);
}

static void cycles_of_any_length(void **state)
{
    (void)state;
    CHECK("0 1 ;", 1, 0);
    CHECK("0 1 2 ;", 1, 2, 0);
    CHECK("0 2 1 ;", 2, 0, 1);
    CHECK("0 3 1 2 ;", 3, 2, 0, 1);
}

static void a_thread_that_waits_for_a_cycle_is_not_in_it(void **state)
{
    (void)state;
    CHECK("1 2 ;", 1, 2, 1);
    CHECK("2 3 ;", 1, 2, 3, 2, 0);
    CHECK("0 4 ;", 4, 0, 1, 2, 0);
}

static void several_cycles(void **state)
{
    (void)state;
    CHECK("0 2 ;1 3 ;", 2, 3, 0, 1);
    CHECK("0 1 ;3 5 4 ;", 1, 0, 3, 5, 3, 4);
}

/* The lock passes to the thread that waits, which has not said so yet. */
static void a_thread_that_waits_for_itself_is_no_deadlock(void **state)
{
    (void)state;
    CHECK("", 0);
    CHECK("1 2 ;", 0, 2, 1);
    CHECK("", 1, 1);
}

static void numbers_that_are_no_index(void **state)
{
    (void)state;
    CHECK("", 2, 7);
    CHECK("1 2 ;", 3, 2, 1);
}

/* A linear congruential generator [D. E. Knuth: MMIX]. */
static uint32_t draw(uint64_t *number)
{
    *number = *number * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*number >> 33);
}

/* By a search that follows each thread for as many steps as there are threads. */
static void as_a_search_that_is_plain(void **state)
{
    enum { COUNT = 9, TIMES = 20000 };
    (void)state;
    uint64_t number = 1;
    for (int times = 0; times < TIMES; times++) {
        uint32_t owner_of[COUNT], scratch[2 * COUNT];
        char text[TEXT_BYTES] = "", expected[TEXT_BYTES] = "";
        for (unsigned i = 0; i < COUNT; i++)
            owner_of[i] = draw(&number) % (COUNT + 3);
        for (uint32_t i = 0; i < COUNT; i++) {
            uint32_t at = owner_of[i], length = 1, cycle[COUNT] = {i};
            while (at < COUNT && at > i && length < COUNT) {
                cycle[length++] = at;
                at = owner_of[at];
            }
            if (at == i && length > 1)
                write_cycle(expected, cycle, length);
        }
        wait_cycle__each(owner_of, COUNT, scratch, write_cycle, text);
        assert_int_equal(strlen(text), strlen(expected));
        for (char *cycle = strtok(text, ";"); cycle; cycle = strtok(NULL, ";"))
            assert_non_null(strstr(expected, cycle));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nobody_waits_for_each_other),
        cmocka_unit_test(cycles_of_any_length),
        cmocka_unit_test(a_thread_that_waits_for_a_cycle_is_not_in_it),
        cmocka_unit_test(several_cycles),
        cmocka_unit_test(a_thread_that_waits_for_itself_is_no_deadlock),
        cmocka_unit_test(numbers_that_are_no_index),
        cmocka_unit_test(as_a_search_that_is_plain),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
