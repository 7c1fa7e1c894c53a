/*
 * Logical frames around ordinary functions, with known shares of the CPU time. It is built without
 * -finstrument-functions, or with it, which hears of main, requests and query. Its samples:
 *
 *     requests                      (that these called push does not show in samples)
 *       [sort]                      2 of 12 in query itself, which pushed it
 *         parse                     3
 *           compare                 1
 *         [scan ORDERS]             the pusher, fetches, does nothing else
 *           compare                 4
 *     other                         2
 *       compare                     2
 *     forgets                       (returns without a pop)
 *       [forgotten]                 what follows is the frame's, with its whole stack
 *         main
 *           other                   2
 *
 * Prints the CPU time in ns, by the thread's own clock: of query itself, parse itself, compare
 * below parse, below [scan ORDERS], below other before `forgets`, and of other after it.
 */
#include "native/activity/treadle.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define APART   static __attribute__((noinline))
#define UNHEARD __attribute__((no_instrument_function))
#define UNIT_NS 1000000

static long long own_ns, parse_ns, below_parse_ns, below_scan_ns, below_other_ns, after_ns;
static volatile int count;

UNHEARD static inline __attribute__((always_inline)) long long cpu_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

/* The clock is read seldom: what takes the time is the function around it. */
UNHEARD static inline __attribute__((always_inline)) long long spin(int units)
{
    long long begun = cpu_ns(), now = begun;

    for (; now < begun + (long long)units * UNIT_NS; now = cpu_ns())
        for (int i = 0; i < 100000; i++)
            count++;
    return now - begun;
}

UNHEARD APART long long compare(int units)
{
    long long spent = spin(units);

    count++;
    return spent;
}

UNHEARD APART void parse(void)
{
    parse_ns += spin(3);
    below_parse_ns += compare(1);
}

UNHEARD APART void fetches(void)
{
    treadle_push_with("scan", "ORDERS");
    below_scan_ns += compare(4);
    treadle_pop();
}

APART void query(void)
{
    treadle_push("sort");
    own_ns += spin(2);
    parse();
    fetches();
    treadle_pop();
}

APART void requests(void)
{
    query();
    count++;
}

UNHEARD APART long long other(void)
{
    long long spent = compare(2);

    count++;
    return spent;
}

UNHEARD APART void forgets(void)
{
    char room[4096]; /* nothing below comes as deep again */

    snprintf(room, sizeof(room), "%d", count);
    treadle_push(room[0] ? "forgotten" : "never");
    count++;
}

int main(int argc, char **argv)
{
    int times = argc > 1 ? atoi(argv[1]) : 1;

    for (int i = 0; i < times; i++) {
        requests();
        below_other_ns += other();
    }
    forgets();
    for (int i = 0; i < times; i++)
        after_ns += other();
    printf("%lld %lld %lld %lld %lld %lld\n", own_ns, parse_ns, below_parse_ns, below_scan_ns,
           below_other_ns, after_ns);
    return 0;
}
