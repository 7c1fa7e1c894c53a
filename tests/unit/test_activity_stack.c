/* Logical stacks as a reader outside sees them: pushes and pops of all kinds, and what programs do
 * to stacks. */
#include "native/activity/segment_reader.h"
#include "native/activity/treadle.h"
#include "native/fault_guard.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* cmocka.h needs the others before it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "logical_stack.h"
/* clang-format on */

static void frames_are_seen_with_their_parameters(void **state)
{
    (void)state;
    struct segment_reader *reader = watched();

    treadle_push("query");
    treadle_push_with("scan", "ORDERS");
    treadle_push_number("batch", -42);
    assert_string_equal(stack_text(reader), "query/scan ORDERS/batch -42");
    treadle_pop();
    assert_string_equal(stack_text(reader), "query/scan ORDERS");
    treadle_pop();
    treadle_push_with("scan", NULL);
    assert_string_equal(stack_text(reader), "query/scan");
    treadle_pop();
    treadle_pop();
    assert_string_equal(stack_text(reader), "");
    treadle_pop();
    assert_string_equal(stack_text(reader), "");
    unwatched(reader);
}

static void a_scope_ends_with_its_block(void **state)
{
    (void)state;
    struct segment_reader *reader = watched();

    {
        treadle_scope("outer");
        {
            treadle_scope_with("scan", "ITEMS");
            treadle_scope_number("row", 7);
            treadle_push("left open");
            assert_string_equal(stack_text(reader), "outer/scan ITEMS/row 7/left open");
        }
        assert_string_equal(stack_text(reader), "outer");
    }
    assert_string_equal(stack_text(reader), "");
    unwatched(reader);
}

static void a_long_parameter_is_cut_and_counted(void **state)
{
    (void)state;
    struct segment_reader *reader = watched();
    uint64_t before = segment_reader__losses(reader).cut_parameters;
    const char *volatile long_text = "0123456789012345678901234567890123456789";
    const char *volatile fits = "01234567890123456789012345678901";

    treadle_push_with("scan", long_text);
    assert_string_equal(stack_text(reader), "scan 01234567890123456789012345678901");
    treadle_pop();
    treadle_push_with("scan", fits);
    assert_string_equal(stack_text(reader), "scan 01234567890123456789012345678901");
    treadle_pop();
    assert_int_equal(segment_reader__losses(reader).cut_parameters - before, 1);
    unwatched(reader);
}

/* Those that cannot be told apart are one, which is said. */
static void a_long_identifier_is_cut_and_counted(void **state)
{
    (void)state;
    static const char fits[] = "012345678901234567890123456789012345678901234567890123456789";
    static const char one[] = "012345678901234567890123456789012345678901234567890123456789 one";
    static const char two[] = "012345678901234567890123456789012345678901234567890123456789 two";
    struct segment_reader *reader = watched();
    uint64_t before = segment_reader__losses(reader).cut_identifiers;

    for (unsigned i = 0; i < 3; i++) {
        const char *const texts[] = {fits, one, two};

        treadle_push(texts[i]);
        assert_string_equal(stack_text(reader), fits);
        treadle_pop();
    }
    assert_int_equal(segment_reader__losses(reader).cut_identifiers - before, 2);
    unwatched(reader);
}

/* A character of two to four bytes that the cut went through is gone; one that fits is not. */
static void a_text_is_cut_between_characters(void **state)
{
    (void)state;
#define TWENTY_EIGHT "0123456789012345678901234567"
    static const char *const texts[][2] = {
        {TWENTY_EIGHT "890\xc3\xa9", TWENTY_EIGHT "890"},
        {TWENTY_EIGHT "89\xe2\x82\xac", TWENTY_EIGHT "89"},
        {TWENTY_EIGHT "890\xe2\x82\xac", TWENTY_EIGHT "890"},
        {TWENTY_EIGHT "8\xf0\x9d\x84\x9e", TWENTY_EIGHT "8"},
        {TWENTY_EIGHT "\xf0\x9d\x84\x9e", TWENTY_EIGHT "\xf0\x9d\x84\x9e"},
        {TWENTY_EIGHT "89\xc3\xa9", TWENTY_EIGHT "89\xc3\xa9"},
        {TWENTY_EIGHT "8\xe2\x82\xac", TWENTY_EIGHT "8\xe2\x82\xac"},
    };
    static char identifiers[sizeof(texts) / sizeof(texts[0])][80];
    struct segment_reader *reader = watched();

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        char expected[128];

        snprintf(identifiers[i], sizeof(identifiers[i]), TWENTY_EIGHT "%s", texts[i][0]);
        snprintf(expected, sizeof(expected), TWENTY_EIGHT "%s %s", texts[i][1], texts[i][1]);
        treadle_push_with(identifiers[i], texts[i][0]);
        assert_string_equal(stack_text(reader), expected);
        treadle_pop();
    }
    unwatched(reader);
