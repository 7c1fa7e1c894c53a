/* Walks through all kinds of frames with each engine, against libunwind's of the same stack. */
#include "native/unwind/code_images.h"
#include "tests/unit/unwound_code.h"
#include "tests/unit/walk_oracle.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <unistd.h>

/* cmocka.h needs the others before it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

/* The thread sanitizer runs handlers when and where it likes. */
#if defined(__SANITIZE_THREAD__)
#define HANDLERS_RUN_AT_ONCE 0
#else
#define HANDLERS_RUN_AT_ONCE 1
#endif

/* Whether a handler can run after each instruction. */
#if defined(__x86_64__) && HANDLERS_RUN_AT_ONCE
#define CAN_TRAP  1
#define TRAP_FLAG 0x100
#else
#define CAN_TRAP 0
#endif

static enum unwind_engine engine;
static struct code_images *images;
static struct walks walks;
static void *library;

/* How many instructions are walked from at most; and whether the walk goes through the handler. */
static unsigned steps_left;
static bool through_a_handler;

static void on_walk(int signal, siginfo_t *info, void *context)
{
    (void)signal;
    (void)info;
    walk_both(&walks, context);
}

/* Stands between the walk and what was interrupted. */
static void on_nested(int signal, siginfo_t *info, void *context)
{
    (void)signal;
    (void)info;
    (void)context;
    (void)raise(SIGUSR1);
}

/* Makes the processor trap after each instruction. */
static void set_trap(ucontext_t *interrupted, bool on)
{
#if CAN_TRAP
    if (on)
        interrupted->uc_mcontext.gregs[REG_EFL] |= TRAP_FLAG;
    else
        interrupted->uc_mcontext.gregs[REG_EFL] &= ~TRAP_FLAG;
#else
    (void)interrupted, (void)on;
#endif
}

static void on_start_stepping(int signal, siginfo_t *info, void *context)
{
    (void)signal;
    (void)info;
    set_trap(context, true);
}

static void on_step(int signal, siginfo_t *info, void *context)
{
    (void)signal;
    (void)info;
    if (steps_left == 0) {
        set_trap(context, false);
        return;
    }
    steps_left--;
    if (through_a_handler)
        (void)raise(SIGUSR1);
    else
        walk_both(&walks, context);
}

static void on(int signal, void (*handler)(int, siginfo_t *, void *), int flags)
{
    struct sigaction action = {.sa_flags = SA_SIGINFO | flags};

    action.sa_sigaction = handler;
    assert_int_equal(sigaction(signal, &action, NULL), 0);
}

static int walk_here(void)
{
    return raise(SIGUSR1);
}

static int walk_below_a_handler(void)
{
    return raise(SIGUSR2);
}

/* On arm64 handlers return to the vdso, which emulation does not have: no image, no frame. */
static bool can_walk_below_handlers(void)
{
    return unwind_engine__default() == UNWIND_WITH_TABLES || getauxval(AT_SYSINFO_EHDR) != 0;
}

static int do_nothing(void)
{
    return 0;
}

static unwound function_of(const char *name)
{
    unwound function;

    *(void **)&function = dlsym(library, name);
    assert_non_null(function);
    return function;
}

static void reset_walks(void)
{
    memset(&walks, 0, sizeof walks);
    walks.images = images;
    walks.stack_end = end_of_own_stack();
}

static void agree(void)
{
    if (walks.differing)
        fail_msg("%u of %u walks differ; first: %s", walks.differing, walks.compared,
                 walks.first_difference);
    assert_true(walks.compared > 0);
}

static bool met(const char *name)
{
    const char *dli_name;
    Dl_info info;

    for (int i = 0; i < walks.ours.count; i++) {
        uint64_t pc = walks.ours.pc[i] - (i > 0);

        dli_name = dladdr((void *)(uintptr_t)pc, &info) ? info.dli_sname : NULL;
        if (dli_name && strcmp(dli_name, name) == 0)
            return true;
    }
    return false;
}

static const char *const kinds_of_frames[] = {
    "unwound__recurse", "unwound__alloca", "unwound__aligned", "unwound__arguments",
    "unwound__sort",    "unwound__large",  "unwound__mixture",
};

static void every_kind_of_frame(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof kinds_of_frames / sizeof *kinds_of_frames; i++) {
        reset_walks();
        (void)function_of(kinds_of_frames[i])(100, walk_here);
        agree();
        assert_true(met(kinds_of_frames[i]));
        if (!can_walk_below_handlers())
            continue;
        (void)function_of(kinds_of_frames[i])(100, walk_below_a_handler);
        agree();
        assert_true(met(kinds_of_frames[i]));
    }
}

