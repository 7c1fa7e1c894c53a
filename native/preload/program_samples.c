/* How samples begin and end, and what their signal's handler does. */
#include "native/preload/program_samples.h"

#include "native/host/sample_site.h"
#include "native/preload/sample_nodes.h"
#include "native/sampling/kernel_symbols.h"
#include "native/unwind/machine_code.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* The innermost frames that a thread may have on a stack of its own. */
#define FRAMES_LEAST 2u

static void note(struct program_samples *samples, int clock_error)
{
    struct ledger_header *header = samples->ledger->header;

    header->sample_mode = LEDGER_SAMPLE_CPU;
    header->sample_modes |= 1u << LEDGER_SAMPLE_CPU;
    header->sample_clock = samples->clock;
    header->sample_clock_error = clock_error;
    header->sample_interval_ns = samples->interval_ns;
    header->sample_buffer_bytes = SAMPLE_BUFFER_BYTES;
    header->sample_unwind = unwind_engine__default() == UNWIND_WITH_TABLES
                                ? LEDGER_UNWIND_TABLES
                                : LEDGER_UNWIND_LIBUNWIND;
    header->kernel_stack_error = -sample_timer__check_kernel_stacks();
    header->kernel_symbol_error = -kernel_symbols__check("/proc/kallsyms");
}

/* In the child of a fork it is there already. */
static int take_signal(struct program_samples *samples)
{
    struct sigaction before = {.sa_handler = SIG_DFL};
    bool is_first = !samples->signal;
    int error = sample_handler__install(&samples->signal, samples->on_signal, &before);

    if (!error && is_first)
        program_signal__begin(samples->program_signal, samples->signal, &before);
    return error;
}

int program_samples__begin(struct program_samples *samples)
{
    int clock_error = 0, error;

    function_names__look(samples->names);
    samples->buffers = sample_buffers__new();
    if (!samples->buffers)
        return -ENOMEM;
    samples->pool.ledger = samples->ledger;
    samples->clock =
        sample_timer__choose(samples->wanted_clock, samples->interval_ns, &clock_error);
    error = take_signal(samples);
    if (error)
        return error;
    note(samples, clock_error);
    atomic_store(&samples->program_signal->measured_by, gettid());
    own_cost__measure_delivery(samples->own_cost, samples->signal);
    atomic_store(&samples->program_signal->measured_by, 0);
    sample_time__start(&samples->merge_time, ledger_time__now_ns(samples->time));
    atomic_store(&samples->running, true);
    preload_threads__sample(samples->threads, samples->clock, samples->signal,
                            samples->interval_ns);
    return 0;
}

/* The signal's handler is there already. */
void program_samples__restart(struct program_samples *samples)
{
    int signal = samples->signal;

    sample_buffers__delete(samples->buffers);
    memset(samples, 0, offsetof(struct program_samples, frames));
    samples->signal = signal;
}

void program_samples__end(struct program_samples *samples)
{
    if (!atomic_exchange(&samples->running, false))
        return;
    preload_threads__end_samples(samples->threads);
}

static void merge(void *context, const struct sample *sample)
{
    sample_nodes__add(context, sample);
}

void program_samples__drain(struct program_samples *samples)
{
    struct ledger_header *header = samples->ledger->header;
    uint64_t dropped;

    if (!samples->buffers)
        return;
    if (samples->clock == LEDGER_SAMPLE_CLOCK_PERF) {
        samples->monotonic_ns = clock_ns(CLOCK_MONOTONIC) - ledger_time__now_ns(samples->time);
        preload_threads__read_kernel_stacks(samples->threads);
    }
    if (ledger__hold_folding(samples->ledger) != 0)
        return; /* the samples can wait */
    sample_buffers__drain(samples->buffers, merge, samples);
    ledger__let_go_folding(samples->ledger);
    dropped = sample_buffers__dropped(samples->buffers);
    ledger__count(&header->samples, dropped - samples->dropped_before);
    ledger__count(&header->dropped_samples, dropped - samples->dropped_before);
    samples->dropped_before = dropped;
    header->sample_fill_bytes = sample_buffers__fill_bytes(samples->buffers);
}

struct native_walk {
    const struct code_images *images;
    struct sample *sample;
    struct frame_registers at;
    struct preserved_registers preserved;
    uint64_t end;
    uint64_t place; /* where the logical frame lies in which the thread is; 0: not known */
    uint32_t room;
    bool top;
};

static void emit(struct native_walk *walk, enum sample_frame_kind kind, uint64_t where)
{
    if (walk->sample->frame_count < walk->room)
        walk->sample->frames[walk->sample->frame_count++] = sample_frame__make(kind, where, 0);
}

/* The kernel's side of a sample: a fault of the instruction, or a system call right before it. */
static bool is_of_kernel(const struct native_walk *walk, const ucontext_t *context)
{
    const struct mode_times *modes = &walk->sample->modes;
    enum kernel_entry entry;

    if (!code_images__find(walk->images, walk->at.pc, NULL))
        return false;
    if (machine_code__follows_system_call(walk->at.pc))
        return true;
    entry = machine_code__kernel_entry(context);
    return entry == ENTRY_FAULT || (entry == ENTRY_PROBABLY_FAULT && modes->cpu_ns &&
                                    modes->system_ns >= modes->cpu_ns / 2);
}