#undef TWENTY_EIGHT
}

/* Each time, and what was looked up after it, too. */
static void an_empty_identifier_is_other_and_counted(void **state)
{
    (void)state;
    struct segment_reader *reader = watched();
    uint64_t before = segment_reader__losses(reader).lost_identifiers;

    for (unsigned i = 0; i < 3; i++) {
        treadle_push("");
        assert_string_equal(stack_text(reader), "(other)");
        treadle_push("named");
        assert_string_equal(stack_text(reader), "(other)/named");
        treadle_pop();
        treadle_pop();
    }
    assert_int_equal(segment_reader__losses(reader).lost_identifiers - before, 3);
    unwatched(reader);
}

static void what_is_deeper_than_the_stack_is_counted(void **state)
{
    (void)state;
    struct segment_reader *reader = watched();
    uint64_t before = segment_reader__losses(reader).lost_frames;

    for (unsigned i = 0; i < TREADLE_FRAMES + 3; i++)
        treadle_push("deep");
    assert_int_equal(segment_reader__losses(reader).lost_frames - before, 3);
    for (unsigned i = 0; i < 3; i++)
        treadle_pop();
    assert_string_equal(stack_text(reader), "deep/deep/deep/deep/deep/deep/deep/deep/deep/deep");
    for (unsigned i = 0; i < TREADLE_FRAMES - 1; i++)
        treadle_pop();
    assert_string_equal(stack_text(reader), "deep");
    treadle_pop();
    assert_string_equal(stack_text(reader), "");
    unwatched(reader);
}

/* What is open when a reader comes is not known, and does no harm. */
static void frames_from_before_a_watch_are_unknown(void **state)
{
    (void)state;
    struct segment_reader *reader = watched();
    treadle_mark mark;

    unwatched(reader);
    mark = treadle_push("unknown");
    treadle_push("unknown, too");
    reader = watched();
    treadle_push("known");
    assert_string_equal(stack_text(reader), "known");
    treadle_pop();
    treadle_pop();
    treadle_push("next");
    assert_string_equal(stack_text(reader), "next");
    treadle_pop_to(mark);
    assert_string_equal(stack_text(reader), "");
    treadle_push("of this watch");
    unwatched(reader);
    treadle_pop();
    reader = watched();
    treadle_push("of the next");
    assert_string_equal(stack_text(reader), "of the next");
    treadle_pop();
    unwatched(reader);
}

__attribute__((noinline)) static void leave_open(unsigned frames)
{
    for (unsigned i = 0; i < frames; i++)
        treadle_push("left open");
    __asm__ volatile("" ::: "memory");
}

static void what_a_function_left_open_ends_with_the_next_of_its_caller(void **state)
{
    (void)state;
    struct segment_reader *reader = watched();

    treadle_push("caller");
    leave_open(2);
    assert_string_equal(stack_text(reader), "caller/left open/left open");
    treadle_push("next");
    assert_string_equal(stack_text(reader), "caller/next");
    treadle_pop();
    leave_open(3);
    treadle_pop();
    assert_string_equal(stack_text(reader), "");
    treadle_push("caller");
    leave_open(TREADLE_FRAMES + 5);
    treadle_push("next");
    assert_string_equal(stack_text(reader), "caller/next");
    treadle_pop();
    treadle_pop();
    assert_string_equal(stack_text(reader), "");
    unwatched(reader);
}

static jmp_buf point;

__attribute__((noinline)) static void jump_out(void)
{
    treadle_push("innermost");
    longjmp(point, 1);
}

__attribute__((noinline)) static void jump_out_twice(void)
{
    treadle_push("inner");
    jump_out();
}

