/* Which image an address is in, asked without pause while the answer changes. */
#include "native/unwind/code_images.h"
#include "native/unwind/image_ranges.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

/* cmocka.h needs the others before it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#define READERS  2
#define CHANGES  3000
#define RANGE    UINT64_C(0x1000)
#define MAX      300u
#define EVERYONE UINT64_C(7)

static bool stop;

/* An image is as good as any other pointer here: its value says which range it belongs to. */
static const struct code_image *image_of(uint64_t range)
{
    return (const struct code_image *)(uintptr_t)(range * 16);
}

/* A third of the ranges, another one with each set; and always EVERYONE. */
static bool is_in_set(uint64_t range, unsigned set)
{
    return range == EVERYONE || (range * 7 + set) % 3 == 0;
}

static size_t fill(struct image_range *ranges, unsigned set)
{
    size_t count = 0;

    for (uint64_t range = 1; range <= 1 + set % MAX || range <= EVERYONE; range++)
        if (is_in_set(range, set))
            ranges[count++] =
                (struct image_range){range * RANGE, range * RANGE + RANGE / 2, image_of(range)};
    return count;
}

static void the_answer_is_that_of_the_last_set(void **state)
{
    (void)state;
    struct image_ranges ranges = {0};
    struct image_range sorted[MAX + 1];
    assert_null(image_ranges__find(&ranges, RANGE));
    for (unsigned set = 0; set < 2 * MAX; set++) {
        assert_int_equal(image_ranges__publish(&ranges, sorted, fill(sorted, set)), 0);
        for (uint64_t range = 1; range <= MAX + 1; range++) {
            bool is_in = is_in_set(range, set) && (range <= 1 + set % MAX || range <= EVERYONE);
            const struct code_image *expected = is_in ? image_of(range) : NULL;

            assert_ptr_equal(image_ranges__find(&ranges, range * RANGE), expected);
            assert_ptr_equal(image_ranges__find(&ranges, range * RANGE + RANGE / 2 - 1), expected);
            assert_null(image_ranges__find(&ranges, range * RANGE + RANGE / 2));
            assert_null(image_ranges__find(&ranges, range * RANGE - 1));
        }
    }
    assert_int_equal(image_ranges__publish(&ranges, NULL, 0), 0);
    assert_null(image_ranges__find(&ranges, EVERYONE * RANGE));
    image_ranges__free(&ranges);
}

/* Returns what it found wrong. */
static void *ask(void *context)
{
    const struct image_ranges *ranges = context;
    uint64_t wrong = 0;

    for (uint64_t i = 0; !__atomic_load_n(&stop, __ATOMIC_RELAXED); i++) {
        uint64_t range = 1 + i % MAX;
        const struct code_image *found = image_ranges__find(ranges, range * RANGE + 8);

        wrong += found && found != image_of(range);
        wrong += image_ranges__find(ranges, EVERYONE * RANGE) != image_of(EVERYONE);
        wrong += image_ranges__find(ranges, range * RANGE + RANGE - 1) != NULL;
    }
    return (void *)(uintptr_t)wrong;
}

static void readers_and_one_writer(void **state)
{
    (void)state;
    struct image_ranges ranges = {0};
    struct image_range sorted[MAX + 1];
    pthread_t readers[READERS];
    void *wrong;
    assert_int_equal(image_ranges__publish(&ranges, sorted, fill(sorted, 0)), 0);
    __atomic_store_n(&stop, false, __ATOMIC_RELAXED);
    for (int i = 0; i < READERS; i++)
        assert_int_equal(pthread_create(&readers[i], NULL, ask, &ranges), 0);
    for (unsigned set = 0; set < CHANGES; set++)
        assert_int_equal(image_ranges__publish(&ranges, sorted, fill(sorted, set)), 0);
    __atomic_store_n(&stop, true, __ATOMIC_RELAXED);
    for (int i = 0; i < READERS; i++) {
        assert_int_equal(pthread_join(readers[i], &wrong), 0);
        assert_null(wrong);
    }
    image_ranges__free(&ranges);
}

/* Looks its own code up, which is always there, and takes steps that lead nowhere. */
static void *look_up(void *context)
{
    const struct code_images *images = context;
    uint64_t own = (uint64_t)(uintptr_t)look_up;
    uint64_t stack[32] = {0};
    uint64_t low = (uint64_t)(uintptr_t)stack;
    uint64_t wrong = 0;

    while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
        struct frame_registers registers = {own, low, low, true, false, NULL};
        struct code_function function;

        if (!code_images__find(images, own, &function) ||
            code_image__path(function.image)[0] != '/' ||
            function.start + code_image__bias(function.image) != own)
            wrong++;
        (void)code_images__step(images, &registers, low + sizeof stack, false, NULL);
    }
    return (void *)(uintptr_t)wrong;
}

static void libraries_come_and_go_while_others_walk(void **state)
{
    (void)state;
    struct code_images *images = code_images__new();
    pthread_t readers[READERS];
    void *wrong;
    assert_non_null(images);
    assert_int_equal(code_images__refresh(images), 0);
    __atomic_store_n(&stop, false, __ATOMIC_RELAXED);
    for (int i = 0; i < READERS; i++)
        assert_int_equal(pthread_create(&readers[i], NULL, look_up, images), 0);
    for (int i = 0; i < 100; i++) {
        void *library = dlopen(UNWOUND_CODE, RTLD_NOW);

        assert_non_null(library);
        assert_int_equal(code_images__refresh(images), 0);
        assert_int_equal(dlclose(library), 0);
        assert_int_equal(code_images__refresh(images), 0);
    }
    __atomic_store_n(&stop, true, __ATOMIC_RELAXED);
    for (int i = 0; i < READERS; i++) {
        assert_int_equal(pthread_join(readers[i], &wrong), 0);
        assert_null(wrong);
    }
    assert_int_equal(code_images__count(images).dropped, 0);
    code_images__delete(images);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_answer_is_that_of_the_last_set),
        cmocka_unit_test(readers_and_one_writer),
        cmocka_unit_test(libraries_come_and_go_while_others_walk),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
