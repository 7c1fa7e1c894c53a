/* What is special about steps with libunwind: they need no lock of the loader, one thread takes
 * them at a time, and a fault within a step may be left. That steps lead to the right frames,
 * test_code_images says. */
#include "native/unwind/code_images.h"
#include "tests/unit/unwound_code.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

/* cmocka.h needs the others before it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#define FRAMES_MAX  100
#define STACK_BYTES (64u << 10) /* as much as the frames here need, and less than a thread has */
#define THREADS     4
#define WALKS       300
#define RECURSION   20

static struct code_images *images;
static void *library;
static unwound recurse;
static pthread_barrier_t before, after;

/* The walk in the calling thread's last handler. */
static __thread struct {
    struct frame_registers first_caller; /* of the interrupted function */
    struct preserved_registers preserved;
    int recursions; /* frames of unwound__recurse */
    enum unwind_result end;
} walk;

static void on_walk(int signal, siginfo_t *info, void *context)
{
    struct preserved_registers preserved;
    struct frame_registers registers;
    uint64_t stack_end;
    int steps = 0;

    (void)signal, (void)info;
    frame_registers__of_context(&registers, &preserved, context);
    registers.interrupted = true;
    stack_end = registers.sp + STACK_BYTES;
    walk.recursions = 0;
    do {
        struct code_function function;

        walk.end =
            code_images__step(images, &registers, stack_end, !registers.interrupted, &function);
        if (function.image &&
            function.start + code_image__bias(function.image) == (uint64_t)(uintptr_t)recurse) {
            if (walk.recursions++ == 0) {
                walk.first_caller = registers;
                walk.preserved = preserved;
            }
        }
    } while (walk.end == UNWIND_STEPPED && steps++ < FRAMES_MAX);
}

static int walk_here(void)
{
    return raise(SIGUSR1);
}

static void *walk_beside_the_loader(void *recursions)
{
    (void)pthread_barrier_wait(&before);
    (void)recurse(RECURSION, walk_here);
    *(int *)recursions = walk.recursions;
    (void)pthread_barrier_wait(&after);
    return NULL;
}

static int hold_the_loader(struct dl_phdr_info *info, size_t bytes, void *unused)
{
    (void)info, (void)bytes, (void)unused;
    (void)pthread_barrier_wait(&before);
    (void)pthread_barrier_wait(&after);
    return 1;
}

/* Whoever needed the loader's lock would wait for ever. */
static void a_thread_in_the_loader_keeps_nobody_waiting(void **state)
{
    (void)state;
    pthread_t thread;
    int recursions = 0;
    assert_int_equal(pthread_barrier_init(&before, NULL, 2), 0);
    assert_int_equal(pthread_barrier_init(&after, NULL, 2), 0);
    assert_int_equal(pthread_create(&thread, NULL, walk_beside_the_loader, &recursions), 0);
    (void)dl_iterate_phdr(hold_the_loader, NULL);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(recursions, RECURSION + 1);
}

static void *walk_often(void *differing)
{
    for (int i = 0; i < WALKS; i++) {
        (void)recurse(RECURSION, walk_here);
        *(int *)differing += walk.end == UNWIND_BUSY ? walk.recursions > RECURSION + 1
                                                     : walk.recursions != RECURSION + 1;
    }
    return NULL;
}

/* A walk that has to give up has the frames up to there. */
static void many_threads_walk_at_once(void **state)
{
    (void)state;
    pthread_t threads[THREADS];
    int differing[THREADS] = {0};
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, walk_often, &differing[i]), 0);
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_int_equal(differing[i], 0);
    }
}

static sigjmp_buf point;

static void on_fault(int signal, siginfo_t *info, void *context)
{
    (void)signal, (void)info, (void)context;
    siglongjmp(point, 1);
}

/* A frame of the recursion whose stack cannot be read. */
static void *step_into_a_fault(void *unreadable)
{
    struct sigaction action = {.sa_flags = SA_SIGINFO}, host;
    struct preserved_registers preserved = {0};
    struct frame_registers registers = walk.first_caller;

    registers.sp = (uint64_t)(uintptr_t)unreadable;
    registers.preserved = &preserved;
    action.sa_sigaction = on_fault;
    (void)sigaction(SIGSEGV, &action, &host);
    if (sigsetjmp(point, 1) == 0) {
        (void)code_images__step(images, &registers, registers.sp + STACK_BYTES, true, NULL);
        fail_msg("the stack was read");
    }
    (void)sigaction(SIGSEGV, &host, NULL);
    return NULL;
}

static void *walk_once(void *end)
{
    (void)recurse(RECURSION, walk_here);
    *(enum unwind_result *)end = walk.end;
    return NULL;
}

static enum unwind_result end_in_another_thread(void)
{
    enum unwind_result end = UNWIND_END;
    pthread_t thread;

    assert_int_equal(pthread_create(&thread, NULL, walk_once, &end), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    return end;
}

static void a_fault_is_left_and_then_others_may_go_on(void **state)
{
    (void)state;
    void *unreadable = mmap(NULL, STACK_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(unreadable, MAP_FAILED);
    (void)recurse(RECURSION, walk_here);
    assert_int_equal(walk.recursions, RECURSION + 1);
    (void)step_into_a_fault(unreadable);
    assert_int_equal(end_in_another_thread(), UNWIND_BUSY);
    code_images__abandon_step(images);
    assert_int_not_equal(end_in_another_thread(), UNWIND_BUSY);
    code_images__abandon_step(images); /* once more is no harm */
    (void)recurse(RECURSION, walk_here);
    assert_int_equal(walk.recursions, RECURSION + 1);
    (void)munmap(unreadable, STACK_BYTES);
}

static int begin(void **state)
{
    struct sigaction action = {.sa_flags = SA_SIGINFO};

    (void)state;
    images = code_images__new();
    assert_non_null(images);
    assert_int_equal(code_images__use(images, UNWIND_WITH_LIBUNWIND), 0);
    library = dlopen(UNWOUND_CODE, RTLD_NOW);
    assert_non_null(library);
    *(void **)&recurse = dlsym(library, "unwound__recurse");
    assert_non_null(recurse);
    assert_int_equal(code_images__refresh(images), 0);
    action.sa_sigaction = on_walk;
    return sigaction(SIGUSR1, &action, NULL);
}

static int end(void **state)
{
    (void)state;
    code_images__delete(images);
    return dlclose(library);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_thread_in_the_loader_keeps_nobody_waiting),
        cmocka_unit_test(many_threads_walk_at_once),
        cmocka_unit_test(a_fault_is_left_and_then_others_may_go_on),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
