#include "agent/sampling/sample_signal.h"

#include "agent/hotspot/java_hosts.h"
#include "agent/sampling/sampler.h"
#include "native/fault_guard.h"
#include "native/tree/sample_tree.h"
#include "native/unwind/machine_code.h"

#include <errno.h>
#include <stddef.h>
#include <ucontext.h>
#include <unistd.h>

/* No thread's stack is larger. */
#define STACK_BYTES_MAX (UINT64_C(1) << 30)

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

/* In a guard. */
static bool comes_from_fault(const ucontext_t *context, const struct mode_times *modes)
{
    enum kernel_entry entry = machine_code__kernel_entry(context);

    return entry == ENTRY_FAULT || (entry == ENTRY_PROBABLY_FAULT && modes->cpu_ns &&
                                    modes->system_ns >= modes->cpu_ns / 2);
}

static void read_registers(const ucontext_t *context, struct stack_position *position)
{
    frame_registers__of_context(&position->registers, &position->preserved, context);
    position->bytecode = machine_code__bytecode_pointer(context);
}

/* The CPU time since the sample before; of the first one, what its timer was set to. */
static uint64_t time_since_last(const struct sampler *sampler, const siginfo_t *info)
{
    uint32_t round = atomic_load(&sampler->round);
    uint64_t missed = info->si_code == SI_TIMER ? (uint64_t)info->si_overrun : 0;
    uint64_t now_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    uint64_t since_ns = last_sample.round == round ? now_ns - last_sample.cpu_ns
                                                   : (1 + missed) * sampler->interval_ns;

    last_sample.cpu_ns = now_ns;
    last_sample.round = round;
    return since_ns < now_ns ? since_ns : now_ns;
}

/* A thread that ran on in its own code while the signal could not come was not seen there: only a
 * system call is one place for any time. */
static uint64_t seen_of(const struct sampler *sampler, const struct sample *sample,
                        uint64_t since_ns)
{
    uint64_t interval_ns = sampler->interval_ns;
    uint64_t most_ns = 2 * (interval_ns > TICK_NS ? interval_ns : TICK_NS);
    bool in_kernel = sample->frame_count > 0 && sample_frame__kind(sample->frames) == FRAME_KERNEL;

    if (since_ns > most_ns && !in_kernel)
        return interval_ns;
    return since_ns;
}

/* The Java thread that runs here, if its current node is its own; or NULL, also where that lies too
 * deep to be found out within the interval: the sample is then one without a home, and counted so.
 */
static struct ledger_thread *find_thread(const struct sampler *sampler,
                                         const struct kernel_thread *mine)
{
    struct ledger_thread *thread = mine && !mine->idle ? mine->thread : NULL;
    const struct ledger_node *node = mine ? mine->tree.current : NULL;
    uint64_t steps = sampler->interval_ns / CLIMB_PART / CLIMB_NS;

    if (steps < CLIMB_LEAST)
        steps = CLIMB_LEAST;
    return thread && node && sample_tree__is_of(sampler->ledger, node, thread, steps) ? thread
                                                                                      : NULL;
}

/* The buffers have counted one. */
static void count_lost(const struct sampler *sampler, uint32_t turns)
{
    struct ledger_thread *thread = find_thread(sampler, kernel_thread_table__mine());

    ledger__count(&sampler->ledger->header->samples, turns - 1);
    ledger__count(&sampler->ledger->header->dropped_samples, turns - 1);
    if (thread && sampler->mode == LEDGER_SAMPLE_CPU)
        __atomic_fetch_add(&thread->lost_samples, 1, __ATOMIC_RELAXED);
}

/* CPU time, profiled, since the thread's last event. */
static uint64_t time_since_event(const struct kernel_thread *mine)
{
    uint64_t cpu_ns = unprofiled__cpu_ns(__atomic_load_n(&mine->unprofiled, __ATOMIC_ACQUIRE), true,
                                         clock_ns(CLOCK_THREAD_CPUTIME_ID));

    return unprofiled__less(cpu_ns, mine->record->charged_cpu_ns);
}

static void say_where(const struct sampler *sampler, struct sample *sample, uint32_t turns)
{
    const struct kernel_thread *mine = kernel_thread_table__mine();
    const struct ledger_node *node = mine ? mine->tree.current : NULL;
    struct ledger_thread *thread = find_thread(sampler, mine);

    sample->thread = 0;
    sample->node = 0;
    sample->key = 0;
    sample->charged_ns = mine && mine->record ? mine->record->charged_cpu_ns : 0;
    sample->event_ns =
        sample->charged_ns ? time_since_event(mine) : clock_ns(CLOCK_THREAD_CPUTIME_ID);
    sample->tid = mine && mine->record ? mine->record->tid : gettid();
    sample->when_ns = ledger_time__now_ns(sampler->time);
    sample->modes = (struct mode_times){0};
    if (!(sample->flags & SAMPLE_IS_WALL))
        mode_times__since_last(&sample->modes, sample->when_ns, atomic_load(&sampler->round));
    if (!thread || !node)
        return;
    sample->thread = ledger__ref(sampler->ledger, thread);
    sample->node = ledger__ref(sampler->ledger, node);
    sample->key = node->key;
    __atomic_fetch_add(&thread->samples, turns, __ATOMIC_RELAXED);
}

