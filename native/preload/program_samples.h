/*
 * Stack samples of a program without a JVM: a timer on each thread's CPU clock, a handler that
 * walks the native frames, and the profiler's own thread, which merges samples into the call trees.
 *
 * The stack is read within the thread's own bounds only, so that no fault can come of it: on
 * another stack (a signal's, a coroutine's) a sample has its innermost frame alone.
 */
#ifndef TREADLE_PROGRAM_SAMPLES_H
#define TREADLE_PROGRAM_SAMPLES_H

#include "native/host/own_cost.h"
#include "native/preload/function_names.h"
#include "native/preload/preload_thread.h"
#include "native/preload/program_signal.h"
#include "native/sampling/sample_buffers.h"
#include "native/sampling/sample_handler.h"
#include "native/sampling/sample_time.h"

#include <stdatomic.h>

struct named_native_frame {
    enum ledger_node_kind kind;
    ledger_ref method; /* of NODE_KERNEL: none, for all of the kernel */
};

#define NAMED_NATIVE_FRAMES_MAX (SAMPLE_FRAMES_MAX + 256u)

struct program_samples {
    /* what samples work with; set before they begin */
    struct ledger *ledger;
    const struct ledger_time *time;
    struct preload_threads *threads;
    struct function_names *names;
    const struct process_scan *scan;
    struct own_cost *own_cost;
    struct program_signal *program_signal;
    sample_handler on_signal; /* calls program_samples__take */
    uint64_t interval_ns;
    enum ledger_sample_clock wanted_clock; /* NONE: as the interval requires */
    uint32_t round;                        /* another one in the child of a fork */

    _Atomic bool running;
    enum ledger_sample_clock clock;
    int signal;
    struct sample_buffers *buffers; /* NULL: samples have not begun */
    struct record_pool pool;
    struct sample_time merge_time;
    uint64_t monotonic_ns; /* CLOCK_MONOTONIC less the ledger's time, when drained last */
    uint64_t dropped_before;
    uint32_t frame_count;
    uint32_t inner_count; /* of frames inside the logical frame; or UINT32_MAX */
    struct named_native_frame frames[NAMED_NATIVE_FRAMES_MAX]; /* of the sample that is merged */
};

/* Begins. 0 or -errno. For the profiler's own thread, as are the next three. */
int program_samples__begin(struct program_samples *samples);

/* In the child of a fork: samples have not begun, and what they work with is to be set. */
void program_samples__restart(struct program_samples *samples);

/* Merges what has come; not while the ledger is copied. */
void program_samples__drain(struct program_samples *samples);

void program_samples__end(struct program_samples *samples);

/* The signal came. Async-signal-safe. */
void program_samples__take(struct program_samples *samples, const siginfo_t *info,
                           const void *context);

#endif
