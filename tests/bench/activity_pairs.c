/* What a push and pop cost, side by side in one run: none, unwatched, and watched if a sampler
 * comes. Prints the picoseconds of each as JSON. activity_pairs watched|unwatched */
#include "native/activity/treadle.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define PAIRS   20000000u
#define ROUNDS  5u
#define ID_PART 100u /* so many fewer frames with an id */

static volatile uint64_t work;

static uint64_t cpu_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static uint64_t none(void)
{
    uint64_t from_ns = cpu_ns();

    for (unsigned i = 0; i < PAIRS; i++)
        work = work + 1;
    return cpu_ns() - from_ns;
}

static uint64_t plain(void)
{
    uint64_t from_ns = cpu_ns();

    for (unsigned i = 0; i < PAIRS; i++) {
        treadle_push("sort");
        work = work + 1;
        treadle_pop();
    }
    return cpu_ns() - from_ns;
}

static uint64_t with_text(void)
{
    uint64_t from_ns = cpu_ns();

    for (unsigned i = 0; i < PAIRS; i++) {
        treadle_push_with("sort", "ORDERS");
        work = work + 1;
        treadle_pop();
    }
    return cpu_ns() - from_ns;
}

static uint64_t with_id(void)
{
    struct treadle_chain id = {{1, 2}};
    uint64_t from_ns = cpu_ns();

    for (unsigned i = 0; i < PAIRS / ID_PART; i++) {
        treadle_adopt("sort", id);
        work = work + 1;
        treadle_pop();
    }
    return (cpu_ns() - from_ns) * ID_PART;
}

/* The best of some rounds: other work on the machine only adds. */
static void measure(uint64_t (*body)(void), uint64_t *best_ns)
{
    uint64_t ns = body();

    if (!*best_ns || ns < *best_ns)
        *best_ns = ns;
}

int main(int argc, char **argv)
{
    uint64_t best_ns[4] = {0};
    uint32_t wanted = argc > 1 && strcmp(argv[1], "watched") == 0;

    treadle_push("first");
    treadle_pop();
    puts("ready");
    fflush(stdout);
    while ((treadle__watch_now() != 0) != wanted)
        nanosleep(&(struct timespec){0, 1000000}, NULL);
    for (unsigned i = 0; i < ROUNDS; i++) {
        measure(none, &best_ns[0]);
        measure(plain, &best_ns[1]);
        measure(with_text, &best_ns[2]);
        measure(with_id, &best_ns[3]);
    }
    printf("{\"none_ps\": %u, \"plain_ps\": %u, \"text_ps\": %u, \"id_ps\": %u}\n",
           (unsigned)(best_ns[0] * 1000 / PAIRS), (unsigned)(best_ns[1] * 1000 / PAIRS),
           (unsigned)(best_ns[2] * 1000 / PAIRS), (unsigned)(best_ns[3] * 1000 / PAIRS));
    return 0;
}
