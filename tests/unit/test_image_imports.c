/* What libraries import is replaced: in one whose calls are bound when it is loaded, into memory
 * that is read-only from then on, and in one whose calls are bound when they are made. */
#include "native/host/image_imports.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* cmocka.h needs the others before it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#define OURS 4711

struct library {
    const char *path;
    void *handle;
    int (*call)(void);
    const void *(*protected)(void);
};

struct stage {
    struct library bound, lazy;
    const char *admitted; /* the path, or part of it */
    unsigned words;
    unsigned refused;
    struct import_replacement replacement;
    struct image_imports imports;
};

/* 0: memory may be protected as the kernel lets it; else the errno with which that is refused. */
static int refusal;

/* In place of the C library's, as a sandbox may have it. */
/* The C library's names of parameters are reserved.
 * NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name) */
int mprotect(void *address, size_t length, int protection)
{
    if (refusal) {
        errno = refusal;
        return -1;
    }
    return (int)syscall(SYS_mprotect, address, length, protection);
}

/* The same for the list of mapped memory. */
static int list_refusal;

/* NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name): likewise */
int open(const char *path, int flags, ...)
{
    if (list_refusal && strcmp(path, "/proc/self/maps") == 0) {
        errno = list_refusal;
        return -1;
    }
    return (int)syscall(SYS_openat, AT_FDCWD, path, flags, 0);
}

static pid_t ours(void)
{
    return OURS;
}

static pid_t others(void)
{
    return 1;
}

static bool admits(void *context, const struct importing_image *image)
{
    const struct stage *stage = context;

    return strstr(image->path, stage->admitted) != NULL;
}

static void replaced(void *context, const struct importing_image *image, unsigned words)
{
    struct stage *stage = context;

    assert_non_null(strstr(image->path, stage->admitted));
    assert_true(image->start < image->end);
    stage->words += words;
}

static void refused(void *context, const struct importing_image *image)
{
    struct stage *stage = context;

    assert_non_null(strstr(image->path, "imports-bound"));
    assert_true(image->start < image->end);
    stage->refused++;
}

static void load(struct library *library, const char *path)
{
    *library = (struct library){.path = path, .handle = dlopen(path, RTLD_LAZY | RTLD_LOCAL)};
    if (!library->handle)
        fail_msg("%s", dlerror());
    *(void **)&library->call = dlsym(library->handle, "imports_call");
    *(void **)&library->protected = dlsym(library->handle, "imports_protected");
    assert_non_null(library->call);
    assert_non_null(library->protected);
}

static int begin(void **state)
{
    struct stage *stage = calloc(1, sizeof(*stage));

    load(&stage->bound, IMPORTS_BOUND);
    load(&stage->lazy, IMPORTS_LAZY);
    stage->admitted = "imports-";
    stage->replacement =
        (struct import_replacement){"getppid", (void *)(uintptr_t)getppid, (void *)(uintptr_t)ours};
    stage->imports = (struct image_imports){.replacements = &stage->replacement,
                                            .count = 1,
                                            .admits = admits,
                                            .replaced = replaced,
                                            .refused = refused,
                                            .context = stage};
    *state = stage;
    return 0;
}

static int end(void **state)
{
    struct stage *stage = *state;

    refusal = list_refusal = 0;
    dlclose(stage->bound.handle);
    dlclose(stage->lazy.handle);
    free(stage);
    return 0;
}

