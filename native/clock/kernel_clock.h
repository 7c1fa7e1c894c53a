/*
 * The kernel clock: how much CPU time the calling kernel thread has used, at the price of reading
 * the cycle counter.
 *
 * Between two context switches CPU time and the cycle counter advance together. So as long as one
 * word in memory says "not switched out since", the wall time that has passed *is* CPU time; when
 * it says otherwise, CLOCK_THREAD_CPUTIME_ID is read and the exact remainder is charged. The word:
 *
 *   rseq  the thread's registered struct rseq (Linux 4.18, glibc 2.35): rseq_cs is pointed at a
 *         descriptor that matches no code; the kernel clears it on preemption, migration or signal
 *   perf  the lock word in the user page of a software perf event of the thread
 *   plain a constant that never matches: the kernel is asked every time
 *
 * The counter is read before the word: a switch between the two makes the delta suspect, not wrong.
 * An older reading than RESYNC_NS is suspect too, which bounds the drift between the counter and
 * the kernel's accounting (interrupt and steal time are not the thread's).
 *
 * One instance belongs to one kernel thread; only that thread may call. Async-signal-safe but for
 * start and stop.
 */
#ifndef TREADLE_KERNEL_CLOCK_H
#define TREADLE_KERNEL_CLOCK_H

#include "native/clock/perf_page.h"
#include "native/ledger/ledger_format.h"
#include "native/ledger/ledger_time.h"

#include <stdbool.h>
#include <stdint.h>

#define KERNEL_CLOCK_RESYNC_NS 10000000u

struct kernel_clock {
    const volatile uint64_t *word;
    uint64_t expected;
    uint64_t suspect_after_ns; /* the last sync + RESYNC_NS */
    enum ledger_clock_kind kind;
    struct perf_page perf;
};

/* Returns the best clock that passes its self-test on the calling thread. The self-test is a few
 * sleeps, each of which the clock must notice. `forced` insists on one kind; 0 leaves the choice
 * open. If the forced kind does not work here, the best kind that does is returned and *error says
 * why; otherwise *error is 0. Takes a few milliseconds. */
enum ledger_clock_kind kernel_clock__choose(enum ledger_clock_kind forced,
                                            const struct ledger_time *time, int *error);

/* The same; also returns the errno with which each kind that was tried failed. ENOTSUP: the kind
 * missed a switch, or there is no usable cycle counter. */
enum ledger_clock_kind kernel_clock__choose_and_tell(enum ledger_clock_kind forced,
                                                     const struct ledger_time *time, int *error,
                                                     int32_t errors[LEDGER_CLOCK_KINDS]);

/* The name of a kind ("rseq", "perf", "plain"), and the kind of a name; 0: no kind has that name.
 */
const char *kernel_clock__name(enum ledger_clock_kind kind);
enum ledger_clock_kind kernel_clock__by_name(const char *name);

/* Starts the clock on the calling thread. A thread for which the kind is not available (no file
 * descriptor left) gets the plain clock. */
void kernel_clock__start(struct kernel_clock *clock, enum ledger_clock_kind kind);
void kernel_clock__stop(struct kernel_clock *clock);

/* True if the thread was on its processor all the time from the last sync to now_ns, which the
 * caller read before the call. */
static inline bool kernel_clock__ran_through(const struct kernel_clock *clock, uint64_t now_ns)
{
    return *clock->word == clock->expected && now_ns < clock->suspect_after_ns;
}

/* Rearms the word, then reads the thread's CPU clock, then the time. A switch between these steps
 * is seen by the next look at the word. Where much time passes between the two readings (a signal
 * handler, a host that takes the processor away), both are taken again, a few times at most: a
 * stretch between two syncs then has hardly more CPU time than wall time. Returns the CPU time in
 * ns, and whether there was a switch since the last sync as far as the word can tell. The plain
 * clock cannot tell and always says true. */
uint64_t kernel_clock__sync(struct kernel_clock *clock, const struct ledger_time *time,
                            uint64_t *now_ns, bool *switched);

#endif
