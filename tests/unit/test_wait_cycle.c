/* Cycles of threads that wait for each other: all of them, each once, and nothing else. */
#include "native/thread/wait_cycle.h"

#include <stdbool.h>
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

/* What is chosen, and the cycles then. */
static void check_choices(uint32_t *owner_of, uint32_t count, const struct wait_choice *choices,
                          uint32_t choice_count, const uint32_t *expected, const char *cycles)
{
    uint32_t scratch[64];
    wait_cycle__choose(owner_of, count, choices, choice_count, scratch);
    assert_memory_equal(owner_of, expected, count * sizeof *owner_of);
    check(owner_of, count, cycles);
}

#define COUNT_OF(array) ((uint32_t)(sizeof(array) / sizeof(*(array))))
#define CHOICES(expected, cycles, owners, ...)                                                     \
    do {                                                                                           \
        static const struct wait_choice choices[] = {__VA_ARGS__};                                 \
        check_choices(owners, COUNT_OF(owners), choices, COUNT_OF(choices), expected, cycles);     \
    } while (0)

static void the_first_owner_who_waits_in_turn_is_chosen(void **state)
{
    uint32_t owner_of[] = {NOBODY, NOBODY, 0, 0};
    (void)state;
    CHOICES(((const uint32_t[]){2, NOBODY, 0, 0}), "0 2 ;", owner_of, {0, 1}, {0, 2}, {0, 3});
}

static void nobody_is_chosen_where_no_owner_waits_in_turn(void **state)
{
    uint32_t owner_of[] = {NOBODY, NOBODY, 1, NOBODY};
    (void)state;
    CHOICES(((const uint32_t[]){NOBODY, NOBODY, 1, NOBODY}), "", owner_of, {0, 1}, {0, 2});
    check_choices(owner_of, 4, NULL, 0, (const uint32_t[]){NOBODY, NOBODY, 1, NOBODY}, "");
}

/* 0 waits for 1, which waits for 2 and 3, the latter for 0. */
static void choices_lead_over_choices(void **state)
{
    uint32_t owner_of[] = {NOBODY, NOBODY, NOBODY, 0, NOBODY};
    (void)state;
    CHOICES(((const uint32_t[]){1, 3, NOBODY, 0, NOBODY}), "0 1 3 ;", owner_of, {0, 4}, {0, 1},
            {1, 2}, {1, 3});
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

static void draw_choices(uint64_t *number, uint32_t count, struct wait_choice *choices,
                         uint32_t choice_count, bool edges[9][9])
{
    for (uint32_t i = 0; i < choice_count; i++) {
        choices[i] = (struct wait_choice){i / 3, draw(number) % count};
        edges[choices[i].waiter][choices[i].owner] = true;
    }
}

/* There is a cycle exactly where one can come back to a thread by any way. */
static void no_deadlock_is_lost_nor_made(void **state)
{
    enum { COUNT = 9, CHOOSERS = 3, TIMES = 20000 };
    (void)state;
    uint64_t number = 1;
    for (int times = 0; times < TIMES; times++) {
        uint32_t owner_of[COUNT], scratch[2 * COUNT];
        struct wait_choice choices[3 * CHOOSERS];
        bool edges[9][9] = {{false}}, is_back = false;
        char text[TEXT_BYTES] = "";
        for (uint32_t i = 0; i < COUNT; i++) {
            owner_of[i] = i < CHOOSERS ? NOBODY : draw(&number) % (COUNT + 9);
            if (owner_of[i] < COUNT)
                edges[i][owner_of[i]] = true;
        }
        draw_choices(&number, COUNT, choices, 3 * CHOOSERS, edges);
        for (uint32_t i = 0; i < COUNT; i++)
            edges[i][i] = false;
        for (uint32_t i = 0; i < 3 * CHOOSERS; i++)
            if (choices[i].waiter == choices[i].owner)
                choices[i].owner = COUNT - 1, edges[choices[i].waiter][COUNT - 1] = true;
        for (uint32_t over = 0; over < COUNT; over++)
            for (uint32_t from = 0; from < COUNT; from++)
                for (uint32_t to = 0; to < COUNT; to++)
                    edges[from][to] |= edges[from][over] && edges[over][to];
        for (uint32_t i = 0; i < COUNT; i++)
            is_back |= edges[i][i];
        wait_cycle__choose(owner_of, COUNT, choices, 3 * CHOOSERS, scratch);
        wait_cycle__each(owner_of, COUNT, scratch, write_cycle, text);
        assert_int_equal(*text != '\0', is_back);
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
        cmocka_unit_test(the_first_owner_who_waits_in_turn_is_chosen),
        cmocka_unit_test(nobody_is_chosen_where_no_owner_waits_in_turn),
        cmocka_unit_test(choices_lead_over_choices),
        cmocka_unit_test(no_deadlock_is_lost_nor_made),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
