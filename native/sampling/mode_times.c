#include "native/sampling/mode_times.h"

#include <time.h>

#define NS_PER_S UINT64_C(1000000000)

/* The kernel's own encoding of two clocks of the calling thread: CPUCLOCK_PERTHREAD_MASK with
 * CPUCLOCK_PROF for user and system time together, and with CPUCLOCK_VIRT for user time. They move
 * as the kernel divides CPU time. */
#define OWN_THREAD (~0u << 3 | 4u)
#define CLOCK_BOTH ((clockid_t)(OWN_THREAD | 0u))
#define CLOCK_USER ((clockid_t)(OWN_THREAD | 1u))

struct last_look {
    uint64_t when_ns;
    uint64_t both_ns;
    uint64_t user_ns;
    uint32_t round; /* 0: none yet */
};

static __thread struct last_look last __attribute__((tls_model("initial-exec")));

static bool read_clock(clockid_t clock, uint64_t *ns)
{
    struct timespec now;

    if (clock_gettime(clock, &now) != 0)
        return false;
    *ns = (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
    return true;
}

void mode_times__since_last(struct mode_times *times, uint64_t now_ns, uint32_t round)
{
    struct last_look now = {.when_ns = now_ns, .round = round};

    *times = (struct mode_times){0};
    if (last.round == round && now_ns - last.when_ns < MODE_TIMES_LEAST_NS)
        return;
    /* User time first: a tick between the two readings makes the system time too large, never
     * negative. */
    if (!read_clock(CLOCK_USER, &now.user_ns) || !read_clock(CLOCK_BOTH, &now.both_ns))
        return;
    if (last.round == round && now.both_ns >= last.both_ns && now.user_ns >= last.user_ns) {
        uint64_t user_ns = now.user_ns - last.user_ns;

        times->cpu_ns = now.both_ns - last.both_ns;
        times->system_ns = times->cpu_ns > user_ns ? times->cpu_ns - user_ns : 0;
    }
    last = now;
}