static bool may_be_written(const void *address)
{
    int status;
    pid_t child = fork();

    if (child == 0) {
        (void)signal(SIGSEGV, SIG_DFL);
        *(volatile char *)(uintptr_t)address = *(const volatile char *)address;
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void replaces_in_both(void **state)
{
    struct stage *stage = *state;

    assert_int_equal(stage->bound.call(), getppid());
    image_imports__look(&stage->imports);
    assert_int_equal(stage->bound.call(), OURS);
    assert_int_equal(stage->lazy.call(), OURS);
    assert_int_equal(stage->words, 2);
    assert_int_equal(stage->refused, 0);
    assert_int_equal(getppid(), getppid());
}

static void leaves_memory_read_only(void **state)
{
    struct stage *stage = *state;

    assert_false(may_be_written(stage->bound.protected()));
    image_imports__look(&stage->imports);
    assert_false(may_be_written(stage->bound.protected()));
}

/* The memory of one library may not be made writable: its calls are as before, those of the other
 * are replaced; and when it may, they are, too. */
static void leaves_what_may_not_be_written(void **state)
{
    struct stage *stage = *state;
    const int errors[] = {EACCES, EPERM, ENOMEM};

    for (unsigned i = 0; i < sizeof(errors) / sizeof(*errors); i++) {
        refusal = errors[i];
        image_imports__look(&stage->imports);
        assert_int_equal(stage->bound.call(), getppid());
        assert_int_equal(stage->lazy.call(), OURS);
        assert_int_equal(stage->words, 1);
        assert_int_equal(stage->refused, i + 1);
        assert_false(may_be_written(stage->bound.protected()));
    }
    refusal = 0;
    image_imports__look(&stage->imports);
    assert_int_equal(stage->bound.call(), OURS);
    assert_int_equal(stage->words, 2);
}

/* Whether the memory is as the linker leaves it is not known for want of a descriptor, which may
 * pass, or in a sandbox without the list. */
static void leaves_what_is_not_known(void **state)
{
    struct stage *stage = *state;

    list_refusal = EMFILE;
    image_imports__look(&stage->imports);
    assert_int_equal(stage->bound.call(), getppid());
    assert_int_equal(stage->refused, 0);
    assert_true(image_imports__are_new(&stage->imports));
    list_refusal = EACCES;
    image_imports__look(&stage->imports);
    assert_int_equal(stage->bound.call(), getppid());
    assert_int_equal(stage->refused, 1);
    assert_false(image_imports__are_new(&stage->imports));
    list_refusal = 0;
    image_imports__look(&stage->imports);
    assert_int_equal(stage->bound.call(), OURS);
}

static void replaces_once(void **state)
{
    struct stage *stage = *state;

    image_imports__look(&stage->imports);
    image_imports__look(&stage->imports);
    assert_int_equal(stage->words, 2);
}

static void leaves_what_is_not_admitted(void **state)
{
    struct stage *stage = *state;

    stage->admitted = "imports-lazy";
    image_imports__look(&stage->imports);
    assert_int_equal(stage->bound.call(), getppid());
    assert_int_equal(stage->lazy.call(), OURS);
}

/* Another library has replaced the function before. */
static void leaves_what_others_replaced(void **state)
{
    struct stage *stage = *state;

    stage->replacement.function = (void *)(uintptr_t)others;
    image_imports__look(&stage->imports);
    stage->replacement.function = (void *)(uintptr_t)ours;
    image_imports__look(&stage->imports);
    assert_int_equal(stage->bound.call(), 1);
    assert_int_equal(stage->lazy.call(), 1);
}

static void tells_new_images(void **state)
{
    struct stage *stage = *state;
    struct library again;

    image_imports__look(&stage->imports);
    assert_false(image_imports__are_new(&stage->imports));
    dlclose(stage->lazy.handle);
    load(&again, IMPORTS_LAZY);
    stage->lazy = again;
    assert_true(image_imports__are_new(&stage->imports));
    image_imports__look(&stage->imports);
    assert_int_equal(stage->lazy.call(), OURS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(replaces_in_both, begin, end),
        cmocka_unit_test_setup_teardown(leaves_memory_read_only, begin, end),
        cmocka_unit_test_setup_teardown(leaves_what_may_not_be_written, begin, end),
        cmocka_unit_test_setup_teardown(leaves_what_is_not_known, begin, end),
        cmocka_unit_test_setup_teardown(replaces_once, begin, end),
        cmocka_unit_test_setup_teardown(leaves_what_is_not_admitted, begin, end),
        cmocka_unit_test_setup_teardown(leaves_what_others_replaced, begin, end),
        cmocka_unit_test_setup_teardown(tells_new_images, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
