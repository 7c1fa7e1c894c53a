#include "native/host/own_cost.h"

#include "native/metrics/task_status.h"
#include "native/thread/unprofiled.h"

#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define RECENT_NS       3000000000u
#define LOOK_NS         100000000u
#define SURVEY_LEAST_NS 1000000000u
#define SURVEY_COST     1000u

/* The longest walk of a stack takes less. */
#define HANDLER_NS_MOST 2000000u

#define DELIVERY_TRIES 16u
#define COUNTER_TRIES  16u

/* Looks at classes that are all timed; of those that follow one in TIMED_AFTER, which counts for as
 * many: a reading of the thread's clock takes a twentieth of such a look. */
#define TIMED_AT_FIRST 512u
#define TIMED_AFTER    8u

/* Work on classes goes on, on this thread. */
static __thread unsigned depth __attribute__((tls_model("initial-exec")));
static __thread unsigned counts_for __attribute__((tls_model("initial-exec")));
static __thread uint64_t vm_thread_began_ns __attribute__((tls_model("initial-exec")));

void own_cost__init(struct own_cost *cost, struct ledger *ledger, const struct ledger_time *time,
                    const struct process_scan *scan, struct kernel_thread_table *kernel_threads,
                    bool has_interpreter)
{
    *cost = (struct own_cost){.ledger = ledger,
                              .time = time,
                              .scan = scan,
                              .kernel_threads = kernel_threads,
                              .has_interpreter = has_interpreter};
}

void own_cost__count_signal(struct own_cost *cost, unsigned lane, uint64_t ns)
{
    struct signal_lane *mine = &cost->lanes[lane % OWN_COST_LANES];

    __atomic_fetch_add(&mine->signals, 1, __ATOMIC_RELAXED);
    if (ns > HANDLER_NS_MOST)
        return;
    __atomic_fetch_add(&mine->timed, 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&mine->timed_ns, ns, __ATOMIC_RELAXED);
}

