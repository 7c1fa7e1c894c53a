#include "native/sampling/sample_buffers.h"

#include <sched.h>
#include <stdatomic.h>
#include <sys/mman.h>

/* A handler holds its lane for microseconds, unless it is preempted. */
#define SWAP_ATTEMPTS 1000u

struct lane {
    _Alignas(128) _Atomic uint32_t busy;
    uint32_t
        active; /* the buffer that is written; changes only while busy is set, as its `used` does */
    uint32_t used[2];
};

struct sample_buffers {
    struct lane lanes[SAMPLE_LANES];
    _Atomic uint64_t dropped;
    uint64_t fill_bytes;
    _Alignas(64) char bytes[SAMPLE_LANES][2][SAMPLE_BUFFER_BYTES];
};

struct sample_buffers *sample_buffers__new(void)
{
    void *memory = mmap(NULL, sizeof(struct sample_buffers), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    return memory == MAP_FAILED ? NULL : memory;
}

void sample_buffers__delete(struct sample_buffers *buffers)
{
    if (buffers)
        munmap(buffers, sizeof(*buffers));
}

static bool try_lane(struct lane *lane)
{
    return atomic_exchange_explicit(&lane->busy, 1, memory_order_acquire) == 0;
}

static void let_go(struct lane *lane)
{
    atomic_store_explicit(&lane->busy, 0, memory_order_release);
}

/* Called while busy is set, or for the buffer that is drained. Atomic all the same: the drainer
 * looks at both buffers before it takes the lane. */
static void set_used(struct lane *lane, uint32_t buffer, uint32_t bytes)
{
    __atomic_store_n(&lane->used[buffer], bytes, __ATOMIC_RELAXED);
}

static bool is_empty(const struct lane *lane)
{
    return __atomic_load_n(&lane->used[0], __ATOMIC_RELAXED) == 0 &&
           __atomic_load_n(&lane->used[1], __ATOMIC_RELAXED) == 0;
}

static uint32_t room_of(const struct lane *lane)
{
    uint32_t left = SAMPLE_BUFFER_BYTES - lane->used[lane->active];
    uint32_t frames;

    if (left < sizeof(struct sample))
        return 0;
    frames = (left - (uint32_t)sizeof(struct sample)) / (uint32_t)sizeof(struct sample_frame);
    return frames < SAMPLE_FRAMES_MAX ? frames : SAMPLE_FRAMES_MAX;
}

/* Claims the first lane that is free and has room for `least` frames. NULL: there is none. */
static struct sample *claim(struct sample_buffers *buffers, unsigned lane, uint32_t least,
                            uint32_t *room_frames)
{
    for (unsigned i = 0; i < SAMPLE_LANES; i++) {
        unsigned number = (lane + i) % SAMPLE_LANES;
        struct lane *claimed = &buffers->lanes[number];

        if (!try_lane(claimed))
            continue;
        *room_frames = room_of(claimed);
        if (*room_frames >= least)
            return (struct sample *)(void *)(buffers->bytes[number][claimed->active] +
                                             claimed->used[claimed->active]);
        let_go(claimed);
    }
    return NULL;
}

struct sample *sample_buffers__claim(struct sample_buffers *buffers, unsigned lane,
                                     uint32_t *room_frames)
{
    struct sample *sample = claim(buffers, lane, SAMPLE_FRAMES_MAX, room_frames);

    if (!sample)
        sample = claim(buffers, lane, SAMPLE_FRAMES_LEAST, room_frames);
    if (!sample)
        atomic_fetch_add_explicit(&buffers->dropped, 1, memory_order_relaxed);
    return sample;
}

static struct lane *lane_of(struct sample_buffers *buffers, const struct sample *sample)
{
    size_t at = (size_t)((const char *)sample - &buffers->bytes[0][0][0]);

    return &buffers->lanes[at / sizeof(buffers->bytes[0])];
}

void sample_buffers__give_up(struct sample_buffers *buffers, struct sample *sample)
{
    let_go(lane_of(buffers, sample));
}

void sample_buffers__commit(struct sample_buffers *buffers, struct sample *sample)
{
    struct lane *lane = lane_of(buffers, sample);

    set_used(lane, lane->active,
             lane->used[lane->active] +
                 (uint32_t)(sizeof(*sample) + sample->frame_count * sizeof(*sample->frames)));
    let_go(lane);
}

/* Swaps the buffers of a lane. Returns the one that was written until now, or -1: a handler holds
 * the lane for too long. */
static int rotate(struct lane *lane)
{
    for (unsigned attempt = 0; !try_lane(lane); attempt++) {
        if (attempt == SWAP_ATTEMPTS)
            return -1;
        sched_yield();
    }
    lane->active ^= 1;
    let_go(lane);
    return (int)(lane->active ^ 1);
}

void sample_buffers__drain(struct sample_buffers *buffers, sample_visit visit, void *context)
{
    for (unsigned number = 0; number < SAMPLE_LANES; number++) {
        struct lane *lane = &buffers->lanes[number];
        int written = is_empty(lane) ? -1 : rotate(lane);
        uint32_t at = 0;

        if (written < 0)
            continue;
        if (lane->used[written] > buffers->fill_bytes)
            buffers->fill_bytes = lane->used[written];
        while (at < lane->used[written]) {
            const struct sample *sample =
                (const struct sample *)(const void *)(buffers->bytes[number][written] + at);

            visit(context, sample);
            at += (uint32_t)(sizeof(*sample) + sample->frame_count * sizeof(*sample->frames));
        }
        set_used(lane, (uint32_t)written, 0);
    }
}

uint64_t sample_buffers__dropped(const struct sample_buffers *buffers)
{
    return atomic_load_explicit(&buffers->dropped, memory_order_relaxed);
}

uint64_t sample_buffers__fill_bytes(const struct sample_buffers *buffers)
{
    return buffers->fill_bytes;
}
