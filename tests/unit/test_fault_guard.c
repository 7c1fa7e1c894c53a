/* Faults in guarded stretches end these and nothing else; all others are the host's. */
#include "child.h"
#include "native/fault_guard.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

/* cmocka.h needs the others before it. */
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#define THREADS   4
#define STACK     (64u << 10)
#define PAGE      4096u
#define HOST_EXIT 42

/* These sanitizers put their own look-outs on the way to a host's handler, and the thread
 * sanitizer's cannot be left by a jump where a handler of another signal runs. */
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#else
#define SANITIZED 0
#endif
#ifdef __SANITIZE_THREAD__
#define HANDLED_FAULTS 0
#else
#define HANDLED_FAULTS 2
#endif

static char *nowhere; /* a page that may not be read */

static int setup(void **state)
{
    (void)state;
    nowhere = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return nowhere == MAP_FAILED ? -1 : 0;
}

static char read_byte(const char *at)
{
    return *(const volatile char *)at;
}

/* 1 if reading there is a fault. */
static int reads_badly(const char *at)
{
    struct fault_guard guard;
    volatile int bad = 0;
    if (fault_guard__enter(&guard) == 0)
        (void)read_byte(at);
    else
        bad = 1;
    fault_guard__leave(&guard);
    return bad;
}

static void a_fault_ends_the_stretch(void **state)
{
    (void)state;
    const char good = 'g';
    assert_int_equal(fault_guard__install(), 0);
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(reads_badly(nowhere), 1);
        assert_int_equal(reads_badly(&good), 0);
        assert_null(fault_guard_current);
    }
    /* Not even an address: a fault of another kind. */
    assert_int_equal(reads_badly((const char *)(uintptr_t)UINT64_C(0xdead000000000000)), 1);
    assert_int_equal(reads_badly((const char *)(uintptr_t)16), 1);
    fault_guard__remove();
}

static void guards_nest(void **state)
{
    (void)state;
    struct fault_guard outer;
    volatile int inner_bad = 0, outer_bad = 0;
    assert_int_equal(fault_guard__install(), 0);
    if (fault_guard__enter(&outer) == 0) {
        inner_bad = reads_badly(nowhere);
        assert_ptr_equal(fault_guard_current, &outer);
        (void)read_byte(nowhere);
    } else {
        outer_bad = 1;
    }
    fault_guard__leave(&outer);
    assert_int_equal(inner_bad, 1);
    assert_int_equal(outer_bad, 1);
    assert_null(fault_guard_current);
    fault_guard__remove();
}

static void the_mask_is_as_it_was(void **state)
{
    (void)state;
    sigset_t before, after;
    assert_int_equal(fault_guard__install(), 0);
    sigemptyset(&before);
    sigaddset(&before, SIGUSR2);
    assert_int_equal(pthread_sigmask(SIG_SETMASK, &before, NULL), 0);
    assert_int_equal(reads_badly(nowhere), 1);
    assert_int_equal(pthread_sigmask(SIG_SETMASK, NULL, &after), 0);
    assert_int_equal(sigismember(&after, SIGUSR2), 1);
    assert_int_equal(sigismember(&after, SIGSEGV), 0);
    assert_int_equal(sigismember(&after, SIGBUS), 0);
    sigemptyset(&before);
    assert_int_equal(pthread_sigmask(SIG_SETMASK, &before, NULL), 0);
    fault_guard__remove();
}

static void a_mapping_that_lost_its_file(void **state)
{
    (void)state;
    int fd = memfd_create("short", MFD_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, 2 * PAGE), 0);
    char *mapped = mmap(NULL, 2 * PAGE, PROT_READ, MAP_SHARED, fd, 0);
    assert_ptr_not_equal(mapped, MAP_FAILED);
    assert_int_equal(fault_guard__install(), 0);
    assert_int_equal(reads_badly(mapped + PAGE), 0);
    assert_int_equal(ftruncate(fd, PAGE), 0);
    assert_int_equal(reads_badly(mapped), 0);
    assert_int_equal(reads_badly(mapped + PAGE), 1);
    fault_guard__remove();
    (void)munmap(mapped, 2 * PAGE);
    (void)close(fd);
}

/* ---- threads, and a stack of their own for handlers ---- */

static volatile sig_atomic_t caught_in_handler;

static void read_in_handler(int signal)
{
    (void)signal;
    caught_in_handler += reads_badly(nowhere);
}

