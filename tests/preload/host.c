/*
 * host PLUGIN: threads that are alive at the end, an instrumented library that is loaded, and a
 * child that is forked and calls functions, too.
 *
 *     main
 *       load                1
 *         plugin_run        1, and in it plugin_part 7 times
 *       fork_child          1: the child's call of in_child is not this process's
 *     each of the threads "waiter": wait_for_end 1
 */
#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static sem_t started;

static void wait_for_end(void)
{
    sem_post(&started);
    for (;;)
        pause();
}

static void *waiter(void *argument)
{
    wait_for_end();
    return argument;
}

static void in_child(void)
{
    exit(0);
}

static void fork_child(void)
{
    pid_t child = fork();

    if (child == 0)
        in_child();
    waitpid(child, NULL, 0);
}

static void load(const char *path)
{
    void *plugin = dlopen(path, RTLD_NOW);
    void (*run)(void) = plugin ? (void (*)(void))dlsym(plugin, "plugin_run") : NULL;

    if (!run)
        exit(5);
    run();
}

int main(int argc, char **argv)
{
    pthread_t threads[2];

    if (argc < 2)
        return 2;
    sem_init(&started, 0, 0);
    for (int i = 0; i < 2; i++) {
        pthread_create(&threads[i], NULL, waiter, NULL);
        pthread_setname_np(threads[i], "waiter");
        sem_wait(&started);
    }
    load(argv[1]);
    fork_child();
    return 0;
}