static void a_deep_recursion_has_all_its_frames(void **state)
{
    (void)state;
    unwound recurse = function_of("unwound__recurse");
    int in_it = 0;
    reset_walks();
    (void)recurse(250, walk_here);
    agree();
    for (int i = 0; i < walks.ours.count; i++) {
        const struct code_function *function = &walks.ours.function[i];

        if (function->image &&
            function->start + code_image__bias(function->image) == (uintptr_t)recurse)
            in_it++;
    }
    assert_int_equal(in_it, 251);
}

/* From every instruction, its function's first and last ones and all of libc's on the way. */
static void every_instruction(void **state)
{
    (void)state;
    if (!CAN_TRAP)
        skip();
    for (size_t i = 0; i < sizeof kinds_of_frames / sizeof *kinds_of_frames; i++) {
        unwound function = function_of(kinds_of_frames[i]);

        for (int through = 0; through < 2; through++) {
            reset_walks();
            steps_left = 4000;
            through_a_handler = through;
            (void)raise(SIGALRM);
            (void)function(3, do_nothing);
            steps_left = 0;
            agree();
            assert_true(walks.unclear < walks.compared);
        }
    }
    through_a_handler = false;
}

static void frame_pointers_where_there_is_no_table(void **state)
{
    (void)state;
    if (unwind_engine__default() != UNWIND_WITH_TABLES)
        skip(); /* an arm64 frame does not end where its frame pointer is */
    reset_walks();
    (void)function_of("unwound__chain")(1, walk_here);
    assert_int_equal(walks.ours.end, UNWIND_END);
    assert_true(met("unwound__chain"));
}

static void *walk_in_a_thread(void *unused)
{
    walks.stack_end = end_of_own_stack();
    (void)function_of("unwound__alloca")(50, walk_here);
    return unused;
}

static void a_thread_ends_where_it_was_cloned(void **state)
{
    (void)state;
    pthread_t thread;
    reset_walks();
    assert_int_equal(pthread_create(&thread, NULL, walk_in_a_thread, NULL), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    agree();
    assert_true(met("unwound__alloca"));
}

/* A handler on a stack of its own: what it interrupted lies beyond the stack that was named. */
static void nothing_beyond_the_stack_is_read(void **state)
{
    (void)state;
    static _Alignas(16) char room[256 * 1024];
    stack_t own = {.ss_sp = room, .ss_size = sizeof room}, before;
    if (!HANDLERS_RUN_AT_ONCE || !can_walk_below_handlers())
        skip();
    reset_walks();
    walks.stack_end = (uint64_t)(uintptr_t)room + sizeof room;
    on(SIGUSR2, on_nested, SA_ONSTACK);
    assert_int_equal(sigaltstack(&own, &before), 0);
    (void)walk_below_a_handler();
    assert_int_equal(sigaltstack(&before, NULL), 0);
    on(SIGUSR2, on_nested, 0);
    assert_int_equal(walks.ours.end, UNWIND_BAD_FRAME);
    for (int i = 0; i < walks.ours.count; i++)
        assert_true(walks.ours.sp[i] < walks.stack_end);
}

static void registers_that_cannot_be(void **state)
{
    (void)state;
    uint64_t pc = (uint64_t)(uintptr_t)raise;
    _Alignas(16) uint64_t stack[64] = {0};
    uint64_t low = (uint64_t)(uintptr_t)stack, end = low + sizeof stack;
    struct frame_registers registers = {.pc = pc, .sp = low};
    struct code_function function;
    /* sp at, beyond and just before the end, and not aligned */
    const uint64_t bad[] = {end, end + 8, UINT64_MAX - 7, low + 4};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        registers.sp = bad[i];
        assert_int_equal(code_images__step(images, &registers, end, false, &function),
                         UNWIND_BAD_FRAME);
        assert_int_equal(registers.pc, pc);
        assert_int_equal(registers.sp, bad[i]);
    }
    registers.pc = low;
    assert_int_equal(code_images__step(images, &registers, end, false, &function),
                     UNWIND_UNKNOWN_CODE);
    assert_null(function.image);
    registers.pc = 0;
    assert_int_equal(code_images__step(images, &registers, end, true, NULL), UNWIND_UNKNOWN_CODE);
    assert_false(code_images__find(images, UINT64_MAX, &function));
    assert_false(code_images__find(images, UINT64_MAX, NULL));
    assert_true(code_images__find(images, pc, NULL));
}

