/*
 * A program that has treadle.h, whose tree is known. Frames that it pushes have their parameter in
 * brackets; functions are in the tree with -finstrument-functions -fno-inline, and left out
 * without.
 *
 *     main
 *       serve                      3 calls
 *         [request GET]            3 pushes
 *           parse                  3
 *             [token 1]            3
 *             [token -2]           3
 *           store                  3
 *             [write]              3: a scope, left by return
 *               flush              3
 *       jumps                      2
 *         [outer]                  2
 *           leaves                 2: left by longjmp
 *             [inner]              2
 *               jump               2
 *           [after]                2
 *       marks                      1
 *         [marked]                 1: ended by its mark, once longjmp has left what is below
 *           climbs                 14: folded, so that all frames below are children of one node
 *             [level 12]           1: and so on to level 0, 13 frames, more than a sampler sees
 *         [unmarked]               1
 *       recurses                   5: folded
 *         [again]                  5: ditto
 *       forgets                    4
 *         [forgotten]              4: without a pop
 *       [found]                    1
 *       [held]                     1
 *         closes                   1: pops it, and so is over
 *       signals                    1
 *         [raised]                 1
 *           on_signal              2
 *             [in handler]         2
 *       fork_child                 1: pushes 1,000 times in the child
 *         [forking]                1
 *       begins                     1
 *         [chain one]              1
 *           [chain two]            1
 *       start_all                  1
 *
 * The three threads worker-1 to worker-3:
 *
 *     work
 *       [job N]                    10 N: N as in the thread's name
 *         step                     20 N: two of each
 *       [open]                     1: the thread ends in it
 *         [open too]               1
 *
 * Without functions the frames hang below each other as above. Then nothing says that a function
 * has returned: forgotten is pushed four times at one place, which is recursion.
 *
 * `many N`: N frames [batch 0] … below main.
 * `long`: texts that are longer than what is kept, twice, then ones that would be cut within a
 * character, and one without an identifier.
 * `deep N`: N times [down], each in the one before, all popped; then [up].
 * `shares`: prints how much CPU time the thread spent by its own clock, in ns, in [outer] and in
 * [inner] below it, without what is below each; and by the kernel's counters how many faults there
 * were in [touch], and voluntary switches in [nap].
 */
#include "native/activity/treadle.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LEVELS 12
/* What may be inlined, and what may not. */
#ifndef EITHER
#define EITHER static __attribute__((noinline))
#endif
#define APART static __attribute__((noinline))

static jmp_buf out;
static volatile int count;

EITHER void flush(void)
{
    count++;
}

EITHER void parse(void)
{
    treadle_push_number("token", 1);
    treadle_pop();
    treadle_push_number("token", -2);
    treadle_pop();
}

EITHER int store(void)
{
    treadle_scope("write");
    flush();
    return ++count;
}

EITHER void serve(void)
{
    treadle_push_with("request", "GET");
    parse();
    store();
    treadle_pop();
}

APART void jump(void)
{
    longjmp(out, 1);
}

APART void leaves(void)
{
    volatile char room[256];

    memset((char *)room, 1, sizeof(room));
    treadle_push("inner");
    jump();
}

APART void jumps(void)
{
    treadle_push("outer");
    if (setjmp(out)) {
        treadle_push("after");
        treadle_pop();
    } else {
        leaves();
    }
    treadle_pop();
}

APART void climbs(int level)
{
    if (level < 0)
        longjmp(out, 1);
    treadle_push_number("level", level);
    climbs(level - 1);
    count++;
}

APART void marks(void)
{
    volatile treadle_mark mark = treadle_push("marked");

    if (!setjmp(out))
        climbs(LEVELS);
    treadle_pop_to(mark);
    treadle_pop_to(mark); /* is over: nothing happens */
    treadle_push("unmarked");
    treadle_pop();
}

APART void recurses(int levels)
{
    treadle_scope("again");
    if (levels > 1)
        recurses(levels - 1);
    count++;
}

EITHER void forgets(void)
{
    treadle_push("forgotten");
    count++;
}

EITHER void closes(void)
{
    treadle_pop();
    count++;
}

static void on_signal(int number)
{
    (void)number;
    treadle_push("in handler");
    count++;
    treadle_pop();
}

APART void signals(void)
{
    signal(SIGUSR1, on_signal);
    treadle_push("raised");
    raise(SIGUSR1);
    raise(SIGUSR1);
    treadle_pop();
}

APART void fork_child(void)
{
    treadle_mark mark = treadle_push("forking");
    pid_t child;

    treadle_pop_to(mark);
    child = fork();
    if (!child) {
        for (int i = 0; i < 1000; i++) {
            treadle_push("in child");
            treadle_pop_to(mark);
        }
        _exit(0);
    }
    waitpid(child, NULL, 0);
}

