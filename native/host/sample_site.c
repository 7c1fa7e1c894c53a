#include "native/host/sample_site.h"

#include "native/thread/kernel_thread_table.h"
#include "native/tree/sample_tree.h"

#include <unistd.h>

/* How much of an interval looking for a thread's own node may take, and what a step of it takes
 * where nothing is in the processor's caches. */
#define CLIMB_PART  4u
#define CLIMB_NS    100u
#define CLIMB_LEAST 1024u

/* A timer of the kernel's moves by its ticks, of 10 ms at the most. */
#define TICK_NS 10000000u

/* What the kernel thread's CPU clock said at its sample before, and since which start of samples
 * its timer runs. */
static __thread struct {
    uint64_t cpu_ns;
    uint32_t round;
} last_sample __attribute__((tls_model("initial-exec")));

/* The CPU time since the sample before; of the first one, what its timer was set to. */
uint64_t sample_site__since_last_ns(const struct sample_site *site, const siginfo_t *info)
{
    uint32_t round = site->round;
    uint64_t missed = info->si_code == SI_TIMER ? (uint64_t)info->si_overrun : 0;
    uint64_t now_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    uint64_t since_ns =
        last_sample.round == round ? now_ns - last_sample.cpu_ns : (1 + missed) * site->interval_ns;

    last_sample.cpu_ns = now_ns;
    last_sample.round = round;
    return since_ns < now_ns ? since_ns : now_ns;
}

/* A thread that ran on in its own code while the signal could not come was not seen there: only a
 * system call is one place for any time. */
uint64_t sample_site__seen_ns(const struct sample_site *site, const struct sample *sample,
                              uint64_t since_ns)
{
    uint64_t interval_ns = site->interval_ns;
    uint64_t most_ns = 2 * (interval_ns > TICK_NS ? interval_ns : TICK_NS);
    bool in_kernel = sample->frame_count > 0 && sample_frame__kind(sample->frames) == FRAME_KERNEL;

    if (since_ns > most_ns && !in_kernel)
        return interval_ns;
    return since_ns;
}

/* The Java thread that runs here, if its current node is its own; or NULL, also where that lies too
 * deep to be found out within the interval: the sample is then one without a home, and counted so.
 */
struct ledger_thread *sample_site__thread(const struct sample_site *site,
                                          const struct kernel_thread *mine)
{
    struct ledger_thread *thread = mine && !mine->idle ? mine->thread : NULL;
    const struct ledger_node *node = mine ? mine->tree.current : NULL;
    uint64_t steps = site->interval_ns / CLIMB_PART / CLIMB_NS;

    if (steps < CLIMB_LEAST)
        steps = CLIMB_LEAST;
    return thread && node && sample_tree__is_of(site->ledger, node, thread, steps) ? thread : NULL;
}

/* CPU time, profiled, since the thread's last event. */
static uint64_t time_since_event(const struct kernel_thread *mine)
{
    uint64_t cpu_ns = unprofiled__cpu_ns(__atomic_load_n(&mine->unprofiled, __ATOMIC_ACQUIRE), true,
                                         clock_ns(CLOCK_THREAD_CPUTIME_ID));

    return unprofiled__less(cpu_ns, mine->record->charged_cpu_ns);
}

void sample_site__describe(const struct sample_site *site, struct sample *sample, uint32_t turns)
{
    const struct kernel_thread *mine = kernel_thread_table__mine();
    const struct ledger_node *node = mine ? mine->tree.current : NULL;
    struct ledger_thread *thread = sample_site__thread(site, mine);

    sample->inner_frames = SAMPLE_INNER_UNKNOWN;
    sample->thread = 0;
    sample->node = 0;
    sample->key = 0;
    sample->charged_ns = mine && mine->record ? mine->record->charged_cpu_ns : 0;
    sample->event_ns =
        sample->charged_ns ? time_since_event(mine) : clock_ns(CLOCK_THREAD_CPUTIME_ID);
    sample->tid = mine && mine->record ? mine->record->tid : gettid();
    sample->when_ns = ledger_time__now_ns(site->time);
    sample->modes = (struct mode_times){0};
    if (!(sample->flags & SAMPLE_IS_WALL))
        mode_times__since_last(&sample->modes, sample->when_ns, site->round);
    if (!thread || !node)
        return;
    sample->thread = ledger__ref(site->ledger, thread);
    sample->node = ledger__ref(site->ledger, node);
    sample->key = node->key;
    __atomic_fetch_add(&thread->samples, turns, __ATOMIC_RELAXED);
}

/* A fault ends the process if its signal is blocked, even if there is a handler. */
bool sample_site__may_fault(const ucontext_t *context)
{
    return sigismember(&context->uc_sigmask, SIGSEGV) == 0 &&
           sigismember(&context->uc_sigmask, SIGBUS) == 0;
}
