/* Damaged classes: cut off anywhere or with bytes changed, a class is rewritten or left as it is,
 * with a reason; nothing outside it is read (the sanitizer builds look) and no time is lost. What
 * comes out can be read in again. Damaged are a class drawn by hand and, where there is a javac,
 * the classes of RewriterSamples.java. */
#include "tests/unit/drawn_class.h"

#include <dirent.h>
#include <errno.h>

#define MUTATIONS 4000u /* of each class */

static const struct drawn_method drawn = {
    .name = "<init>",
    .descriptor = "(I)V",
    .max_stack = 4,
    .max_locals = 2,
    .code = "2a 1b 99 0007 04 a7 0004 05 57 b7 0007 1b " /* 0, to 14 */
            "aa 00000011 00000001 00000001 00000025 "    /* 15 */
            "00 1b ab 00 00000012 00000001 00000005 00000012 b1",
    .exceptions = "000e 0020 0034 0000",
    .attributes = {{"StackMapTable", "0002 ff 0009 0002 06 01 0001 06 "
                                     "ff 0000 0002 06 01 0002 06 01"},
                   {"LineNumberTable", "0001 0000 0001"},
                   {"LocalVariableTable", "0001 0000 0005 0005 0006 0000"},
                   {"RuntimeVisibleTypeAnnotations", "0001 44 0000 01 0300 0005 0000"}},
};

static uint32_t next_random(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*seed >> 33);
}

/* Such methods are not looked at to their end, and what they name in vain may exist once the
 * constant pool has grown. */
static bool unhooked(const struct class_rewrite *rewrite)
{
    for (int i = METHOD_CODE_TOO_LARGE; i < METHOD_OUTCOMES; i++)
        if (rewrite->methods[i])
            return true;
    return false;
}

/* A copy of its own, so that a read behind its end is seen. */
static bool rewrite_copy(const uint8_t *bytes, size_t length)
{
    uint8_t *copy = malloc(length ? length : 1);
    struct class_rewrite rewrite, again;
    int error;

    assert_non_null(copy);
    if (length)
        memcpy(copy, bytes, length);
    error = class_rewriter__rewrite(copy, length, DRAWN_HOOKS, drawn_choice, NULL, &rewrite);
    assert_true(error == 0 || error == -EBADMSG || error == -ENOTSUP);
    assert_int_equal(error != 0, rewrite.error.expected != NULL);
    assert_true(!error || (!rewrite.bytes && rewrite.error.offset <= length));
    if (rewrite.bytes) {
        int again_error = class_rewriter__rewrite(rewrite.bytes, rewrite.length, DRAWN_HOOKS,
                                                  drawn_choice, NULL, &again);
        assert_true(again_error == 0 || unhooked(&rewrite));
        free(again.bytes);
        free(again.hooked);
    }
    free(rewrite.bytes);
    free(rewrite.hooked);
    free(copy);
    return error == 0;
}

static void damage(const uint8_t *bytes, size_t length)
{
    uint8_t *changed = malloc(length + 1);
    uint64_t seed = length;

    assert_non_null(changed);
    for (size_t cut = 0; cut <= length; cut++)
        assert_int_equal(rewrite_copy(bytes, cut), cut == length);
    for (uint32_t i = 0; i < MUTATIONS; i++) {
        memcpy(changed, bytes, length);
        for (uint32_t count = 1 + next_random(&seed) % 3; count > 0; count--) {
            size_t at = (uint64_t)next_random(&seed) * length >> 31;
            uint32_t how = next_random(&seed);

            if (how % 3 == 0)
                changed[at] ^= (uint8_t)(1u << how / 3 % 8);
            else if (how % 3 == 1)
                changed[at] = (uint8_t)(how / 3 % 2 ? 0xff : 0);
            else
                changed[at] = (uint8_t)(how / 3);
        }
        rewrite_copy(changed, length);
    }
    free(changed);
}

static void a_drawn_class_is_damaged(void **state)
{
    struct class_writer bytes = drawn_class(&drawn);

    (void)state;
    damage(bytes.bytes, bytes.length);
    class_writer__close(&bytes);
}

#ifdef SAMPLES_DIR
static void damage_file(const char *name)
{
    char path[4096];
    uint8_t *bytes = malloc(1u << 16);
    size_t length;
    FILE *file;

    snprintf(path, sizeof path, "%s/%s", SAMPLES_DIR, name);
    file = fopen(path, "rb");
    assert_non_null(file);
    assert_non_null(bytes);
    length = fread(bytes, 1, 1u << 16, file);
    fclose(file);
    assert_true(length > 0);
    damage(bytes, length);
    free(bytes);
}

static void compiled_classes_are_damaged(void **state)
{
    DIR *folder = opendir(SAMPLES_DIR);
    uint32_t count = 0;

    (void)state;
    assert_non_null(folder);
    for (struct dirent *entry = readdir(folder); entry; entry = readdir(folder)) {
        if (strstr(entry->d_name, ".class")) {
            damage_file(entry->d_name);
            count++;
        }
    }
    closedir(folder);
    assert_true(count > 5);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_drawn_class_is_damaged),
#ifdef SAMPLES_DIR
        cmocka_unit_test(compiled_classes_are_damaged),
#endif
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