void own_cost__measure_delivery(struct own_cost *cost, int signal)
{
    uint64_t least_ns = UINT64_MAX;
    sigset_t only, before;

    sigemptyset(&only);
    sigaddset(&only, signal);
    pthread_sigmask(SIG_UNBLOCK, &only, &before);
    for (unsigned i = 0; i < DELIVERY_TRIES; i++) {
        uint64_t before_ns = clock_ns(CLOCK_MONOTONIC), ns;

        if (tgkill(getpid(), gettid(), signal) != 0)
            break;
        ns = clock_ns(CLOCK_MONOTONIC) - before_ns;
        least_ns = ns < least_ns ? ns : least_ns;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    cost->delivery_ns = least_ns == UINT64_MAX ? 0 : least_ns;
}

/* Operations at a safepoint run on the VM Thread, not on the thread that asks for them. */
static uint64_t vm_thread_ns(const struct own_cost *cost)
{
    pid_t tid = __atomic_load_n(&cost->scan->vm_thread, __ATOMIC_RELAXED);
    uint64_t cpu_ns = 0;

    return tid && task_cpu__read(getpid(), tid, &cpu_ns) == 0 ? cpu_ns : 0;
}

/* For how many looks the one that begins counts; 0: it is not timed. */
static unsigned weight_of_look(struct own_cost *cost)
{
    uint32_t number = __atomic_fetch_add(&cost->looks, 1, __ATOMIC_RELAXED);

    if (number < TIMED_AT_FIRST)
        return 1;
    return number % TIMED_AFTER == 0 ? TIMED_AFTER : 0;
}

uint64_t own_cost__begin_classes(struct own_cost *cost, bool stops_jvm)
{
    if (depth++)
        return 0;
    counts_for = stops_jvm ? 1 : weight_of_look(cost);
    if (!counts_for)
        return 0;
    vm_thread_began_ns = stops_jvm ? vm_thread_ns(cost) : 0;
    return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

void own_cost__end_classes(struct own_cost *cost, uint64_t began)
{
    uint64_t vm_ns = 0;

    if (--depth || !began || !cost->ledger->header->profiling)
        return;
    if (vm_thread_began_ns)
        vm_ns = unprofiled__less(vm_thread_ns(cost), vm_thread_began_ns);
    ledger__count(&cost->classes_ns,
                  (clock_ns(CLOCK_THREAD_CPUTIME_ID) - began) * counts_for + vm_ns);
}

/* A signal whose time was not measured counts with the mean of those that were. */
static void add_signals(struct own_cost *cost)
{
    uint64_t signals = 0, timed = 0, timed_ns = 0;

    for (unsigned i = 0; i < OWN_COST_LANES; i++) {
        signals += __atomic_load_n(&cost->lanes[i].signals, __ATOMIC_RELAXED);
        timed += __atomic_load_n(&cost->lanes[i].timed, __ATOMIC_RELAXED);
        timed_ns += __atomic_load_n(&cost->lanes[i].timed_ns, __ATOMIC_RELAXED);
    }
    cost->facts.signals = signals;
    cost->facts.delivery_ns = cost->delivery_ns;
    cost->facts.handler_ns = timed ? (uint64_t)((unsigned __int128)timed_ns * signals / timed) : 0;
}

/* Reading the counter twice takes as long itself. */
static uint64_t counter_ticks(void)
{
    uint64_t least = UINT64_MAX;

    for (unsigned i = 0; i < COUNTER_TRIES; i++) {
        uint64_t before = cycle_counter__read();
        uint64_t ticks = cycle_counter__read() - before;

        least = ticks < least ? ticks : least;
    }
    return least;
}

static uint64_t ticks_ns(const struct own_cost *cost, uint64_t ticks)
{
    return (uint64_t)((unsigned __int128)ticks * cost->time->tsc_mult >> 64);
}

/* A slow hook counts with what it takes besides the straight line's half of a call, which is in the
 * price of every call. */
static void add_hook_times(struct own_cost *cost)
{
    struct hook_times times = kernel_thread_table__hook_times(cost->kernel_threads);
    struct ledger_header *header = cost->ledger->header;
    uint64_t slow_ns, waits_ns, holds_ns, straight_ns = header->hook_cost_ps / 2000;

    if (!cost->counter_ticks)
        cost->counter_ticks = counter_ticks();
    slow_ns = ticks_ns(cost, hook_account__look(&cost->slow, &times.slow, cost->counter_ticks));
    waits_ns = ticks_ns(cost, hook_account__look(&cost->waits, &times.waits, cost->counter_ticks));
    holds_ns = ticks_ns(cost, hook_account__look(&cost->holds, &times.holds, cost->counter_ticks));
    cost->slow_hooks = times.slow.calls;
    cost->slow_hook_ns = unprofiled__less(ticks_ns(cost, cost->slow.mean_ticks), straight_ns);
    cost->facts.slow_ns = unprofiled__less(slow_ns, times.slow.calls * straight_ns);
    cost->wait_end_ns = ticks_ns(cost, cost->waits.mean_ticks);
    cost->hold_end_ns = ticks_ns(cost, cost->holds.mean_ticks);
    cost->hold_ends = times.holds.calls;
    cost->facts.wait_brackets_ns = waits_ns + holds_ns;
    cost->facts.wait_ends = times.waits.calls + 2 * times.unheard_waits;
    /* Threads count meanwhile. */
    if (times.unheard_wrapped > times.unheard_waits)
        times.unheard_wrapped = times.unheard_waits;
    cost->facts.wrapped_ends = 2 * times.unheard_wrapped;
    cost->facts.timed_ends = 2 * times.timed_waits;
    cost->facts.lock_looks = times.unheard_virtual + times.lock_looks;
    __atomic_store_n(&header->heard_waits, times.waits.calls / 2, __ATOMIC_RELAXED);
    __atomic_store_n(&header->unheard_waits, times.unheard_waits, __ATOMIC_RELAXED);
    __atomic_store_n(&header->timed_waits, times.timed_waits, __ATOMIC_RELAXED);
    __atomic_store_n(&header->unheard_virtual, times.unheard_virtual, __ATOMIC_RELAXED);
}

static uint64_t switches(void)
{
    struct rusage usage;

    if (getrusage(RUSAGE_SELF, &usage) != 0)
        return 0;
    return (uint64_t)usage.ru_nvcsw + (uint64_t)usage.ru_nivcsw;
}

/* What grew since the last look, if it is the profiler's doing. */
static void add_clocks(struct own_cost *cost, const struct own_cost_causes *causes, bool counts)
{
    uint64_t thread_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    uint64_t service_ns = cost->scan->service_cpu_ns;
    uint64_t now_switches = switches();
    bool is_own_thread = cost->ledger->header->profiler_tid == gettid();

    if (counts && is_own_thread)
        cost->facts.threads_ns += thread_ns - cost->thread_ns;
    if (counts && causes->samples)
        cost->facts.service_ns += service_ns - cost->service_ns;
    if (counts && causes->samples && causes->perf_events)
        cost->facts.event_switches += now_switches - cost->switches;
    if (is_own_thread)
        cost->thread_ns = thread_ns;
    cost->service_ns = service_ns;
    cost->switches = now_switches;
    cost->facts.compilers_ns = cost->scan->compilers_cpu_ns;
    cost->facts.recompiled_ns = causes->recompiled_ns;
    cost->facts.counting_methods = causes->counting_methods;
    cost->facts.hazards_ns = causes->hazards_ns;
    cost->facts.classes_ns = __atomic_load_n(&cost->classes_ns, __ATOMIC_RELAXED);
}

static void survey(struct own_cost *cost, uint64_t now_ns)
{
    uint64_t took_ns;

    (void)call_survey__take(&cost->facts.survey, cost->ledger, &cost->methods);
    if (!cost->has_interpreter)
        cost->facts.survey.cold_calls = 0;
    took_ns = ledger_time__now_ns(cost->time) - now_ns;
    cost->next_survey_ns = now_ns + (took_ns * SURVEY_COST > SURVEY_LEAST_NS ? took_ns * SURVEY_COST
                                                                             : SURVEY_LEAST_NS);
}

static void publish(struct ledger_own_cost *to, const struct ledger_own_cost *cost)
{
    __atomic_store_n(&to->hooks_ns, cost->hooks_ns, __ATOMIC_RELAXED);
    __atomic_store_n(&to->samples_ns, cost->samples_ns, __ATOMIC_RELAXED);
    __atomic_store_n(&to->threads_ns, cost->threads_ns, __ATOMIC_RELAXED);
    __atomic_store_n(&to->classes_ns, cost->classes_ns, __ATOMIC_RELAXED);
    __atomic_store_n(&to->jvm_ns, cost->jvm_ns, __ATOMIC_RELAXED);
    __atomic_store_n(&to->waits_ns, cost->waits_ns, __ATOMIC_RELAXED);
}

/* The few seconds that are over last: what was used long ago does not hide what is used now. */
static void note_recent(struct own_cost *cost, uint64_t now_ns)
{
    struct cost_reading *before = &cost->recent;
    struct ledger_header *header = cost->ledger->header;
    struct cost_reading now = {now_ns, 0, ledger_own_cost__sum(&header->own_cost)};

    if (now_ns - before->wall_ns < RECENT_NS)
        return;
    now.cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    __atomic_store_n(&header->recent_cpu_ns, 0, __ATOMIC_RELEASE);
    header->recent_wall_ns = now_ns - before->wall_ns;
    header->recent_own_ns = now.own_ns > before->own_ns ? now.own_ns - before->own_ns : 0;
    if (before->cpu_ns && before->wall_ns >= header->since_ns)
        __atomic_store_n(&header->recent_cpu_ns, now.cpu_ns - before->cpu_ns, __ATOMIC_RELEASE);
    *before = now;
}

void own_cost__look(struct own_cost *cost, const struct own_cost_causes *causes, bool all)
{
    struct ledger_header *header = cost->ledger->header;
    uint64_t now_ns = ledger_time__now_ns(cost->time);
    bool profiling = header->profiling;
    struct ledger_own_cost sum;

    if (!all && now_ns < cost->next_look_ns)
        return;
    cost->next_look_ns = now_ns + LOOK_NS;
    add_clocks(cost, causes, profiling);
    if (!profiling)
        return;
    add_signals(cost);
    add_hook_times(cost);
    cost->facts.call_ps = header->hook_cost_ps;
    if (header->hook_cost_ps && (all || now_ns >= cost->next_survey_ns))
        survey(cost, now_ns);
    sum = cost_model__of(&cost->facts);
    publish(&header->own_cost, &sum);
    note_recent(cost, now_ns);
}
