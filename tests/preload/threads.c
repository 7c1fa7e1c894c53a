/*
 * threads COUNT: COUNT short threads, eight at a time, which so reuse their kernel ids, with the
 * names worker-0 to worker-7; each calls turn() once and turn() calls step() ten times. Prints the
 * CPU time of the process in ns, as the kernel has it, and the number of different kernel ids.
 * Built with -finstrument-functions.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define LANES 8

static uint8_t seen[1 << 22];
static volatile uint64_t sum;

static void step(void)
{
    for (int i = 0; i < 200; i++)
        sum += (uint64_t)i;
}

static void turn(void)
{
    for (int i = 0; i < 10; i++)
        step();
}

static void *work(void *argument)
{
    char name[16];

    (void)snprintf(name, sizeof(name), "worker-%d", (int)(intptr_t)argument);
    pthread_setname_np(pthread_self(), name);
    seen[syscall(SYS_gettid) & ((1 << 22) - 1)] = 1;
    turn();
    return NULL;
}

int main(int argc, char **argv)
{
    int count = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 20000, ids = 0;
    pthread_t threads[LANES];
    struct timespec cpu;

    for (int i = 0; i < count; i += LANES) {
        for (int lane = 0; lane < LANES; lane++)
            if (pthread_create(&threads[lane], NULL, work, (void *)(intptr_t)lane) != 0)
                return 1;
        for (int lane = 0; lane < LANES; lane++)
            pthread_join(threads[lane], NULL);
    }
    for (size_t i = 0; i < sizeof(seen); i++)
        ids += seen[i];
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
    printf("%lld %d\n", (long long)cpu.tv_sec * 1000000000 + cpu.tv_nsec, ids);
    return 0;
}
