/* Names of native functions as the agent finds them: of the build that is mapped, whatever lies
 * under its path by now, and of the image that is mapped there now. */
#include "native/sampling/sampled_symbols.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* cmocka.h needs the others before it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#define FIXTURE  FIXTURE_DIR "/libsymbol-fixture.so"
#define OLD_NAME "_ZN4demo6Engine4spinEi"
#define NEW_NAME "_ZN4dem06Engine4spinEi"
#define BESIDE   "fixture_hidden_address"

static char folder[] = "/tmp/treadle-images-XXXXXX";
static char path[128];

static void change_all(char *bytes, size_t length, const char *from, const char *to, size_t size)
{
    for (size_t i = 0; i + size <= length; i++)
        if (memcmp(bytes + i, from, size) == 0)
            memcpy(bytes + i, to, size);
}

/* The fixture under `path`, in a new file; with another function's name and build id if so. */
static void install(const char *other_than)
{
    static char bytes[1 << 20];
    char temporary[160], id[64] = "", changed[64];
    unsigned count = 0;
    int fd = open(FIXTURE, O_RDONLY | O_CLOEXEC);
    ssize_t length = read(fd, bytes, sizeof bytes);
    assert_true(length > 0 && (size_t)length < sizeof bytes);
    (void)close(fd);
    if (other_than != NULL) {
        for (; other_than[2 * count] != '\0'; count++) {
            const char digits[3] = {other_than[2 * count], other_than[2 * count + 1], '\0'};
            id[count] = (char)strtoul(digits, NULL, 16);
        }
        memcpy(changed, id, sizeof changed);
        changed[0] = (char)~changed[0];
        change_all(bytes, (size_t)length, id, changed, count);
        change_all(bytes, (size_t)length, OLD_NAME, NEW_NAME, strlen(OLD_NAME));
    }
    (void)snprintf(temporary, sizeof temporary, "%s.new", path);
    fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0700);
    assert_int_equal(write(fd, bytes, (size_t)length), length);
    (void)close(fd);
    assert_int_equal(rename(temporary, path), 0);
}

struct world {
    struct ledger ledger;
    struct code_images *images;
    struct sampled_symbols symbols;
};

static void begin(struct world *world)
{
    assert_int_equal(ledger__create(&world->ledger, NULL, 1u << 20), 0);
    world->images = code_images__new();
    assert_non_null(world->images);
    sampled_symbols__init(&world->symbols, &world->ledger, world->images);
}

/* "" if it has none. */
static const char *name_at(struct world *world, const void *address)
{
    static char text[64];
    const struct sampled_symbol *symbol =
        sampled_symbols__find(&world->symbols, (uint64_t)(uintptr_t)address);
    assert_non_null(symbol);
    const struct ledger_method *method = ledger__at(&world->ledger, symbol->method);
    const struct ledger_string *name = ledger__at(&world->ledger, method->name);
    (void)snprintf(text, sizeof text, "%.*s", method->name != 0 ? (int)name->length : 0,
                   (const char *)name + offsetof(struct ledger_string, bytes));
    return text;
}

static const char *build_id_at(const struct world *world, const void *address)
{
    struct code_function function;
    assert_true(code_images__find(world->images, (uint64_t)(uintptr_t)address, &function));
    return code_image__build_id(function.image);
}

static void a_replaced_file_gives_no_names(void **state)
{
    (void)state;
    static struct world as_mapped, as_replaced;
    install(NULL);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    assert_non_null(library);
    const void *spin = dlsym(library, OLD_NAME);
    begin(&as_mapped);
    begin(&as_replaced);
    assert_int_equal(code_images__refresh(as_mapped.images), 0);
    assert_int_equal(code_images__refresh(as_replaced.images), 0);
    assert_string_equal(name_at(&as_mapped, spin), OLD_NAME);
    install(build_id_at(&as_mapped, spin));
    assert_string_equal(name_at(&as_replaced, spin), "");
    (void)dlclose(library);
}

static void an_image_where_another_was_has_its_own_names(void **state)
{
    (void)state;
    static struct world world;
    install(NULL);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    const char *spin = dlsym(library, OLD_NAME), *first = spin;
    ptrdiff_t behind = spin - (const char *)dlsym(library, BESIDE);
    begin(&world);
    assert_int_equal(code_images__refresh(world.images), 0);
    assert_string_equal(name_at(&world, spin), OLD_NAME);
    install(build_id_at(&world, spin));
    (void)dlclose(library);
    library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    /* The new name has another hash than the table of names says. */
    spin = (const char *)dlsym(library, BESIDE) + behind;
    if (spin != first)
        print_message("the second image is elsewhere: nothing is tested\n");
    assert_int_equal(code_images__refresh(world.images), 0);
    assert_string_equal(name_at(&world, spin), NEW_NAME);
    (void)dlclose(library);
}

static int make_folder(void **state)
{
    (void)state;
    if (mkdtemp(folder) == NULL)
        return 1;
    (void)snprintf(path, sizeof path, "%s/libfixture.so", folder);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    return unlink(path) != 0 || rmdir(folder) != 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_replaced_file_gives_no_names),
        cmocka_unit_test(an_image_where_another_was_has_its_own_names),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
