/* How the kernel divides a thread's CPU time: what it is told in pieces adds up to what it says in
 * all. */
#include "native/sampling/mode_times.h"

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

/* cmocka.h needs the others before it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#define LEAST_NS 50000000u

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static uint64_t cpu_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void compute(void)
{
    for (volatile int i = 0; i < 100000; i++)
        ;
}

struct division {
    uint64_t both_ns;
    uint64_t user_ns;
};

static uint64_t clock_of_thread_ns(unsigned which)
{
    struct timespec now;
    assert_int_equal(clock_gettime((clockid_t)(~(unsigned)gettid() << 3 | 4u | which), &now), 0);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* As the kernel divides the thread's CPU time at this moment, by the same clocks: CPUCLOCK_PROF and
 * CPUCLOCK_VIRT. */
static struct division division_now(void)
{
    struct division now;
    do {
        now.both_ns = clock_of_thread_ns(0);
        now.user_ns = clock_of_thread_ns(1);
    } while (clock_of_thread_ns(0) != now.both_ns);
    return now;
}

static uint64_t system_ns(const struct division *from, const struct division *to)
{
    return to->both_ns - from->both_ns - (to->user_ns - from->user_ns);
}

/* A look later than the last by MODE_TIMES_LEAST_NS, which is sure to tell. */
static void last_look(struct mode_times *times, uint32_t round)
{
    for (uint64_t begin = now_ns(); now_ns() - begin <= MODE_TIMES_LEAST_NS;)
        compute();
    mode_times__since_last(times, now_ns(), round);
}

static void have_the_kernel_compute(void)
{
    static char zeros[1 << 20];
    int fd = open("/dev/zero", O_RDONLY);
    assert_int_equal(read(fd, zeros, sizeof zeros), sizeof zeros);
    close(fd);
}

static bool is_divided(const struct division *from, const struct division *to)
{
    return to->user_ns - from->user_ns >= LEAST_NS && system_ns(from, to) >= LEAST_NS;
}

/* Until the kernel has divided some time into both: of a tick it takes off what the host of a
 * virtual machine stole meanwhile. The pieces are all that it divided from the
 * first look to the last, each of which a tick may precede or follow. A tick that meets a reading
 * of both clocks is the kernel's in one piece and nobody's in the next. */
static void pieces_are_what_the_kernel_divides(void **state)
{
    struct division before_first, after_first, before_last, after_last;
    uint64_t cpu = 0, system = 0;
    struct mode_times times;
    (void)state;
    before_first = division_now();
    mode_times__since_last(&times, now_ns(), 1);
    assert_int_equal(times.cpu_ns, 0);
    after_first = division_now();
    do {
        compute();
        have_the_kernel_compute();
        mode_times__since_last(&times, now_ns(), 1);
        cpu += times.cpu_ns;
        system += times.system_ns;
        before_last = division_now();
    } while (!is_divided(&after_first, &before_last));
    last_look(&times, 1);
    cpu += times.cpu_ns;
    system += times.system_ns;
    after_last = division_now();
    assert_in_range(cpu, before_last.both_ns - after_first.both_ns,
                    after_last.both_ns - before_first.both_ns);
    assert_in_range(system, system_ns(&after_first, &before_last),
                    system_ns(&before_first, &after_last) + cpu / 5);
}

static void a_new_round_begins_at_nothing(void **state)
{
    struct mode_times times;
    (void)state;
    mode_times__since_last(&times, now_ns(), 2);
    for (uint64_t begin = cpu_ns(); cpu_ns() - begin < 30000000;)
        compute();
    mode_times__since_last(&times, now_ns(), 3);
    assert_int_equal(times.cpu_ns, 0);
    assert_int_equal(times.system_ns, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_are_what_the_kernel_divides),
        cmocka_unit_test(a_new_round_begins_at_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
