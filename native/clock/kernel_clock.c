#include "native/clock/kernel_clock.h"

#include "native/clock/rseq_flag.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#define SELF_TEST_SLEEPS 3

/* Two clocks that are read further apart than this are not of one moment, and are read again. */
#define SAME_MOMENT_NS 10000
#define READINGS       3

/* Never equal to PLAIN_EXPECTED. */
static const volatile uint64_t plain_word = 0;
#define PLAIN_EXPECTED 1u

static const char *const names[] = {
    [LEDGER_CLOCK_PLAIN] = "plain",
    [LEDGER_CLOCK_PERF] = "perf",
    [LEDGER_CLOCK_RSEQ] = "rseq",
};

const char *kernel_clock__name(enum ledger_clock_kind kind)
{
    return kind >= LEDGER_CLOCK_PLAIN && kind <= LEDGER_CLOCK_RSEQ ? names[kind] : "unknown";
}

enum ledger_clock_kind kernel_clock__by_name(const char *name)
{
    for (unsigned kind = LEDGER_CLOCK_PLAIN; kind <= LEDGER_CLOCK_RSEQ; kind++)
        if (strcmp(names[kind], name) == 0)
            return kind;
    return 0;
}

static void start_plain(struct kernel_clock *clock)
{
    clock->kind = LEDGER_CLOCK_PLAIN;
    clock->word = &plain_word;
    clock->expected = PLAIN_EXPECTED;
}

static int start_kind(struct kernel_clock *clock, enum ledger_clock_kind kind)
{
    int error = 0;

    memset(clock, 0, sizeof(*clock));
    clock->perf.fd = -1;
    start_plain(clock);
    if (kind == LEDGER_CLOCK_RSEQ) {
        clock->word = rseq_flag__word();
        if (!clock->word) {
            start_plain(clock);
            return -ENOSYS;
        }
        clock->expected = rseq_flag__armed_value();
        clock->kind = kind;
    } else if (kind == LEDGER_CLOCK_PERF) {
        error = perf_page__open(&clock->perf);
        if (error)
            return error;
        clock->word = perf_page__word(&clock->perf);
        clock->expected = *clock->word;
        clock->kind = kind;
    }
    return error;
}

void kernel_clock__start(struct kernel_clock *clock, enum ledger_clock_kind kind)
{
    (void)start_kind(clock, kind);
}

/* The kernel reads the descriptor that rseq_cs points at: none of ours may outlive its use. */
void kernel_clock__stop(struct kernel_clock *clock)
{
    if (clock->kind == LEDGER_CLOCK_RSEQ)
        rseq_flag__disarm();
    perf_page__close(&clock->perf);
    start_plain(clock);
}

static bool was_switched(struct kernel_clock *clock)
{
    bool switched = *clock->word != clock->expected;

    if (clock->kind == LEDGER_CLOCK_RSEQ)
        rseq_flag__arm();
    else if (clock->kind == LEDGER_CLOCK_PERF)
        clock->expected = *clock->word;
    return switched;
}

uint64_t kernel_clock__sync(struct kernel_clock *clock, const struct ledger_time *time,
                            uint64_t *now_ns, bool *switched)
{
    uint64_t cpu_ns, before_ns;
    int readings = 0;

    *switched = false;
    *now_ns = ledger_time__now_ns(time);
    do {
        *switched |= was_switched(clock);
        before_ns = *now_ns;
        cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
        *now_ns = ledger_time__now_ns(time);
    } while (*now_ns - before_ns > SAME_MOMENT_NS && ++readings < READINGS);
    clock->suspect_after_ns = *now_ns + KERNEL_CLOCK_RESYNC_NS;
    return cpu_ns;
}

static int self_test(enum ledger_clock_kind kind, const struct ledger_time *time)
{
    static const struct timespec nap = {.tv_nsec = 200000};
    struct kernel_clock clock;
    uint64_t now_ns;
    bool switched;
    int error;

    if (kind == LEDGER_CLOCK_PLAIN)
        return 0;
    if (!time->tsc_mult)
        return -ENOTSUP;
    error = start_kind(&clock, kind);
    for (int i = 0; i < SELF_TEST_SLEEPS && !error; i++) {
        kernel_clock__sync(&clock, time, &now_ns, &switched);
        nanosleep(&nap, NULL);
        if (*clock.word == clock.expected)
            error = -ENOTSUP;
    }
    kernel_clock__stop(&clock);
    return error;
}

enum ledger_clock_kind kernel_clock__choose_and_tell(enum ledger_clock_kind forced,
                                                     const struct ledger_time *time, int *error,
                                                     int32_t errors[LEDGER_CLOCK_KINDS])
{
    memset(errors, 0, LEDGER_CLOCK_KINDS * sizeof(*errors));
    *error = forced ? self_test(forced, time) : 0;
    if (forced && !*error)
        return forced;
    for (unsigned kind = LEDGER_CLOCK_RSEQ; kind > LEDGER_CLOCK_PLAIN; kind--) {
        errors[kind] = -self_test(kind, time);
        if (!errors[kind])
            return kind;
    }
    return LEDGER_CLOCK_PLAIN;
}

enum ledger_clock_kind kernel_clock__choose(enum ledger_clock_kind forced,
                                            const struct ledger_time *time, int *error)
{
    int32_t errors[LEDGER_CLOCK_KINDS];

    return kernel_clock__choose_and_tell(forced, time, error, errors);
}