static void longjmp_leaves_what_an_outer_frame_ends(void **state)
{
    (void)state;
    struct segment_reader *volatile reader = watched();
    volatile treadle_mark mark;

    mark = treadle_push("outer");
    if (setjmp(point) == 0)
        jump_out_twice();
    assert_string_equal(stack_text(reader), "outer/inner/innermost");
    treadle_pop();
    assert_string_equal(stack_text(reader), "");
    treadle_push("outer");
    if (setjmp(point) == 0)
        jump_out_twice();
    treadle_push("next");
    assert_string_equal(stack_text(reader), "outer/next");
    treadle_pop_to(mark);
    assert_string_equal(stack_text(reader), "");
    unwatched(reader);
}

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

struct other_thread {
    pthread_barrier_t pushed;
    pthread_barrier_t looked;
    pid_t tid;
};

static void *push_elsewhere(void *context)
{
    struct other_thread *other = context;

    other->tid = gettid();
    treadle_push("elsewhere");
    pthread_barrier_wait(&other->pushed);
    pthread_barrier_wait(&other->looked);
    return NULL;
}

static void each_thread_has_a_stack_and_gives_it_back(void **state)
{
    (void)state;
    struct segment_reader *reader = watched();
    struct other_thread other;
    pthread_t thread;

    pthread_barrier_init(&other.pushed, NULL, 2);
    pthread_barrier_init(&other.looked, NULL, 2);
    treadle_push("here");
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(pthread_create(&thread, NULL, push_elsewhere, &other), 0);
        pthread_barrier_wait(&other.pushed);
        assert_string_equal(stack_text(reader), "here");
        assert_string_equal(stack_text_of(reader, other.tid), "elsewhere");
        pthread_barrier_wait(&other.looked);
        pthread_join(thread, NULL);
        assert_string_equal(stack_text_of(reader, other.tid), "(no stack)");
        assert_int_equal(segment_reader__slots(reader), 2);
    }
    treadle_pop();
    unwatched(reader);
}

static void *push_once(void *context)
{
    treadle_push("one of many");
    pthread_barrier_wait(context);
    pthread_barrier_wait(context);
    return NULL;
}

static void the_segment_grows_with_its_threads(void **state)
{
    (void)state;
    struct segment_reader *reader = watched();
    pthread_t threads[TREADLE_SLOTS_STEP * 2];
    unsigned count = sizeof threads / sizeof threads[0], seen = 0;
    pthread_barrier_t barrier;
    struct segment_stack stack;
    pthread_attr_t small;

    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 128 << 10);
    pthread_barrier_init(&barrier, NULL, count + 1);
    treadle_push("here");
    for (unsigned i = 0; i < count; i++)
        assert_int_equal(pthread_create(&threads[i], &small, push_once, &barrier), 0);
    pthread_barrier_wait(&barrier);
    for (uint32_t slot = 0; slot < segment_reader__slots(reader); slot++)
        seen += segment_reader__read(reader, slot, &stack) == SEGMENT_STACK && stack.depth == 1;
    pthread_barrier_wait(&barrier);
    for (unsigned i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(seen, count + 1);
    assert_int_equal(segment_reader__losses(reader).lost_threads, 0);
    treadle_pop();
    unwatched(reader);
}

static void *push_when_asked(void *context)
{
    struct other_thread *other = context;

    other->tid = gettid();
    for (unsigned round = 0; round < 4; round++) {
        pthread_barrier_wait(&other->looked);
        for (unsigned i = 0; i < 3; i++)
            treadle_push("when asked");
        pthread_barrier_wait(&other->pushed);
    }
    return NULL;
}

static void ask_to_push(struct other_thread *other)
{
    pthread_barrier_wait(&other->looked);
    pthread_barrier_wait(&other->pushed);
}

