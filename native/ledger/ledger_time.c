#include "native/ledger/ledger_time.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* True if the counter is the kernel's own clock. A kernel that found the counters of its processors
 * apart does not use them. */
static int kernel_trusts_counter(void)
{
    char name[32];
    ssize_t length;
    int fd = open("/sys/devices/system/clocksource/clocksource0/current_clocksource",
                  O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return 0;
    length = read(fd, name, sizeof(name));
    close(fd);
    if (length < 3)
        return 0;
    return strncmp(name, "tsc", 3) == 0 || (length >= 9 && strncmp(name, "kvm-clock", 9) == 0);
}

/* A pair of readings taken close together: the narrowest of a few tries. */
static void read_pair(uint64_t *ticks, uint64_t *ns)
{
    uint64_t narrowest = UINT64_MAX;

    for (int i = 0; i < 16; i++) {
        uint64_t before = cycle_counter__read();
        uint64_t raw = clock_ns(CLOCK_MONOTONIC_RAW);
        uint64_t after = cycle_counter__read();

        if (after - before < narrowest) {
            narrowest = after - before;
            *ticks = before + (after - before) / 2;
            *ns = raw;
        }
    }
}

/* The rate since the comparison began, as tsc_mult. 0: the counter is slower than 1 GHz, for which
 * tsc_mult has no room. */
static uint64_t compare(const struct ledger_time *time)
{
    uint64_t ticks = 0, ns = 0;

    read_pair(&ticks, &ns);
    ticks -= time->first_ticks;
    ns -= time->first_raw_ns;
    if (ns >= ticks)
        return 0;
    return (uint64_t)(((unsigned __int128)ns << 64) / ticks);
}

void ledger_time__start(struct ledger_time *time, uint64_t compare_ns)
{
    time->tsc_mult = 0;
    if (compare_ns && cycle_counter__is_invariant() && kernel_trusts_counter()) {
        read_pair(&time->first_ticks, &time->first_raw_ns);
        while (clock_ns(CLOCK_MONOTONIC_RAW) - time->first_raw_ns < compare_ns)
            ;
        time->tsc_mult = compare(time);
    }
    time->tsc_zero = cycle_counter__read();
    time->monotonic_zero_ns = clock_ns(CLOCK_MONOTONIC);
}

void ledger_time__refine(struct ledger_time *time)
{
    uint64_t mult = time->tsc_mult ? compare(time) : 0;

    if (mult)
        __atomic_store_n(&time->tsc_mult, mult, __ATOMIC_RELAXED);
}
