/*
 * What only a process with one thread may do: the child of a fork, and then its parent, leave their
 * namespace of users. Each says what came of it, and calls step 100 times before and 200 times
 * after.
 *
 *     main                     1 call, of the parent
 *       leaves                 1
 *         step                 300
 *       starts                 1
 *
 * The child begins with leaves. The thread "helper" calls step 50 times.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile int count;

static void step(void)
{
    count++;
}

__attribute__((no_instrument_function)) static void say(const char *who, const char *what,
                                                        int result)
{
    printf("%s %s %d\n", who, what, result ? errno : 0);
    fflush(stdout);
}

static void leaves(const char *who)
{
    for (int i = 0; i < 100; i++)
        step();
    say(who, "unknown flag", unshare(1));
    say(who, "no namespace", setns(STDERR_FILENO, CLONE_NEWUSER));
    say(who, "leaves", unshare(CLONE_NEWUSER));
    for (int i = 0; i < 200; i++)
        step();
}

static void *help(void *argument)
{
    pthread_setname_np(pthread_self(), "helper");
    for (int i = 0; i < 50; i++)
        step();
    say("helper", "leaves", unshare(CLONE_NEWUSER));
    return argument;
}

static void starts(void)
{
    pthread_t thread;

    if (pthread_create(&thread, NULL, help, NULL) != 0)
        abort();
    pthread_join(thread, NULL);
}

int main(void)
{
    pid_t child = fork();

    if (!child) {
        leaves("child");
        exit(0);
    }
    waitpid(child, NULL, 0);
    leaves("parent");
    starts();
    return 0;
}
