#include "tools/report/report_samples.h"

#include <stddef.h>

/* The largest whole number whose square is not above x. */
static uint64_t square_root(unsigned __int128 x)
{
    uint64_t root = 0;

    for (uint64_t bit = UINT64_C(1) << 63; bit; bit >>= 1)
        if ((unsigned __int128)(root | bit) * (root | bit) <= x)
            root |= bit;
    return root;
}

/* 1.96 sqrt(p (1 - p) / n), all in millionths: 1.96^2 = 3.8416 */
static uint64_t error_of(unsigned __int128 share_ppm, uint64_t samples)
{
    return square_root(share_ppm * (1000000 - share_ppm) * 38416 / 10000 / samples);
}

uint64_t report_samples__error_ppm(uint64_t part, uint64_t whole)
{
    if (whole == 0 || part > whole)
        return 0;
    return error_of(part * (unsigned __int128)1000000 / whole, whole);
}

/* The samples that are in the trees. */
static uint64_t samples_kept(const struct ledger_header *header)
{
    uint64_t lost = header->dropped_samples + header->homeless_samples;

    return header->samples > lost ? header->samples - lost : 0;
}

uint64_t report_samples__error_of_2_percent_ppm(const struct ledger_header *header)
{
    return report_samples__error_of_2_percent_in_ppm(samples_kept(header));
}

uint64_t report_samples__error_of_2_percent_in_ppm(uint64_t samples)
{
    return samples ? error_of(20000, samples) : 0;
}

const char *report_samples__kernel_needs(const struct ledger_header *header)
{
    if (!header->kernel_samples)
        return NULL;
    if (header->kernel_stack_error)
        return "sample-clock=perf with kernel.perf_event_paranoid=1 or less, or CAP_PERFMON";
    if (header->kernel_symbol_error)
        return "sample-clock=perf with kernel.kptr_restrict=0 and kernel.perf_event_paranoid=1 or "
               "less, or CAP_SYSLOG";
    return header->sample_clock == LEDGER_SAMPLE_CLOCK_PERF ? NULL : "sample-clock=perf";
}

const char *report_samples__mode_name(uint32_t sample_mode)
{
    static const char *const names[] = {
        [LEDGER_SAMPLE_NONE] = "none", [LEDGER_SAMPLE_CPU] = "cpu", [LEDGER_SAMPLE_WALL] = "wall"};

    return sample_mode <= LEDGER_SAMPLE_WALL ? names[sample_mode] : "unknown";
}

const char *report_samples__clock_name(uint32_t sample_clock)
{
    static const char *const names[] = {[LEDGER_SAMPLE_CLOCK_NONE] = "none",
                                        [LEDGER_SAMPLE_CLOCK_PERF] = "perf",
                                        [LEDGER_SAMPLE_CLOCK_TIMER] = "timer",
                                        [LEDGER_SAMPLE_CLOCK_WALL] = "wall"};

    return sample_clock <= LEDGER_SAMPLE_CLOCK_WALL ? names[sample_clock] : "unknown";
}

const char *report_samples__unwind_name(uint32_t sample_unwind)
{
    static const char *const names[] = {[LEDGER_UNWIND_UNKNOWN] = "unknown",
                                        [LEDGER_UNWIND_NOTHING] = "nothing",
                                        [LEDGER_UNWIND_TABLES] = "tables",
                                        [LEDGER_UNWIND_LIBUNWIND] = "libunwind"};

    return names[sample_unwind < LEDGER_UNWIND_KINDS ? sample_unwind : LEDGER_UNWIND_UNKNOWN];
}

const struct walk_failure_name *report_samples__walk_failure(enum ledger_walk_failure failure)
{
    static const struct walk_failure_name names[] = {
        [WALK_UNKNOWN_CODE] = {"unknown_code", "an address in no image and no code of the JVM"},
        [WALK_NO_UNWIND] = {"no_unwind", "an image that does not say how to unwind there"},
        [WALK_BAD_FRAME] = {"bad_frame", "a frame not above the one it called"},
        [WALK_BAD_METHOD] = {"bad_method", "a Java frame whose method could not be named"},
        [WALK_FAULT] = {"fault", "memory that is not there"},
        [WALK_TOO_DEEP] = {"too_deep", "deeper than a sample has room for"},
        [WALK_BUSY] = {"busy", "another thread was in libunwind all the time"},
    };

    return &names[failure];
}

bool report_samples__are_from_outside(const struct ledger_header *header)
{
    return header->event_mode == LEDGER_EVENTS_NONE && !header->jvm &&
           header->clock_kind == LEDGER_CLOCK_PLAIN && header->sample_mode == LEDGER_SAMPLE_WALL;
}
