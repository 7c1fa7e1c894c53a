/*
 * 64 threads whose time is known: they say where they are and measure for themselves how long they
 * are there. 60 wait, 3 ms in `parse`, 6 ms in `sort ORDERS`, and so on in turn; four push and pop
 * as fast as they can, in `fast 0` for three milliseconds and in `fast 1` for one. Prints the times
 * as JSON, and how many pushes there were.
 *
 *     known_shares MILLISECONDS
 */
#include "native/activity/treadle.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define WAITING 60
#define FAST    4

enum place { PARSE, SORT, SCAN, FAST_0, FAST_1, PLACES };

struct member {
    uint64_t ns[PLACES];
    uint64_t pushes;
    pthread_t thread;
};

static uint64_t end_ns;

static uint64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void wait_ms(struct member *member, enum place place, long ms)
{
    struct timespec time = {0, ms * 1000000};
    uint64_t from_ns = now_ns();

    nanosleep(&time, NULL);
    member->ns[place] += now_ns() - from_ns;
}

static void *wait_in_turn(void *context)
{
    struct member *member = context;

    while (now_ns() < end_ns) {
        treadle_scope("query");
        treadle_push("parse");
        wait_ms(member, PARSE, 3);
        treadle_pop();
        treadle_push_with("sort", "ORDERS");
        wait_ms(member, SORT, 6);
        treadle_push_with("scan", "ORDERS");
        wait_ms(member, SCAN, 3);
        treadle_pop();
        treadle_pop();
    }
    return NULL;
}

static void push_for(struct member *member, enum place place, uint64_t ns)
{
    uint64_t from_ns = now_ns(), to_ns = from_ns;

    treadle_push_number("fast", place - FAST_0);
    while (to_ns - from_ns < ns) {
        for (unsigned i = 0; i < 1000; i++) {
            treadle_push("leaf");
            treadle_pop();
        }
        member->pushes += 1000;
        to_ns = now_ns();
    }
    treadle_pop();
    member->ns[place] += to_ns - from_ns;
}

static void *push_all_the_time(void *context)
{
    struct member *member = context;

    while (now_ns() < end_ns) {
        push_for(member, FAST_0, 3000000);
        push_for(member, FAST_1, 1000000);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    static const char *const names[PLACES] = {"parse", "sort", "scan", "fast 0", "fast 1"};
    static struct member members[WAITING + FAST];
    uint64_t sum_ns[PLACES] = {0}, pushes = 0, from_ns = now_ns();

    end_ns = from_ns + strtoull(argc > 1 ? argv[1] : "1000", NULL, 10) * 1000000;
    for (unsigned i = 0; i < WAITING + FAST; i++)
        pthread_create(&members[i].thread, NULL, i < WAITING ? wait_in_turn : push_all_the_time,
                       &members[i]);
    for (unsigned i = 0; i < WAITING + FAST; i++) {
        pthread_join(members[i].thread, NULL);
        for (unsigned place = 0; place < PLACES; place++)
            sum_ns[place] += members[i].ns[place];
        pushes += members[i].pushes;
    }
    printf("{\"pushes_a_second\": %" PRIu64,
           (uint64_t)((double)pushes * 1e9 / (double)(now_ns() - from_ns)));
    for (unsigned place = 0; place < PLACES; place++)
        printf(", \"%s\": %" PRIu64, names[place], sum_ns[place]);
    puts("}");
    return 0;
}
