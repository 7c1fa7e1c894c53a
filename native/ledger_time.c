#include "native/ledger_time.h"

#include "native/perf_page.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define CALIBRATION_NS 5000000u

/* A kernel that found the counters of its processors apart does not use them as its clock. */
static int kernel_trusts_counter(void)
{
    char name[32];
    ssize_t length;
    int fd = open("/sys/devices/system/clocksource/clocksource0/current_clocksource",
                  O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return 0;
    length = read(fd, name, sizeof name);
    close(fd);
    if (length < 3)
        return 0;
    return strncmp(name, "tsc", 3) == 0 || (length >= 9 && strncmp(name, "kvm-clock", 9) == 0);
}

static uint64_t mult_of_kernel(void)
{
    struct perf_page page;
    uint64_t mult;

    if (perf_page__open(&page) != 0)
        return 0;
    mult = perf_page__tsc_mult(&page);
    perf_page__close(&page);
    return mult;
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

static uint64_t mult_by_comparison(void)
{
    uint64_t ticks0, ns0, ticks1, ns1;

    read_pair(&ticks0, &ns0);
    while (clock_ns(CLOCK_MONOTONIC_RAW) - ns0 < CALIBRATION_NS)
        ;
    read_pair(&ticks1, &ns1);
    if (ticks1 <= ticks0)
        return 0;
    return (uint64_t)(((unsigned __int128)(ns1 - ns0) << 32) / (ticks1 - ticks0));
}

void ledger_time__start(struct ledger_time *time, int counter)
{
    time->tsc_mult = 0;
    if (counter && cycle_counter__is_invariant() && kernel_trusts_counter()) {
        time->tsc_mult = mult_of_kernel();
        if (!time->tsc_mult)
            time->tsc_mult = mult_by_comparison();
    }
    time->tsc_zero = cycle_counter__read();
    time->monotonic_zero_ns = clock_ns(CLOCK_MONOTONIC);
}
