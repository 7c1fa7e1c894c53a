/* Names of the kernel's functions: a table as /proc/kallsyms has it. */
#include "native/sampling/kernel_symbols.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* cmocka.h needs the others before it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

static const char *write_table(const char *text)
{
    static char path[] = "/tmp/treadle-symbols-XXXXXX";
    snprintf(path + sizeof path - 7, 7, "XXXXXX");
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
    return path;
}

static void an_address_is_in_the_function_before_it(void **state)
{
    struct kernel_symbols *symbols;
    uint64_t start;
    const char *path = write_table("ffffffff81000000 T _stext\n"
                                   "ffffffff81000000 T _text\n"
                                   "ffffffffa0000000 t module_read\t[ext4]\n"
                                   "ffffffff81000200 W vfs_read\n"
                                   "ffffffff81000300 D some_data\n"
                                   "not a line\n");
    (void)state;
    assert_int_equal(kernel_symbols__check(path), 0);
    assert_int_equal(kernel_symbols__open(&symbols, path), 0);
    assert_string_equal(kernel_symbols__find(symbols, 0xffffffff81000000, &start), "_stext");
    assert_string_equal(kernel_symbols__find(symbols, 0xffffffff810001ff, &start), "_stext");
    assert_string_equal(kernel_symbols__find(symbols, 0xffffffff81000310, &start), "vfs_read");
    assert_true(start == 0xffffffff81000200);
    assert_string_equal(kernel_symbols__find(symbols, UINT64_MAX, &start), "module_read");
    assert_null(kernel_symbols__find(symbols, 0x1000, &start));
    kernel_symbols__close(symbols);
    unlink(path);
}

static void hidden_addresses_are_refused(void **state)
{
    struct kernel_symbols *symbols;
    const char *path = write_table("0000000000000000 T _text\n0000000000000000 T vfs_read\n");
    (void)state;
    assert_int_equal(kernel_symbols__check(path), -EPERM);
    assert_int_equal(kernel_symbols__open(&symbols, path), -EPERM);
    unlink(path);
    assert_int_equal(kernel_symbols__check(path), -ENOENT);
    assert_int_equal(kernel_symbols__open(&symbols, path), -ENOENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_address_is_in_the_function_before_it),
        cmocka_unit_test(hidden_addresses_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
