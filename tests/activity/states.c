/* A thread in each state, for as long as the program runs: it ends when its standard input does. */
#include "native/activity/treadle.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;
static int quiet[2];

static void *compute(void *context)
{
    volatile unsigned *counter = context;

    for (;;) {
        treadle_push("compute");
        for (unsigned i = 0; i < 1000000; i++)
            ++*counter;
        treadle_pop();
    }
    return NULL;
}

static void *wait_for_lock(void *context)
{
    for (;;) {
        struct timespec soon;

        treadle_push("lock");
        clock_gettime(CLOCK_REALTIME, &soon);
        soon.tv_nsec += 50000000;
        soon.tv_sec += soon.tv_nsec / 1000000000;
        soon.tv_nsec %= 1000000000;
        (void)pthread_mutex_timedlock(&held, &soon);
        treadle_pop();
    }
    return context;
}

static void *wait_for_input(void *context)
{
    char byte;

    for (;;) {
        treadle_push("input");
        (void)!read(quiet[0], &byte, 1);
        treadle_pop();
    }
    return context;
}

static void *give_input(void *context)
{
    for (;;) {
        treadle_push("sleep");
        usleep(50000);
        treadle_pop();
        (void)!write(quiet[1], "x", 1);
    }
    return context;
}

int main(void)
{
    static void *(*const bodies[])(void *) = {compute, wait_for_lock, wait_for_input, give_input};
    static unsigned counter;
    pthread_t threads[4];
    char byte;

    pthread_mutex_lock(&held);
    if (pipe(quiet) != 0)
        return 1;
    for (unsigned i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, bodies[i], &counter);
    treadle_push("main"); /* so the segment is there when the program is ready */
    puts("ready");
    fflush(stdout);
    while (read(0, &byte, 1) > 0)
        continue;
    exit(0);
}