/* Each such thread is counted, once, and has a stack as soon as another gives its own back. */
static void a_thread_without_a_stack_gets_one_that_is_given_back(void **state)
{
    (void)state;
    struct segment_reader *reader = watched();
    uint64_t before = segment_reader__losses(reader).lost_threads;
    struct other_thread others[3];
    struct treadle_slot *taken[TREADLE_SLOTS];
    pthread_t threads[3];
    unsigned count = 0;

    for (unsigned i = 0; i < 3; i++) {
        pthread_barrier_init(&others[i].pushed, NULL, 2);
        pthread_barrier_init(&others[i].looked, NULL, 2);
        assert_int_equal(pthread_create(&threads[i], NULL, push_when_asked, &others[i]), 0);
    }
    ask_to_push(&others[0]);
    while ((taken[count] = treadle__claim(&treadle__process, INT32_MAX)) != NULL)
        count++;
    ask_to_push(&others[1]);
    ask_to_push(&others[2]);
    ask_to_push(&others[1]);
    assert_int_equal(segment_reader__losses(reader).lost_threads - before, 2);
    assert_string_equal(stack_text_of(reader, others[1].tid), "(no stack)");
    for (unsigned i = 0; i < 3; i++)
        ask_to_push(&others[0]);
    pthread_join(threads[0], NULL);
    ask_to_push(&others[1]);
    assert_string_equal(stack_text_of(reader, others[1].tid), "when asked/when asked/when asked");
    ask_to_push(&others[2]);
    assert_string_equal(stack_text_of(reader, others[2].tid), "(no stack)");
    ask_to_push(&others[1]);
    pthread_join(threads[1], NULL);
    ask_to_push(&others[2]);
    assert_string_equal(stack_text_of(reader, others[2].tid), "when asked/when asked/when asked");
    assert_int_equal(segment_reader__losses(reader).lost_threads - before, 2);
    ask_to_push(&others[2]);
    pthread_join(threads[2], NULL);
    while (count)
        taken[--count]->tid = 0;
    unwatched(reader);
}