static void *fault_often(void *context)
{
    stack_t stack = {.ss_sp = malloc(STACK), .ss_size = STACK};
    uintptr_t bad = 0;
    if (stack.ss_sp == NULL || sigaltstack(&stack, NULL) != 0)
        return NULL;
    for (int i = 0; i < 500; i++) {
        bad += (uintptr_t)reads_badly(nowhere);
        bad += (uintptr_t)reads_badly(context);
    }
    /* Twice: after the first the stack must be free again. */
    for (int i = 0; i < HANDLED_FAULTS; i++)
        (void)raise(SIGUSR1);
    stack.ss_flags = SS_DISABLE;
    (void)sigaltstack(&stack, NULL);
    free(stack.ss_sp);
    return (void *)bad;
}

static void threads_have_their_own(void **state)
{
    (void)state;
    char good = 'g';
    struct sigaction action = {.sa_handler = read_in_handler, .sa_flags = SA_ONSTACK}, before;
    pthread_t threads[THREADS];
    void *bad[THREADS];
    assert_int_equal(fault_guard__install(), 0);
    assert_int_equal(sigaction(SIGUSR1, &action, &before), 0);
    caught_in_handler = 0;
    assert_int_equal(pthread_create(&threads[0], NULL, fault_often, &good), 0);
    assert_int_equal(pthread_join(threads[0], &bad[0]), 0);
    assert_int_equal((uintptr_t)bad[0], 500);
    assert_int_equal(caught_in_handler, HANDLED_FAULTS);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, fault_often, &good), 0);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], &bad[i]), 0);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal((uintptr_t)bad[i], 500);
    assert_int_equal(sigaction(SIGUSR1, &before, NULL), 0);
    fault_guard__remove();
}

/* ---- the host's handler ---- */

static void check_and_exit(int signal, siginfo_t *info, void *context)
{
    const ucontext_t *at = context;
    sigset_t mask;
    bool right =
        signal == SIGSEGV && info->si_addr == nowhere && info->si_code == SEGV_ACCERR && at != NULL;
#ifdef __x86_64__
    right = right && at->uc_mcontext.gregs[REG_RIP] != 0;
#endif
    (void)pthread_sigmask(SIG_SETMASK, NULL, &mask);
    /* Its own mask, and the signal itself. */
    right = right && sigismember(&mask, SIGUSR2) && !sigismember(&mask, SIGUSR1) &&
            sigismember(&mask, SIGSEGV);
    _exit(right ? HOST_EXIT : 1);
}

static int fault_of_the_host(void)
{
    struct sigaction host = {.sa_sigaction = check_and_exit, .sa_flags = SA_SIGINFO};
    sigemptyset(&host.sa_mask);
    sigaddset(&host.sa_mask, SIGUSR2);
    if (sigaction(SIGSEGV, &host, NULL) != 0 || fault_guard__install() != 0 ||
        reads_badly(nowhere) != 1)
        return 2;
    (void)read_byte(nowhere);
    return 3;
}

static volatile sig_atomic_t plain_calls;

static void count_and_allow(int signal)
{
    (void)signal;
    if (++plain_calls > 5)
        _exit(4);
    (void)mprotect(nowhere, PAGE, PROT_READ);
}

/* A handler of the plain kind, which mends what was wrong. */
static int fault_of_a_plain_host(void)
{
    struct sigaction host = {.sa_handler = count_and_allow};
    if (sigaction(SIGSEGV, &host, NULL) != 0 || fault_guard__install() != 0)
        return 2;
    (void)read_byte(nowhere);
    return plain_calls == 1 && reads_badly(nowhere) == 0 ? HOST_EXIT : 3;
}

static int fault_of_a_host_without_a_handler(void)
{
    (void)signal(SIGSEGV, SIG_DFL);
    if (fault_guard__install() != 0 || reads_badly(nowhere) != 1)
        return 2;
    (void)read_byte(nowhere);
    return 3;
}

/* For one fault only: the guarded ones do not count. */
static int fault_of_a_host_that_resets(void)
{
    struct sigaction host = {.sa_handler = count_and_allow, .sa_flags = (int)SA_RESETHAND};
    if (sigaction(SIGSEGV, &host, NULL) != 0 || fault_guard__install() != 0 ||
        reads_badly(nowhere) != 1 || reads_badly(nowhere) != 1)
        return 2;
    (void)read_byte(nowhere);
    (void)mprotect(nowhere, PAGE, PROT_NONE);
    if (plain_calls != 1 || reads_badly(nowhere) != 1)
        return 3;
    (void)read_byte(nowhere);
    return 5;
}

