/*
 * Raw samples on their way from signal handlers to the profiler's own thread.
 *
 * Memory is fixed: a number of lanes with two buffers each. One buffer is written while the other
 * is drained; draining swaps them. A handler claims a lane that no other handler writes, fills the
 * sample in in place, and releases the lane. A handler never waits: if no lane is free or has room,
 * the sample is dropped and counted.
 */
#ifndef TREADLE_SAMPLE_BUFFERS_H
#define TREADLE_SAMPLE_BUFFERS_H

#include "native/ledger/ledger_format.h"
#include "native/sampling/mode_times.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SAMPLE_LANES        16u
#define SAMPLE_BUFFER_BYTES (512u * 1024u)
#define SAMPLE_FRAMES_MAX   4096u /* innermost first; deeper stacks are cut */

/* If no lane has room for SAMPLE_FRAMES_MAX frames, one with room for so many will do. */
#define SAMPLE_FRAMES_LEAST 128u

enum sample_frame_kind {
    FRAME_NATIVE = 1,  /* `where`: an address */
    FRAME_COMPILED,    /* `where`: an address; `detail`: what code it is, as the host tells it from
                          other code there */
    FRAME_INTERPRETED, /* `where`: the method; `detail`: 1 + bytecode index, 0: not known */
    FRAME_STUB,        /* `where`: an address in code that the JVM made and that is no method */
    FRAME_KERNEL,      /* the kernel's side; `where`: an address in it, or 0: all of it */
    FRAME_NAMED,       /* `where`: what the host calls the method; of SAMPLE_IS_STACK */
};

struct sample_frame {
    uint64_t where;
    uint64_t kind_and_detail; /* enum sample_frame_kind << 56 | detail */
};

static inline struct sample_frame sample_frame__make(enum sample_frame_kind kind, uint64_t where,
                                                     uint64_t detail)
{
    return (struct sample_frame){where, (uint64_t)kind << 56 | (detail & 0xffffffffffffff)};
}

static inline enum sample_frame_kind sample_frame__kind(const struct sample_frame *frame)
{
    return (enum sample_frame_kind)(frame->kind_and_detail >> 56);
}

static inline uint64_t sample_frame__detail(const struct sample_frame *frame)
{
    return frame->kind_and_detail & 0xffffffffffffff;
}

enum sample_flag {
    SAMPLE_IS_WALL = 1,    /* else of CPU time */
    SAMPLE_IS_PARTIAL = 2, /* the frames below the last one are in an unmounted part of the stack */
    SAMPLE_IS_STACK = 4,   /* not a sample: the whole stack of a thread that had partial samples */
    SAMPLE_OF_ABSENT = 8,  /* the handler did not know the Java thread, which had had no event */
};

#define SAMPLE_IS_WHOLE WALK_FAILURE_COUNT

#define SAMPLE_INNER_UNKNOWN UINT16_MAX

struct sample {
    uint32_t frame_count;
    uint16_t flags;
    uint16_t inner_frames; /* the innermost ones, which run inside the current node, a logical
                              frame; or SAMPLE_INNER_UNKNOWN */
    uint32_t failure;      /* enum ledger_walk_failure, or SAMPLE_IS_WHOLE */
    int32_t tid;
    ledger_ref thread;   /* the Java thread that ran, or none */
    ledger_ref node;     /* the thread's current node; may have been folded since */
    uint64_t key;        /* of that node; 0: not known */
    uint64_t charged_ns; /* charged_cpu_ns of its kernel thread, which each event changes; 0: not
                            known */
    uint64_t
        event_ns; /* CPU time since that event; if charged_ns is 0: all CPU time of the thread */
    uint64_t when_ns; /* ledger's clock */
    union {
        uint64_t seen_ns; /* CPU time that the sample stands for */
        uint64_t
            turns; /* of a wall sample: turns that it stands for; their time is not known yet */
    };
    struct mode_times modes; /* of its kernel thread, since the last sample that has them */
    struct sample_frame frames[];
};

struct sample_buffers;

/* NULL: no memory. */
struct sample_buffers *sample_buffers__new(void);
/* For tests only. */
void sample_buffers__delete(struct sample_buffers *buffers);

/* Returns a sample to be filled in, with room for so many frames, or NULL: the sample is dropped
 * and counted. The caller commits the sample, or gives it up, at once. `lane` is the lane to try
 * first. Async-signal-safe, from any thread. */
struct sample *sample_buffers__claim(struct sample_buffers *buffers, unsigned lane,
                                     uint32_t *room_frames);
void sample_buffers__give_up(struct sample_buffers *buffers, struct sample *sample);
void sample_buffers__commit(struct sample_buffers *buffers, struct sample *sample);

typedef void (*sample_visit)(void *context, const struct sample *sample);

/* Passes every sample committed before the call to `visit`. One caller at a time; not for handlers.
 */
void sample_buffers__drain(struct sample_buffers *buffers, sample_visit visit, void *context);

/* Counts since the beginning. */
uint64_t sample_buffers__dropped(const struct sample_buffers *buffers);
/* The highest fill level, in bytes, of any buffer when it was drained. */
uint64_t sample_buffers__fill_bytes(const struct sample_buffers *buffers);

#endif