static void the_segment_of_a_killed_process_can_be_read(void **state)
{
    (void)state;
    int ready[2], status;
    char byte;
    pid_t child;

    assert_int_equal(pipe(ready), 0);
    child = fork();
    if (child == 0) {
        struct segment_reader *own;

        treadle_push("first");
        treadle_pop();
        own = watched();
        (void)own;
        treadle_push("query");
        treadle_push_with("sort", "ORDERS");
        (void)!write(ready[1], "x", 1);
        pause();
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    char *path = segment_path(child);
    assert_non_null(path);
    char why[200];
    struct segment_reader *reader = segment_reader__open(path, why, sizeof why);
    assert_non_null(reader);
    assert_string_equal(stack_text_of(reader, child), "query/sort ORDERS");
    segment_reader__close(reader);
    unlink(path);
    free(path);
    close(ready[0]);
    close(ready[1]);
}

/* A reader that was killed cannot say that it is over. */
static void a_watch_ends_with_its_lease(void **state)
{
    (void)state;
    struct segment_reader *reader = watched();

    assert_int_equal(segment_reader__watch(reader, 0), 0);
    treadle__process.head->watch_until_ns = 1;
    assert_int_not_equal(treadle__process.head->watch, 0);
    for (unsigned i = 0; i < (1u << 20) + 2; i++) {
        treadle_push("a");
        treadle_pop();
    }
    assert_int_equal(treadle__process.head->watch, 0);
    segment_reader__close(reader);
}

static void two_readers_watch_and_the_last_one_ends_it(void **state)
{
    (void)state;
    struct segment_reader *one = watched(), *two = watched();

    unwatched(one);
    assert_int_not_equal(treadle__process.head->watch, 0);
    treadle_push("seen");
    assert_string_equal(stack_text(two), "seen");
    treadle_pop();
    unwatched(two);
    assert_int_equal(treadle__process.head->watch, 0);
}

static _Atomic bool stop_pushing;

static void *push_all_the_time(void *context)
{
    (void)context;
    for (int64_t i = 0; !stop_pushing; i++) {
        treadle_push_number("outer", i & 1);
        treadle_push_with("inner", i & 2 ? "a parameter of 32 bytes to tear" : "b");
        treadle_push("leaf");
        treadle_pop();
        treadle_pop();
        treadle_pop();
    }
    return NULL;
}

/* Whatever a reader sees of a thread that never rests is a stack that there was. */
static void no_torn_frame_is_seen(void **state)
{
    (void)state;
    static const char *const possible[] = {"",
                                           "outer 0",
                                           "outer 1",
                                           "outer 0/inner b",
                                           "outer 1/inner b",
                                           "outer 0/inner b/leaf",
                                           "outer 1/inner b/leaf",
                                           "outer 0/inner a parameter of 32 bytes to tear",
                                           "outer 1/inner a parameter of 32 bytes to tear",
                                           "outer 0/inner a parameter of 32 bytes to tear/leaf",
                                           "outer 1/inner a parameter of 32 bytes to tear/leaf"};
    struct segment_reader *reader = watched();
    unsigned seen = 0, torn = 0;
    struct segment_stack stack;
    pthread_t thread;

    stop_pushing = false;
    assert_int_equal(pthread_create(&thread, NULL, push_all_the_time, NULL), 0);
    while (seen < 100000)
        for (uint32_t slot = 0; slot < segment_reader__slots(reader); slot++) {
            enum segment_read read = segment_reader__read(reader, slot, &stack);
            bool found = false;

            seen++;
            torn += read == SEGMENT_TORN;
            if (read != SEGMENT_STACK || stack.tid == gettid())
                continue;
            const char *text = text_of(reader, &stack);
            for (size_t i = 0; i < sizeof possible / sizeof possible[0]; i++)
                found |= strcmp(text, possible[i]) == 0;
            if (!found)
                fail_msg("a stack that there never was: %s", text);
        }
    stop_pushing = true;
    pthread_join(thread, NULL);
    print_message("%u of %u looks gave up\n", torn, seen);
    unwatched(reader);
}

/* A frame that was written in part: not seen if it is the youngest, which may be half pushed; else
 * the stack is given up. */
static void a_frame_with_a_wrong_check_is_not_seen(void **state)
{
    (void)state;
    struct segment_reader *reader = watched();
    struct segment_stack stack;

    treadle_push_number("query", 1);
    treadle_push_with("scan", "ORDERS");
    treadle__slot->frames[1].parameter[0] ^= 1;
    assert_string_equal(stack_text(reader), "query 1");
    treadle__slot->frames[1].parameter[0] ^= 1;
    assert_string_equal(stack_text(reader), "query 1/scan ORDERS");
    treadle__slot->frames[0].parameter[0] ^= 1;
    assert_int_equal(segment_reader__read(reader, 0, &stack), SEGMENT_TORN);
    treadle__slot->frames[0].parameter[0] ^= 1;
    treadle__slot->frames[0].serial += 2;
    assert_int_equal(segment_reader__read(reader, 0, &stack), SEGMENT_TORN);
    treadle__slot->frames[0].serial -= 2;
    treadle_pop();
    treadle_pop();
    unwatched(reader);
}

/* A copy of the segment with one field of the head changed. */
static struct segment_reader *open_changed(size_t offset, uint32_t value, off_t bytes,
                                           char why[200])
{
    char path[] = "/tmp/treadle-changed-XXXXXX";
    size_t whole = TREADLE__BYTES_FOR(TREADLE_SLOTS_STEP);
    char *copy = malloc(whole);
    int fd = mkstemp(path);
    struct segment_reader *reader;

    memcpy(copy, treadle__process.head, whole);
    memcpy(copy + offset, &value, sizeof value);
    assert_int_equal(write(fd, copy, whole), (ssize_t)whole);
    assert_int_equal(ftruncate(fd, bytes ? bytes : (off_t)whole), 0);
    close(fd);
    free(copy);
    reader = segment_reader__open(path, why, 200);
    unlink(path);
    return reader;
}

static void a_head_that_cannot_be_is_refused(void **state)
{
    (void)state;
    static const struct {
        size_t offset;
        uint32_t value;
        const char *part;
    } changes[] = {
        {offsetof(struct treadle_head, magic), 0, "no segment"},
        {offsetof(struct treadle_head, format), 2,
         "format 2 of the program's treadle.h, expected 1"},
        {offsetof(struct treadle_head, byte_order), 1, "byte order"},
        {offsetof(struct treadle_head, slots_offset), UINT32_MAX - 7, "which cannot be"},
        {offsetof(struct treadle_head, slots_offset), 4, "which cannot be"},
        {offsetof(struct treadle_head, slot_bytes), 0, "which cannot be"},
        {offsetof(struct treadle_head, slot_bytes), 64, "which cannot be"},
        {offsetof(struct treadle_head, slots_max), UINT32_MAX, "which cannot be"},
        {offsetof(struct treadle_head, frames_max), 1000, "which cannot be"},
        {offsetof(struct treadle_head, frame_bytes), 8, "which cannot be"},
        {offsetof(struct treadle_head, frames_offset), 8, "which cannot be"},
        {offsetof(struct treadle_head, identifiers_offset), 3, "which cannot be"},
        {offsetof(struct treadle_head, identifier_bytes), 60, "which cannot be"},
    };
    struct segment_reader *reader = watched();
    char why[200];

    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        assert_null(open_changed(changes[i].offset, changes[i].value, 0, why));
        if (!strstr(why, changes[i].part))
            fail_msg("change %zu: %s", i, why);
    }
    assert_null(open_changed(offsetof(struct treadle_head, magic), 0, 100, why));
    unwatched(reader);
}