/* A signal that is sent is no fault, wherever it comes. */
static int sent_in_a_stretch(void)
{
    struct sigaction host = {.sa_handler = count_and_allow};
    struct fault_guard guard;
    volatile int bad = 0;
    if (sigaction(SIGSEGV, &host, NULL) != 0 || fault_guard__install() != 0)
        return 2;
    if (fault_guard__enter(&guard) == 0)
        (void)raise(SIGSEGV);
    else
        bad = 1;
    fault_guard__leave(&guard);
    return plain_calls == 1 && !bad ? HOST_EXIT : 4;
}

static int sent_without_a_handler(void)
{
    (void)signal(SIGSEGV, SIG_DFL);
    if (fault_guard__install() != 0)
        return 2;
    (void)raise(SIGSEGV);
    return 3;
}

static int sent_where_it_is_ignored(void)
{
    (void)signal(SIGSEGV, SIG_IGN);
    if (fault_guard__install() != 0)
        return 2;
    (void)raise(SIGSEGV);
    return reads_badly(nowhere) == 1 ? HOST_EXIT : 3;
}

static void others_go_to_the_host(void **state)
{
    (void)state;
    if (SANITIZED)
        skip();
    assert_int_equal(run_child(fault_of_the_host), HOST_EXIT);
    assert_int_equal(run_child(fault_of_a_plain_host), HOST_EXIT);
    assert_int_equal(run_child(fault_of_a_host_without_a_handler), 128 + SIGSEGV);
    assert_int_equal(run_child(fault_of_a_host_that_resets), 128 + SIGSEGV);
    assert_int_equal(run_child(sent_in_a_stretch), HOST_EXIT);
    assert_int_equal(run_child(sent_without_a_handler), 128 + SIGSEGV);
    assert_int_equal(run_child(sent_where_it_is_ignored), HOST_EXIT);
}

static void it_comes_out_again(void **state)
{
    (void)state;
    struct sigaction before[2], after[2];
    assert_int_equal(sigaction(SIGSEGV, NULL, &before[0]), 0);
    assert_int_equal(sigaction(SIGBUS, NULL, &before[1]), 0);
    assert_int_equal(fault_guard__install(), 0);
    assert_int_equal(fault_guard__install(), 0);
    assert_int_equal(sigaction(SIGSEGV, NULL, &after[0]), 0);
    assert_true(after[0].sa_sigaction != before[0].sa_sigaction);
    fault_guard__remove();
    fault_guard__remove();
    assert_int_equal(sigaction(SIGSEGV, NULL, &after[0]), 0);
    assert_int_equal(sigaction(SIGBUS, NULL, &after[1]), 0);
    for (int i = 0; i < 2; i++) {
        assert_true(after[i].sa_sigaction == before[i].sa_sigaction);
        assert_int_equal(after[i].sa_flags & ~0x04000000, before[i].sa_flags & ~0x04000000);
    }
}

/* Who came before it stays, and it does not pass on to who passes on to it. */
static void another_before_it_stays(void **state)
{
    (void)state;
    struct sigaction another = {.sa_handler = count_and_allow}, ours, now;
    assert_int_equal(fault_guard__install(), 0);
    assert_int_equal(sigaction(SIGSEGV, &another, &ours), 0);
    assert_int_equal(fault_guard__install(), -EBUSY);
    assert_int_equal(sigaction(SIGSEGV, NULL, &now), 0);
    assert_true(now.sa_handler == count_and_allow);
    assert_int_equal(sigaction(SIGSEGV, &ours, NULL), 0);
    assert_int_equal(fault_guard__install(), 0);
    assert_int_equal(reads_badly(nowhere), 1);
    fault_guard__remove();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_fault_ends_the_stretch), cmocka_unit_test(guards_nest),
        cmocka_unit_test(the_mask_is_as_it_was),    cmocka_unit_test(a_mapping_that_lost_its_file),
        cmocka_unit_test(threads_have_their_own),   cmocka_unit_test(others_go_to_the_host),
        cmocka_unit_test(it_comes_out_again),       cmocka_unit_test(another_before_it_stays),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