static void what_an_address_is_in(void **state)
{
    (void)state;
    struct code_function function;
    char path[4096];
    assert_true(code_images__find(images, (uint64_t)(uintptr_t)what_an_address_is_in, &function));
    assert_non_null(realpath("/proc/self/exe", path));
    assert_string_equal(code_image__path(function.image), path);
    assert_int_equal(function.start + code_image__bias(function.image),
                     (uintptr_t)what_an_address_is_in);
    assert_true(function.size > 0);
    assert_true(strlen(code_image__build_id(function.image)) % 2 == 0);
    assert_true(code_image__start(function.image) <= (uintptr_t)what_an_address_is_in);
    assert_true(code_image__end(function.image) > (uintptr_t)what_an_address_is_in);
}

static void the_vdso_is_an_image(void **state)
{
    (void)state;
    uint64_t vdso = getauxval(AT_SYSINFO_EHDR);
    struct code_function function = {0};
    /* Its code begins somewhere in its first pages. */
    for (uint64_t at = vdso; vdso && at < vdso + 0x3000 && !function.size; at += 16)
        (void)code_images__find(images, at, &function);
    if (!vdso)
        skip();
    assert_non_null(function.image);
    assert_string_equal(code_image__path(function.image), "[vdso]");
    assert_int_equal(code_image__start(function.image), vdso);
}

/* Comes, goes and comes again: what is kept does not grow by it. */
static void libraries_come_and_go(void **state)
{
    (void)state;
    struct code_function function;
    struct code_images_count first, last;
    uint64_t address = (uint64_t)(uintptr_t)function_of("unwound__sort");
    assert_true(code_images__find(images, address, &function));
    assert_non_null(strstr(code_image__path(function.image), "unwound"));
    first = code_images__count(images);
    for (int i = 0; i < 50; i++) {
        assert_int_equal(dlclose(library), 0);
        library = NULL;
        assert_int_equal(code_images__refresh(images), 0);
        assert_false(code_images__find(images, address, &function));
        assert_int_equal(code_images__count(images).mapped, first.mapped - 1);
        library = dlopen(UNWOUND_CODE, RTLD_LAZY);
        assert_non_null(library);
        assert_int_equal(code_images__refresh(images), 0);
        address = (uint64_t)(uintptr_t)function_of("unwound__sort");
        assert_true(code_images__find(images, address, &function));
    }
    last = code_images__count(images);
    assert_int_equal(last.mapped, first.mapped);
    assert_int_equal(last.bytes, first.bytes);
    assert_int_equal(last.dropped, 0);
    if (getauxval(AT_SYSINFO_EHDR)) /* emulation maps a library elsewhere each time */
        assert_true(last.gone < 50);
    reset_walks();
    (void)function_of("unwound__sort")(3, walk_here);
    agree();
}

static int begin(void **state)
{
    struct code_function function;

    (void)state;
    images = code_images__new();
    assert_non_null(images);
    assert_int_equal(code_images__use(images, engine), 0);
    assert_int_equal(code_images__engine(images), engine);
    assert_int_equal(code_images__refresh(images), 0);
    library = dlopen(UNWOUND_CODE, RTLD_LAZY);
    assert_non_null(library);
    assert_false(
        code_images__find(images, (uint64_t)(uintptr_t)function_of("unwound__sort"), &function));
    assert_int_equal(code_images__refresh(images), 0);
    on(SIGUSR1, on_walk, 0);
    on(SIGUSR2, on_nested, 0);
    on(SIGALRM, on_start_stepping, 0);
    on(SIGTRAP, on_step, 0);
    return 0;
}

static int end(void **state)
{
    (void)state;
    code_images__delete(images);
    return dlclose(library);
}

static const char *const engines[] = {
    [UNWIND_WITH_TABLES] = "tables",
    [UNWIND_WITH_LIBUNWIND] = "libunwind",
};

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_instruction), /* first: no call has gone through the linker yet */
        cmocka_unit_test(every_kind_of_frame),
        cmocka_unit_test(a_deep_recursion_has_all_its_frames),
        cmocka_unit_test(frame_pointers_where_there_is_no_table),
        cmocka_unit_test(a_thread_ends_where_it_was_cloned),
        cmocka_unit_test(nothing_beyond_the_stack_is_read),
        cmocka_unit_test(registers_that_cannot_be),
        cmocka_unit_test(what_an_address_is_in),
        cmocka_unit_test(the_vdso_is_an_image),
        cmocka_unit_test(libraries_come_and_go),
    };
    int failed = 0;
    for (engine = UNWIND_WITH_TABLES; engine <= UNWIND_WITH_LIBUNWIND; engine++)
        if (engine != UNWIND_WITH_TABLES || unwind_engine__default() == UNWIND_WITH_TABLES)
            failed += cmocka_run_group_tests_name(engines[engine], tests, begin, end);
    return failed;
}