/* Frames, slots and identifiers of a later header may be larger, and the head has more fields. */
static void a_later_layout_of_the_same_format_is_read(void **state)
{
    (void)state;
    enum { FRAME = 96, SLOT = 128 + 4 * FRAME, TEXT = 128, HEAD = 8192 };
    struct segment_reader *reader = watched();
    char path[] = "/tmp/treadle-later-XXXXXX", why[200];
    static uint64_t words[(HEAD + 4 * TEXT + 2 * SLOT) / 8];
    char *bytes = (char *)words;
    struct treadle_head *head = (void *)bytes;
    int fd = mkstemp(path);

    treadle_push("query");
    treadle_push_number("row", 5);
    *head = *treadle__process.head;
    head->head_bytes = HEAD;
    head->identifiers_offset = HEAD;
    head->identifier_bytes = TEXT;
    head->identifiers_max = 4;
    head->slots_offset = HEAD + 4 * TEXT;
    head->slot_bytes = SLOT;
    head->frame_bytes = FRAME;
    head->frames_offset = 128;
    head->frames_max = 4;
    head->slots_max = 2;
    head->slots_used = 1;
    char *slot = bytes + head->slots_offset;
    memcpy(slot, treadle__slot, 64);
    for (unsigned i = 0; i < 2; i++) {
        struct treadle_frame frame = treadle__slot->frames[i];
        struct treadle_identifier *text = (void *)(bytes + HEAD + (i + 1) * TEXT);

        frame.what = TREADLE_WHAT(i + 1, frame.what >> 32 & 0xff, 0);
        frame.check = treadle__check(frame.serial, frame.place, frame.what, i ? 5 : 0);
        memcpy(slot + 128 + i * FRAME, &frame, sizeof frame);
        text->length = i ? 3 : 5;
        memcpy(text->text, i ? "row" : "query", 5 - 2 * i);
    }
    assert_int_equal(write(fd, bytes, sizeof words), sizeof words);
    close(fd);
    struct segment_reader *later = segment_reader__open(path, why, sizeof why);
    unlink(path);
    assert_non_null(later);
    assert_string_equal(stack_text(later), "query/row 5");
    segment_reader__close(later);
    treadle_pop();
    treadle_pop();
    unwatched(reader);
}

/* What the file lost while it was mapped is a fault for the reader alone. */
static void a_file_that_is_cut_is_a_guarded_fault(void **state)
{
    (void)state;
    struct segment_reader *reader = watched();
    char path[] = "/dev/shm/treadle-cut-XXXXXX", why[200];
    struct fault_guard guard;
    volatile bool faulted = false;
    int fd = mkstemp(path);

    assert_int_equal(write(fd, treadle__process.head, TREADLE__BYTES_FOR(TREADLE_SLOTS_STEP)),
                     (ssize_t)TREADLE__BYTES_FOR(TREADLE_SLOTS_STEP));
    struct segment_reader *cut = segment_reader__open(path, why, sizeof why);
    assert_non_null(cut);
    assert_int_equal(ftruncate(fd, 0), 0);
    assert_int_equal(fault_guard__install(), 0);
    if (fault_guard__enter(&guard) == 0)
        (void)stack_text(cut);
    else
        faulted = true;
    fault_guard__leave(&guard);
    fault_guard__remove();
    assert_true(faulted);
    segment_reader__close(cut);
    unlink(path);
    close(fd);
    unwatched(reader);
}

