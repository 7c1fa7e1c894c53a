/* Names of functions, against those that the dynamic linker finds in the same objects. */
#include "native/unwind/elf_symbols.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* cmocka.h needs the others before it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

static struct elf_symbols *opened(const char *path)
{
    struct elf_symbols *symbols;

    assert_int_equal(elf_symbols__open(&symbols, path), 0);
    assert_non_null(symbols);
    return symbols;
}

static uint64_t bias_of(const void *address, const char **path)
{
    struct link_map *map;
    Dl_info info;

    assert_true(dladdr1(address, &info, (void **)&map, RTLD_DL_LINKMAP) != 0);
    *path = map->l_name[0] ? map->l_name : "/proc/self/exe";
    return map->l_addr;
}

static void expect_function(const struct elf_symbols *symbols, uint64_t at, uint64_t start,
                            const char *name)
{
    const char *found = NULL;
    uint64_t found_start = 0, size = 0;

    assert_true(elf_symbols__find(symbols, at, &found, &found_start, &size));
    assert_string_equal(found, name);
    assert_int_equal(found_start, start);
    assert_true(at - found_start < size);
}

/* Names that have no second one for the same address. */
static const char *const names_in_libc[] = {"qsort_r", "strtod", "getaddrinfo",   "regexec",
                                            "abort",   "exit",   "glob_pattern_p"};

static void functions_of_libc(void **state)
{
    (void)state;
    /* By its name: a sanitizer has functions of its own for these. */
    void *libc = dlopen("libc.so.6", RTLD_NOLOAD | RTLD_NOW);
    struct elf_symbols *symbols;
    const char *path;
    uint64_t bias;
    if (!libc)
        skip();
    bias = bias_of(dlsym(libc, "abort"), &path);
    symbols = opened(path);
    for (size_t i = 0; i < sizeof names_in_libc / sizeof *names_in_libc; i++) {
        void *address = dlsym(libc, names_in_libc[i]);
        uint64_t start;

        assert_non_null(address);
        start = (uint64_t)(uintptr_t)address - bias;
        expect_function(symbols, start, start, names_in_libc[i]);
        expect_function(symbols, start + 3, start, names_in_libc[i]);
    }
    assert_true(strlen(elf_symbols__build_id(symbols)) == 40);
    elf_symbols__close(symbols);
    (void)dlclose(libc);
}

/* Not exported: of the table that the dynamic linker does not load. */
__attribute__((noinline, used)) static int only_in_symtab(int number)
{
    return number + 1;
}

static void own_functions(void **state)
{
    (void)state;
    const char *path;
    uint64_t bias = bias_of((const void *)(uintptr_t)own_functions, &path);
    struct elf_symbols *symbols = opened(path);
    uint64_t start = (uint64_t)(uintptr_t)only_in_symtab - bias;
    const char *name;
    uint64_t found, size;
    if (elf_symbols__find(symbols, start, &name, &found, &size)) {
        assert_int_equal(found, start);
        assert_true(strncmp(name, "only_in_symtab", 14) == 0);
    } else {
        fail();
    }
    assert_false(elf_symbols__find(symbols, 0, &name, &found, &size));
    assert_false(elf_symbols__find(symbols, UINT64_MAX, &name, &found, &size));
    elf_symbols__close(symbols);
}

static void functions_of_the_vdso(void **state)
{
    (void)state;
    void *vdso = dlopen("linux-vdso.so.1", RTLD_NOLOAD | RTLD_NOW);
    void *address = vdso ? dlsym(vdso, "__vdso_clock_gettime") : NULL;
    struct elf_symbols *symbols;
    const char *path, *name;
    uint64_t start, found, size;
    if (!address)
        skip();
    start = (uint64_t)(uintptr_t)address - bias_of(address, &path);
    symbols = opened("[vdso]");
    assert_true(elf_symbols__find(symbols, start, &name, &found, &size));
    assert_int_equal(found, start);
    assert_non_null(strstr(name, "clock_gettime"));
    elf_symbols__close(symbols);
}

static char folder[] = "/tmp/treadle-elf-XXXXXX";

static void write_file(const char *path, const void *bytes, size_t length)
{
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, length, file), length);
    assert_int_equal(fclose(file), 0);
}

static char *read_file(const char *path, size_t *length)
{
    FILE *file = fopen(path, "r");
    char *bytes = malloc(8 << 20);

    assert_non_null(file);
    assert_non_null(bytes);
    *length = fread(bytes, 1, 8 << 20, file);
    assert_int_equal(fclose(file), 0);
    return bytes;
}

static int error_of(const char *path)
{
    struct elf_symbols *symbols;
    int error = elf_symbols__open(&symbols, path);

    if (error)
        assert_null(symbols);
    elf_symbols__close(symbols);
    return error;
}

static void what_is_no_elf_object(void **state)
{
    (void)state;
    char path[100];
    assert_int_equal(error_of("/nonexistent/file"), -ENOENT);
    assert_int_equal(error_of("/proc/self"), -ENOEXEC);
    assert_int_equal(error_of("/dev/null"), -ENOEXEC);
    snprintf(path, sizeof path, "%s/text", folder);
    write_file(path, "text", 4);
    assert_int_equal(error_of(path), -ENOEXEC);
    write_file(path, "", 0);
    assert_int_equal(error_of(path), -ENOEXEC);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(error_of(path), -ENOEXEC);
    assert_int_equal(unlink(path), 0);
}

/* Finds or does not find; what it finds can be read. */
static void look_through(const char *path)
{
    struct elf_symbols *symbols;
    const char *name;
    uint64_t start, size;
    size_t names_bytes = 0;

    if (elf_symbols__open(&symbols, path) != 0)
        return;
    for (uint64_t at = 0; at < 0x40000; at += 61)
        if (elf_symbols__find(symbols, at, &name, &start, &size)) {
            assert_true(start <= at && at - start < size);
            names_bytes += strlen(name);
        }
    assert_true(names_bytes < SIZE_MAX);
    elf_symbols__close(symbols);
}

static void damaged_files(void **state)
{
    (void)state;
    size_t length;
    char path[100], *bytes = read_file(UNWOUND_CODE, &length);
    uint64_t sections;
    uint32_t random = 1;
    snprintf(path, sizeof path, "%s/damaged", folder);
    memcpy(&sections, bytes + 40, sizeof sections); /* e_shoff */
    assert_true(sections < length);
    for (int round = 0; round < 1500; round++) {
        /* In the headers, among the sections' headers, anywhere */
        size_t from = round % 3 == 1 ? sections : 0;
        size_t among = round % 3 == 0 ? 64 : length - from;
        size_t at[6];
        char old[6];

        for (int i = 0; i < 6; i++) {
            random = random * 1664525 + 1013904223;
            at[i] = from + (random >> 8) % (among + 1);
            at[i] -= at[i] == length;
            old[i] = bytes[at[i]];
            random = random * 1664525 + 1013904223;
            bytes[at[i]] = (char)(random >> 24);
        }
        write_file(path, bytes, length);
        look_through(path);
        for (int i = 6; i-- > 0;)
            bytes[at[i]] = old[i];
    }
    for (size_t cut = 0; cut < length; cut += length / 200) {
        write_file(path, bytes, cut);
        look_through(path);
    }
    assert_int_equal(unlink(path), 0);
    free(bytes);
}

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(functions_of_libc),     cmocka_unit_test(own_functions),
        cmocka_unit_test(functions_of_the_vdso), cmocka_unit_test(what_is_no_elf_object),
        cmocka_unit_test(damaged_files),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
