/*
 * The main thread ends by pthread_exit, and so do the others, of which one still has a second to
 * live: the process ends with its last thread, with status 0, and what is to be done at its exit is
 * done.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define THREADS 4

static void say(void)
{
    puts("at exit");
}

static void *rest(void *tenths)
{
    usleep((useconds_t)(100000 * (1 + *(int *)tenths)));
    printf("thread %d\n", *(int *)tenths);
    return NULL;
}

int main(void)
{
    static int tenths[THREADS] = {0, 3, 6, 9};
    pthread_t thread;

    atexit(say);
    for (int i = 0; i < THREADS; i++) {
        pthread_create(&thread, NULL, rest, &tenths[i]);
        pthread_detach(thread);
    }
    pthread_exit(NULL);
}