/* Only a file of the own user that no other can open. */
static void a_file_that_others_can_write_is_refused(void **state)
{
    (void)state;
    struct segment_reader *reader = watched();
    char path[] = "/tmp/treadle-open-XXXXXX", why[200];
    int fd = mkstemp(path);

    assert_int_equal(write(fd, treadle__process.head, 8192), 8192);
    assert_int_equal(fchmod(fd, 0622), 0);
    assert_null(segment_reader__open(path, why, sizeof why));
    assert_non_null(strstr(why, "mode 600"));
    unlink(path);
    close(fd);
    struct stat made;
    assert_int_equal(stat(segment_reader__path(reader), &made), 0);
    assert_int_equal(made.st_mode & 0777, 0600);
    unwatched(reader);
}

/* The format is a contract with tools and programs of other ages. */
static void the_format_is_what_it_was(void **state)
{
    (void)state;
    assert_int_equal(TREADLE_FORMAT, 1);
    assert_int_equal(sizeof(struct treadle_frame), 64);
    assert_int_equal(offsetof(struct treadle_frame, serial), 8);
    assert_int_equal(offsetof(struct treadle_frame, place), 16);
    assert_int_equal(offsetof(struct treadle_frame, what), 24);
    assert_int_equal(offsetof(struct treadle_frame, parameter), 32);
    assert_int_equal(sizeof(struct treadle_slot), 64 + 10 * 64);
    assert_int_equal(offsetof(struct treadle_slot, tid), 8);
    assert_int_equal(offsetof(struct treadle_slot, watch), 12);
    assert_int_equal(offsetof(struct treadle_slot, above), 16);
    assert_int_equal(offsetof(struct treadle_slot, lost_frames), 24);
    assert_int_equal(offsetof(struct treadle_slot, frames), 64);
    assert_int_equal(sizeof(struct treadle_identifier), 64);
    assert_int_equal(offsetof(struct treadle_head, format), 8);
    assert_int_equal(offsetof(struct treadle_head, pid), 20);
    assert_int_equal(offsetof(struct treadle_head, start_ticks), 24);
    assert_int_equal(offsetof(struct treadle_head, identifiers_offset), 32);
    assert_int_equal(offsetof(struct treadle_head, slots_used), 72);
    assert_int_equal(offsetof(struct treadle_head, lost_threads), 80);
    assert_int_equal(offsetof(struct treadle_head, watch), 128);
    assert_int_equal(offsetof(struct treadle_head, watch_until_ns), 136);
    assert_int_equal(offsetof(struct treadle_head, pid_namespace), 200);
    assert_int_equal(offsetof(struct treadle_head, unrecorded), 208);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_are_seen_with_their_parameters),
        cmocka_unit_test(a_scope_ends_with_its_block),
        cmocka_unit_test(a_long_parameter_is_cut_and_counted),
        cmocka_unit_test(a_long_identifier_is_cut_and_counted),
        cmocka_unit_test(a_text_is_cut_between_characters),
        cmocka_unit_test(an_empty_identifier_is_other_and_counted),
        cmocka_unit_test(what_is_deeper_than_the_stack_is_counted),
        cmocka_unit_test(frames_from_before_a_watch_are_unknown),
        cmocka_unit_test(what_a_function_left_open_ends_with_the_next_of_its_caller),
        cmocka_unit_test(longjmp_leaves_what_an_outer_frame_ends),
        cmocka_unit_test(a_signal_handler_leaves_the_stack_as_it_was),
        cmocka_unit_test(what_a_handler_on_another_stack_left_open_ends_with_the_next_on_the_own),
        cmocka_unit_test(signals_between_any_two_instructions_do_no_harm),
        cmocka_unit_test(each_thread_has_a_stack_and_gives_it_back),
        cmocka_unit_test(the_segment_grows_with_its_threads),
        cmocka_unit_test(a_thread_without_a_stack_gets_one_that_is_given_back),
        cmocka_unit_test(the_segment_of_a_killed_process_can_be_read),
        cmocka_unit_test(a_watch_ends_with_its_lease),
        cmocka_unit_test(two_readers_watch_and_the_last_one_ends_it),
        cmocka_unit_test(no_torn_frame_is_seen),
        cmocka_unit_test(a_frame_with_a_wrong_check_is_not_seen),
        cmocka_unit_test(a_head_that_cannot_be_is_refused),
        cmocka_unit_test(a_later_layout_of_the_same_format_is_read),
        cmocka_unit_test(a_file_that_is_cut_is_a_guarded_fault),
        cmocka_unit_test(a_file_that_others_can_write_is_refused),
        cmocka_unit_test(the_format_is_what_it_was),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