/* The frame that was emitted last ends at `end`, where its caller's begins. What the pusher calls
 * lies further in than the place of its logical frame: the pusher, and what called it, do not. */
static void note_end(struct native_walk *walk, uint64_t end)
{
    struct sample *sample = walk->sample;

    if (walk->place && sample->inner_frames == SAMPLE_INNER_UNKNOWN && end > walk->place)
        sample->inner_frames = (uint16_t)(sample->frame_count - 1);
}

static void walk_on(struct native_walk *walk)
{
    static const enum ledger_walk_failure failures[] = {
        [UNWIND_UNKNOWN_CODE] = WALK_UNKNOWN_CODE,
        [UNWIND_NO_TABLE] = WALK_NO_UNWIND,
        [UNWIND_BAD_FRAME] = WALK_BAD_FRAME,
        [UNWIND_BUSY] = WALK_BUSY,
    };

    while (walk->sample->frame_count < walk->room) {
        uint64_t pc = walk->at.pc - !walk->top;
        enum unwind_result result =
            code_images__step(walk->images, &walk->at, walk->end, !walk->top, NULL);

        if (result != UNWIND_UNKNOWN_CODE)
            emit(walk, FRAME_NATIVE, pc);
        if (result == UNWIND_END) {
            note_end(walk, UINT64_MAX);
            return;
        }
        if (result != UNWIND_STEPPED) {
            walk->sample->failure = failures[result];
            return;
        }
        note_end(walk, walk->at.sp);
        walk->top = walk->at.interrupted;
    }
    walk->sample->failure = WALK_TOO_DEEP;
}

/* Where the logical frame lies that is the thread's current node. 0: it is none, its place is not
 * known, or its function has returned without a pop. In the middle of its push nothing but the hook
 * runs inside the frame. */
static uint64_t place_of_frame(const struct preload_thread *mine, const struct sample *sample,
                               uint64_t sp)
{
    bool is_known = false;
    uint64_t place = 0;

    if (ledger_key__is_logical(sample->key))
        place = function_stack__place_of(&mine->functions, sample->key, &is_known);
    if (!is_known && ledger_key__is_logical(sample->key))
        place = preload_mine.busy;
    return place >= sp && place < mine->functions.high ? place : 0;
}

static void walk(const struct program_samples *samples, struct sample *sample,
                 const ucontext_t *context, uint32_t room)
{
    const struct preload_thread *mine = preload_mine.thread;
    struct native_walk walk = {
        .images = samples->names->images, .sample = sample, .room = room, .top = true};

    sample->frame_count = 0;
    sample->failure = SAMPLE_IS_WHOLE;
    frame_registers__of_context(&walk.at, &walk.preserved, context);
    walk.at.preserved = &walk.preserved;
    if (is_of_kernel(&walk, context))
        emit(&walk, FRAME_KERNEL, 0);
    if (!mine || walk.at.sp < mine->functions.low || walk.at.sp >= mine->functions.high) {
        emit(&walk, FRAME_NATIVE, walk.at.pc);
        sample->failure = WALK_BAD_FRAME;
        return;
    }
    walk.end = mine->functions.high;
    walk.place = place_of_frame(mine, sample, walk.at.sp);
    walk_on(&walk);
    /* The walk did not come to the pusher: what it saw runs inside. */
    if (walk.place && sample->inner_frames == SAMPLE_INNER_UNKNOWN)
        sample->inner_frames = (uint16_t)sample->frame_count;
}

/* The buffers have counted one. */
static void count_lost(const struct sample_site *site)
{
    struct ledger_thread *thread = sample_site__thread(site, kernel_thread_table__mine());

    if (thread)
        __atomic_fetch_add(&thread->lost_samples, 1, __ATOMIC_RELAXED);
}

/* A thread may have no other event: what it has consumed so far is kept whatever ends the process.
 * A hook that was interrupted charges by itself. */
static void charge(void)
{
    const struct preload_thread *mine = preload_mine.thread;

    if (!mine || !mine->kernel || preload_mine.busy)
        return;
    preload_mine.busy = UINT64_MAX;
    if (kernel_thread__counts(mine->kernel))
        kernel_thread__charge(mine->kernel);
    preload_mine.busy = 0;
}

void program_samples__take(struct program_samples *samples, const siginfo_t *info,
                           const void *context)
{
    const struct sample_site site = {.ledger = samples->ledger,
                                     .time = samples->time,
                                     .interval_ns = samples->interval_ns,
                                     .round = samples->round};
    unsigned lane = (unsigned)((uintptr_t)&preload_mine >> 12);
    int error = errno;
    uint64_t began_ns, since_ns;
    struct sample *sample;
    uint32_t room;

    if (!atomic_load(&samples->running))
        return;
    began_ns = ledger_time__now_ns(samples->time);
    since_ns = sample_site__since_last_ns(&site, info);
    sample = sample_buffers__claim(samples->buffers, lane, &room);
    if (sample) {
        sample->flags = 0;
        sample_site__describe(&site, sample, 1);
        walk(samples, sample, context, room);
        sample->seen_ns = sample_site__seen_ns(&site, sample, since_ns);
        sample_buffers__commit(samples->buffers, sample);
    } else {
        count_lost(&site);
    }
    charge();
    own_cost__count_signal(samples->own_cost, lane, ledger_time__now_ns(samples->time) - began_ns);
    errno = error;
}