/* A fault ends the process if its signal is blocked, even if there is a handler. */
static bool may_fault(const ucontext_t *context)
{
    return sigismember(&context->uc_sigmask, SIGSEGV) == 0 &&
           sigismember(&context->uc_sigmask, SIGBUS) == 0;
}

/* To be called in a fault guard: if the end of a thread was missed, its object may be freed, or may
 * be another thread's, whose stack lies elsewhere. */
static void find_java_thread(const struct sampler *sampler, pid_t tid,
                             struct stack_position *position)
{
    const struct vm_structs *structs = &sampler->walker.structs;

    position->java_thread = java_hosts__here(sampler->hosts, tid);
    if (!position->java_thread || structs->thread_stack_base < 0)
        return;
    position->end =
        (uint64_t)(uintptr_t)vm_structs__pointer(position->java_thread, structs->thread_stack_base);
    if (position->end - position->registers.sp > STACK_BYTES_MAX) {
        position->java_thread = NULL;
        position->end = 0;
    }
}

static void walk(const struct sampler *sampler, const ucontext_t *context, struct sample *sample,
                 uint32_t room)
{
    struct stack_position position = {0};
    struct fault_guard guard;

    sample->frame_count = 0;
    sample->failure = WALK_FAULT;
    if (!may_fault(context))
        return;
    read_registers(context, &position);
    if (fault_guard__enter(&guard) == 0) {
        position.faulted =
            !(sample->flags & SAMPLE_IS_WALL) && comes_from_fault(context, &sample->modes);
        find_java_thread(sampler, sample->tid, &position);
        stack_walk__run(&sampler->walker, &position, sample, room);
    } else {
        code_images__abandon_step(sampler->images);
        sample->failure = WALK_FAULT;
    }
    fault_guard__leave(&guard);
}

static void note_partial(const struct sampler *sampler, const struct sample *sample)
{
    struct ledger_thread *thread = ledger__at(sampler->ledger, sample->thread);

    if (sample->flags & SAMPLE_IS_PARTIAL && sample->thread)
        thread->partial_samples++;
}

extern const char agent_begin[] __asm__("__ehdr_start") __attribute__((visibility("hidden")));
extern const char agent_end[] __asm__("etext") __attribute__((visibility("hidden")));

/* Was the agent itself interrupted? Its call tree may be about to change. */
static bool is_in_agent(const struct sample *sample)
{
    for (uint32_t i = 0; i < sample->frame_count; i++) {
        const struct sample_frame *frame = &sample->frames[i];

        if (sample_frame__kind(frame) == FRAME_NATIVE &&
            frame->where >= (uint64_t)(uintptr_t)agent_begin &&
            frame->where < (uint64_t)(uintptr_t)agent_end)
            return true;
    }
    return false;
}

static void mend(const struct sample *sample)
{
    struct kernel_thread *mine = kernel_thread_table__mine();

    if (mine && kernel_thread__is_to_be_mended(mine) && sample->failure == SAMPLE_IS_WHOLE &&
        !is_in_agent(sample))
        kernel_thread__mend(mine);
}

void sample_signal__take(struct sampler *sampler, const siginfo_t *info, const void *context)
{
    bool wall = sampler->mode == LEDGER_SAMPLE_WALL;
    int error = errno;
    uint64_t began_ns, since_ns;
    uint32_t room, turns;
    struct sample *sample;

    if (!atomic_load(&sampler->running))
        return;
    turns = wall ? running_threads__answer(&sampler->running_threads, info) : 1;
    if (!turns)
        return;
    began_ns = ledger_time__now_ns(sampler->time);
    since_ns = wall ? 0 : time_since_last(sampler, info);
    sample = sample_buffers__claim(sampler->buffers,
                                   (unsigned)((uintptr_t)&fault_guard_current >> 12), &room);
    if (sample) {
        sample->flags = wall ? SAMPLE_IS_WALL : 0;
        say_where(sampler, sample, turns);
        walk(sampler, context, sample, room);
        sample->seen_ns = wall ? turns : seen_of(sampler, sample, since_ns);
        note_partial(sampler, sample);
        mend(sample);
        sample_buffers__commit(sampler->buffers, sample);
    } else {
        count_lost(sampler, turns);
    }
    own_cost__count_signal(sampler->own_cost, (unsigned)((uintptr_t)&fault_guard_current >> 12),
                           ledger_time__now_ns(sampler->time) - began_ns);
    errno = error;
}
