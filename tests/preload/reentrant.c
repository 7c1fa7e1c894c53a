/*
 * Handlers that interrupt hooks, with SA_NODEFER: a timer's signal comes every 50 µs while `storm`
 * calls and pushes, and each handler raises the signal twice more, one in the other. `above`: the
 * handlers run on a stack of their own, at higher addresses than that of their thread.
 *
 *     run                        1 call, in a thread "stormy"
 *       storm                    1
 *         step                   so many calls
 *         [frame]                as many pushes; in each:
 *           inside               1
 *       after                    1: all that was open in the storm is over
 *         [last]                 1
 *
 * and anywhere in the storm on_signal, [in handler] and in_handler. It prints how many steps there
 * were, and how often a handler called or pushed something.
 */
#include "native/activity/treadle.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define STEPS       300000
#define NESTED      3
#define TICK_NS     50000
#define STACK_BYTES (1 << 20)
#define UNHEARD     __attribute__((no_instrument_function, noinline))

static volatile sig_atomic_t level, is_on;
static volatile long events;
static volatile int count;

static void in_handler(void)
{
    count++;
}

UNHEARD static void count_event(void)
{
    __atomic_fetch_add(&events, 1, __ATOMIC_RELAXED);
}

static void on_signal(int number)
{
    count_event(); /* the call of this function */
    if (is_on && level < NESTED) {
        level++;
        count_event();
        treadle_push("in handler");
        count_event();
        in_handler();
        raise(number);
        treadle_pop();
        level--;
    }
}

static void step(void)
{
    count++;
}

static void inside(void)
{
    count++;
}

static void storm(void)
{
    for (int i = 0; i < STEPS; i++) {
        step();
        treadle_push("frame");
        inside();
        treadle_pop();
    }
}

static void after(void)
{
    treadle_push("last");
    treadle_pop();
}

UNHEARD static timer_t begin_ticks(void)
{
    struct itimerspec every = {{0, TICK_NS}, {0, TICK_NS}};
    struct sigevent event;
    timer_t timer;

    memset(&event, 0, sizeof(event));
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = SIGUSR1;
    event._sigev_un._tid = gettid();
    if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0)
        abort();
    is_on = 1;
    timer_settime(timer, 0, &every, NULL);
    return timer;
}

UNHEARD static void use_stack(void *stack)
{
    stack_t other;

    memset(&other, 0, sizeof(other));
    other.ss_sp = stack;
    other.ss_size = STACK_BYTES;
    if (stack && sigaltstack(&other, NULL) != 0)
        abort();
}

static void *run(void *handlers_stack)
{
    timer_t timer;

    use_stack(handlers_stack);
    timer = begin_ticks();
    storm();
    timer_delete(timer);
    is_on = 0;
    after();
    return NULL;
}

int main(int argc, char **argv)
{
    int is_above = argc > 1 && strcmp(argv[1], "above") == 0;
    char *stacks =
        mmap(NULL, 2 * STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct sigaction action;
    pthread_attr_t attributes;
    pthread_t thread;

    memset(&action, 0, sizeof(action));
    action.sa_handler = on_signal;
    action.sa_flags = SA_NODEFER | SA_RESTART | (is_above ? SA_ONSTACK : 0);
    sigaction(SIGUSR1, &action, NULL);
    pthread_attr_init(&attributes);
    if (stacks == MAP_FAILED || pthread_attr_setstack(&attributes, stacks, STACK_BYTES) != 0 ||
        pthread_create(&thread, &attributes, run, is_above ? stacks + STACK_BYTES : NULL) != 0)
        return 1;
    pthread_setname_np(thread, "stormy");
    pthread_join(thread, NULL);
    printf("%d %ld\n", STEPS, events);
    return 0;
}
