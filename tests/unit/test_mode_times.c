/* How the kernel divides a thread's CPU time: what it is told in pieces adds up to what it says in
 * all. */
#include "native/sampling/mode_times.h"

#include <sys/resource.h>
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

/* All in the user's code: half a second. A tick may meet the reading of the clocks; and of a tick
 * the kernel takes off what the host of a virtual machine stole meanwhile, which on a busy host is
 * half of it and more. */
static void time_in_user_code_is_not_the_kernels(void **state)
{
    uint64_t cpu = 0, system = 0, begin = cpu_ns();
    struct mode_times times;
    (void)state;
    mode_times__since_last(&times, now_ns(), 1);
    assert_int_equal(times.cpu_ns, 0);
    while (cpu_ns() - begin < 500000000) {
        compute();
        mode_times__since_last(&times, now_ns(), 1);
        cpu += times.cpu_ns;
        system += times.system_ns;
    }
    assert_in_range(cpu, 50000000, 700000000);
    assert_true(system < cpu / 5);
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
        cmocka_unit_test(time_in_user_code_is_not_the_kernels),
        cmocka_unit_test(a_new_round_begins_at_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