APART void begins(void)
{
    struct treadle_chain id;

    treadle_begin_with("chain", "one");
    id = treadle_id();
    treadle_adopt_with("chain", "two", id);
    treadle_pop();
    treadle_pop();
}

EITHER void step(void)
{
    count++;
}

static void *work(void *argument)
{
    int number = (int)(intptr_t)argument;
    char name[16];

    snprintf(name, sizeof(name), "worker-%d", number);
    pthread_setname_np(pthread_self(), name);
    for (int i = 0; i < 10 * number; i++) {
        treadle_push_number("job", number);
        step();
        step();
        treadle_pop();
    }
    treadle_push("open");
    treadle_push("open too");
    pthread_exit(NULL);
}

APART void start_all(void)
{
    pthread_t threads[3];

    for (int i = 0; i < 3; i++)
        if (pthread_create(&threads[i], NULL, work, (void *)(intptr_t)(i + 1)) != 0)
            abort();
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
}

__attribute__((no_instrument_function)) static long long cpu_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

__attribute__((no_instrument_function, noinline)) static void spin_until(long long end_ns)
{
    while (cpu_ns() < end_ns)
        for (int i = 0; i < 1000; i++)
            count++;
}

__attribute__((no_instrument_function)) static struct rusage counters(void)
{
    struct rusage now;

    getrusage(RUSAGE_THREAD, &now);
    return now;
}

APART long touch(int pages)
{
    char *memory = mmap(NULL, (size_t)pages * 4096, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    long before, faults;

    if (memory == MAP_FAILED || madvise(memory, (size_t)pages * 4096, MADV_NOHUGEPAGE) != 0)
        abort();
    treadle_push("touch");
    before = counters().ru_minflt;
    for (int i = 0; i < pages; i++)
        memory[(size_t)i * 4096] = 1;
    usleep(20000); /* with a switch the kernel's counters are looked at */
    faults = counters().ru_minflt - before;
    treadle_pop();
    return faults;
}

APART long nap(int times)
{
    long before, switches;

    treadle_push("nap");
    before = counters().ru_nvcsw;
    for (int i = 0; i < times; i++)
        usleep(1000);
    switches = counters().ru_nvcsw - before;
    treadle_pop();
    return switches;
}

APART void shares(void)
{
    long long in_outer = 0, in_inner = 0;
    long faults, switches;

    for (int i = 0; i < 40; i++) {
        long long begun = cpu_ns(), inner, ended;

        treadle_push("outer");
        spin_until(cpu_ns() + 3000000);
        inner = cpu_ns();
        treadle_push("inner");
        spin_until(cpu_ns() + 9000000);
        treadle_pop();
        ended = cpu_ns();
        treadle_pop();
        in_outer += inner - begun;
        in_inner += ended - inner;
    }
    faults = touch(500);
    switches = nap(30);
    printf("%lld %lld %ld %ld\n", in_outer, in_inner, faults, switches);
}

static void push_long(void)
{
    static char identifier[101], parameter[101];

    memset(identifier, 'i', 100);
    memset(parameter, 'p', 100);
    for (int i = 0; i < 2; i++) {
        treadle_push_with(identifier, parameter);
        treadle_pop();
    }
    memcpy(identifier + 59, "\xc3\xa9", 2);
    memcpy(parameter + 31, "\xc3\xa9", 2);
    treadle_push_with(identifier, parameter);
    treadle_pop();
    treadle_push("");
    treadle_pop();
}

static void push_deep(int times)
{
    for (int i = 0; i < times; i++)
        treadle_push("down");
    for (int i = 0; i < times; i++)
        treadle_pop();
    treadle_push("up");
    treadle_pop();
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "shares") == 0) {
        shares();
        return 0;
    }
    if (argc > 1 && strcmp(argv[1], "many") == 0) {
        for (int i = 0; i < atoi(argv[2]); i++) {
            treadle_push_number("batch", i);
            treadle_pop();
        }
        return 0;
    }
    if (argc > 2 && strcmp(argv[1], "deep") == 0) {
        push_deep(atoi(argv[2]));
        return 0;
    }
    if (argc > 1 && strcmp(argv[1], "long") == 0) {
        push_long();
        return 0;
    }
    for (int i = 0; i < 3; i++)
        serve();
    jumps();
    jumps();
    marks();
    recurses(5);
    for (int i = 0; i < 4; i++)
        forgets();
    treadle_push("found");
    treadle_pop();
    treadle_push("held");
    closes();
    signals();
    fork_child();
    begins();
    start_all();
    return 0;
}
