/* CPU time for tests: used up by the thread's own clock, so that no machine is too slow or too
 * loaded, and read back from the kernel as the oracle. */
#ifndef TREADLE_TEST_BURN_H
#define TREADLE_TEST_BURN_H

#include <stdint.h>
#include <time.h>

#define MS UINT64_C(1000000)

/* The thread sanitizer lets go of a thread before its last destructors have run. */
#if defined(__SANITIZE_THREAD__)
#define LAST_DESTRUCTORS_RUN 0
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define LAST_DESTRUCTORS_RUN 0
#endif
#endif
#ifndef LAST_DESTRUCTORS_RUN
#define LAST_DESTRUCTORS_RUN 1
#endif

static inline uint64_t read_ns(clockid_t clock)
{
    struct timespec now;
    (void)clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000 * MS + (uint64_t)now.tv_nsec;
}

/* CPU time of the calling thread, as the kernel has it. */
static inline uint64_t thread_cpu_ns(void)
{
    return read_ns(CLOCK_THREAD_CPUTIME_ID);
}

static inline uint64_t process_cpu_ns(void)
{
    return read_ns(CLOCK_PROCESS_CPUTIME_ID);
}

/* Some 10 microseconds without a system call. */
static inline void spin_a_little(void)
{
    for (volatile unsigned i = 0; i < 4000; i++)
        ;
}

static inline void burn_cpu(uint64_t ns)
{
    uint64_t until = thread_cpu_ns() + ns;
    while (thread_cpu_ns() < until)
        spin_a_little();
}

static inline void nap(uint64_t ns)
{
    struct timespec rest = {.tv_sec = (time_t)(ns / (1000 * MS)),
                            .tv_nsec = (long)(ns % (1000 * MS))};
    (void)nanosleep(&rest, NULL);
}

#endif
