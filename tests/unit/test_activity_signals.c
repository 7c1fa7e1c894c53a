/* Logical stacks and handlers of signals, which push, pop and jump wherever they come. */
#include "native/activity/segment_reader.h"
#include "native/activity/treadle.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>

/* cmocka.h needs the others before it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "logical_stack.h"
/* clang-format on */

static struct segment_reader *seen_by_handler;
static char seen_in_handler[1024];
static volatile sig_atomic_t signals_handled;

static void on_signal(int number)
{
    (void)number;
    treadle_push("handler");
    treadle_push("deeper");
    treadle_pop();
    snprintf(seen_in_handler, sizeof seen_in_handler, "%s", stack_text(seen_by_handler));
    treadle_pop();
    signals_handled++;
}

static void a_signal_handler_leaves_the_stack_as_it_was(void **state)
{
    (void)state;
    struct segment_reader *reader = watched();
    struct sigaction action = {.sa_handler = on_signal};
    stack_t stack = {.ss_size = 65536};

    seen_by_handler = reader;
    for (unsigned round = 0; round < 2; round++) {
        /* Once on the own stack, once on another, which lies above or below it. */
        action.sa_flags = round ? SA_ONSTACK : 0;
        stack.ss_sp =
            mmap(NULL, stack.ss_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        assert_int_equal(sigaltstack(&stack, NULL), 0);
        assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
        treadle_push("main");
        raise(SIGUSR1);
        assert_string_equal(seen_in_handler, "main/handler");
        assert_string_equal(stack_text(reader), "main");
        treadle_pop();
        assert_string_equal(stack_text(reader), "");
    }
    unwatched(reader);
}

#define OTHER_STACK_BYTES ((size_t)2 << 20) /* a sanitizer takes most of one MiB */

static sigjmp_buf before_signal;
static char seen_after_jump[3][1024];

static void on_signal_that_jumps(int number)
{
    (void)number;
    treadle_push("handler");
    treadle_adopt("part", (struct treadle_chain){{1, 2}});
    treadle_push("deeper");
    siglongjmp(before_signal, 1);
}

__attribute__((noinline)) static void interrupted(void)
{
    treadle_push("interrupted");
    if (sigsetjmp(before_signal, 1) == 0)
        raise(SIGUSR1);
    treadle_pop();
    __asm__ volatile("" ::: "memory");
}

/* With an alternate stack that lies above its own. */
static void *jump_out_of_handlers(void *alternate)
{
    stack_t stack = {.ss_sp = alternate, .ss_size = OTHER_STACK_BYTES};

    assert_int_equal(sigaltstack(&stack, NULL), 0);
    treadle_push("outer");
    for (unsigned i = 0; i < 2; i++)
        interrupted();
    snprintf(seen_after_jump[0], sizeof seen_after_jump[0], "%s", stack_text(seen_by_handler));
    if (sigsetjmp(before_signal, 1) == 0)
        raise(SIGUSR1);
    treadle_push("next");
    snprintf(seen_after_jump[1], sizeof seen_after_jump[1], "%s", stack_text(seen_by_handler));
    treadle_pop();
    raise(SIGUSR2);
    snprintf(seen_after_jump[2], sizeof seen_after_jump[2], "%s", stack_text(seen_by_handler));
    stack.ss_flags = SS_DISABLE;
    assert_int_equal(sigaltstack(&stack, NULL), 0);
    return NULL;
}

/* As of a coroutine whose frame was dropped. */
static void on_signal_that_pops(int number)
{
    (void)number;
    treadle_pop();
}

static void what_a_handler_on_another_stack_left_open_ends_with_the_next_on_the_own(void **state)
{
    (void)state;
    struct segment_reader *reader = watched();
    struct sigaction jumps = {.sa_handler = on_signal_that_jumps, .sa_flags = SA_ONSTACK};
    struct sigaction pops = {.sa_handler = on_signal_that_pops, .sa_flags = SA_ONSTACK};
    char *stacks = mmap(NULL, 2 * OTHER_STACK_BYTES, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    pthread_attr_t below;
    pthread_t thread;

    seen_by_handler = reader;
    assert_int_equal(sigaction(SIGUSR1, &jumps, NULL), 0);
    assert_int_equal(sigaction(SIGUSR2, &pops, NULL), 0);
    pthread_attr_init(&below);
    assert_int_equal(pthread_attr_setstack(&below, stacks, OTHER_STACK_BYTES), 0);
    assert_int_equal(
        pthread_create(&thread, &below, jump_out_of_handlers, stacks + OTHER_STACK_BYTES), 0);
    pthread_join(thread, NULL);
    assert_string_equal(seen_after_jump[0], "outer");
    assert_string_equal(seen_after_jump[1], "outer/next");
    assert_string_equal(seen_after_jump[2], "outer");
    munmap(stacks, 2 * OTHER_STACK_BYTES);
    unwatched(reader);
}

/* A handler that comes at any point of pushes and pops. The signals are counted, for under a
 * sanitizer the handler takes longer than the interval, and the pushes get nearly no time. */
static void signals_between_any_two_instructions_do_no_harm(void **state)
{
    (void)state;
    struct segment_reader *reader = watched();
    struct sigaction action = {.sa_handler = on_signal};
    struct itimerspec often = {.it_value.tv_nsec = 20000, .it_interval.tv_nsec = 20000};
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
    timer_t timer;

    seen_by_handler = reader;
    assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
    assert_int_equal(timer_create(CLOCK_MONOTONIC, &event, &timer), 0);
    signals_handled = 0;
    timer_settime(timer, 0, &often, NULL);
    for (unsigned i = 0; i < 2000000 && signals_handled < 10000; i++) {
        treadle_push("a");
        treadle_push_number("b", (int64_t)i);
        treadle_pop();
        treadle_pop();
    }
    timer_delete(timer);
    treadle_push("a");
    treadle_push("b");
    assert_string_equal(stack_text(reader), "a/b");
    treadle_pop();
    treadle_pop();
    assert_string_equal(stack_text(reader), "");
    unwatched(reader);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_signal_handler_leaves_the_stack_as_it_was),
        cmocka_unit_test(what_a_handler_on_another_stack_left_open_ends_with_the_next_on_the_own),
        cmocka_unit_test(signals_between_any_two_instructions_do_no_harm),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
