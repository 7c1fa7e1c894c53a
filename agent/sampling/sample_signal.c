#include "agent/sampling/sample_signal.h"

#include "agent/hotspot/java_hosts.h"
#include "agent/sampling/sampler.h"
#include "native/fault_guard.h"
#include "native/host/sample_site.h"
#include "native/unwind/machine_code.h"

#include <errno.h>
#include <stddef.h>
#include <ucontext.h>
#include <unistd.h>

/* No thread's stack is larger. */
#define STACK_BYTES_MAX (UINT64_C(1) << 30)

/* The buffers have counted one. */
static void count_lost(const struct sampler *sampler, const struct sample_site *site,
                       uint32_t turns)
{
    struct ledger_thread *thread = sample_site__thread(site, kernel_thread_table__mine());

    ledger__count(&sampler->ledger->header->samples, turns - 1);
    ledger__count(&sampler->ledger->header->dropped_samples, turns - 1);
    if (thread && sampler->mode == LEDGER_SAMPLE_CPU)
        __atomic_fetch_add(&thread->lost_samples, 1, __ATOMIC_RELAXED);
}

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
    if (!sample_site__may_fault(context))
        return;
    read_registers(context, &position);
    if (fault_guard__enter(&guard) == 0) {
        position.faulted =
            !(sample->flags & SAMPLE_IS_WALL) && comes_from_fault(context, &sample->modes);
        find_java_thread(sampler, sample->tid, &position);
        if (sample->node && ledger_key__is_logical(sample->key) && sampler->place)
            position.place = sampler->place(kernel_thread_table__mine());
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
    const struct sample_site site = {.ledger = sampler->ledger,
                                     .time = sampler->time,
                                     .interval_ns = sampler->interval_ns,
                                     .round = atomic_load(&sampler->round)};
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
    since_ns = wall ? 0 : sample_site__since_last_ns(&site, info);
    sample = sample_buffers__claim(sampler->buffers,
                                   (unsigned)((uintptr_t)&fault_guard_current >> 12), &room);
    if (sample) {
        sample->flags = wall ? SAMPLE_IS_WALL : 0;
        sample_site__describe(&site, sample, turns);
        walk(sampler, context, sample, room);
        sample->seen_ns = wall ? turns : sample_site__seen_ns(&site, sample, since_ns);
        note_partial(sampler, sample);
        mend(sample);
        sample_buffers__commit(sampler->buffers, sample);
    } else {
        count_lost(sampler, &site, turns);
    }
    own_cost__count_signal(sampler->own_cost, (unsigned)((uintptr_t)&fault_guard_current >> 12),
                           ledger_time__now_ns(sampler->time) - began_ns);
    errno = error;
}
