/* Samples between handlers and the drainer: none lost, none twice, what is dropped is counted. */
#include "native/sampling/sample_buffers.h"

#include <pthread.h>
#include <stdatomic.h>

/* cmocka.h needs the others before it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#define THREADS 6
#define EACH    20000

struct seen {
    unsigned samples;
    uint64_t last_ns;
};

static void count(void *context, const struct sample *sample)
{
    struct seen *seen = context;
    seen->samples++;
    seen->last_ns = sample->when_ns;
}

static unsigned drain(struct sample_buffers *buffers)
{
    struct seen seen = {0};
    sample_buffers__drain(buffers, count, &seen);
    return seen.samples;
}

static uint32_t fill(struct sample_buffers *buffers, unsigned lane)
{
    uint32_t room = 0;
    struct sample *sample = sample_buffers__claim(buffers, lane, &room);
    if (sample == NULL)
        return 0;
    sample->frame_count = room;
    sample_buffers__commit(buffers, sample);
    return room;
}

static void what_goes_in_comes_out_once(void **state)
{
    (void)state;
    struct sample_buffers *buffers = sample_buffers__new();
    struct seen seen = {0};
    uint32_t room;
    assert_non_null(buffers);
    struct sample *sample = sample_buffers__claim(buffers, 3, &room);
    assert_non_null(sample);
    assert_int_equal(room, SAMPLE_FRAMES_MAX);
    sample->frame_count = 0;
    sample->when_ns = 17;
    sample_buffers__commit(buffers, sample);
    sample_buffers__drain(buffers, count, &seen);
    assert_int_equal(seen.samples, 1);
    assert_int_equal(seen.last_ns, 17);
    assert_int_equal(drain(buffers), 0);
    assert_int_equal(sample_buffers__fill_bytes(buffers), 80);
    sample_buffers__delete(buffers);
    sample_buffers__delete(NULL);
}

/* 80 bytes and 16 a frame: of 512 KiB seven of 4096 frames leave 64976 bytes, which are 4056
 * frames; then the lane is full to the last byte. Where there is room for 4096 comes first. */
static void full_lanes_drop(void **state)
{
    (void)state;
    struct sample_buffers *buffers = sample_buffers__new();
    assert_non_null(buffers);
    for (int turn = 0; turn < 3; turn++) {
        for (unsigned i = 0; i < 8 * SAMPLE_LANES; i++)
            assert_int_equal(fill(buffers, 5), i < 7 * SAMPLE_LANES ? 4096 : 4056);
        assert_int_equal(fill(buffers, 5), 0);
        assert_int_equal(sample_buffers__dropped(buffers), turn + 1);
        assert_int_equal(drain(buffers), 8 * SAMPLE_LANES);
        assert_int_equal(sample_buffers__fill_bytes(buffers), SAMPLE_BUFFER_BYTES);
    }
    sample_buffers__delete(buffers);
}

/* Room for less than 128 frames is none: here for 37, 42 less what the header takes. */
static void a_little_room_is_none(void **state)
{
    (void)state;
    struct sample_buffers *buffers = sample_buffers__new();
    uint32_t room;
    assert_non_null(buffers);
    for (unsigned i = 0; i < 7 * SAMPLE_LANES; i++)
        assert_int_equal(fill(buffers, 0), 4096);
    for (unsigned i = 0; i < SAMPLE_LANES; i++) {
        struct sample *sample = sample_buffers__claim(buffers, 0, &room);
        assert_non_null(sample);
        assert_int_equal(room, 4056);
        sample->frame_count = 4056 - 42;
        sample_buffers__commit(buffers, sample);
    }
    assert_int_equal(sample_buffers__dropped(buffers), 0);
    assert_null(sample_buffers__claim(buffers, 0, &room));
    assert_int_equal(sample_buffers__dropped(buffers), 1);
    sample_buffers__delete(buffers);
}

static void what_is_given_up_was_not(void **state)
{
    (void)state;
    struct sample_buffers *buffers = sample_buffers__new();
    uint32_t room;
    assert_non_null(buffers);
    for (int i = 0; i < 1000; i++) {
        struct sample *sample = sample_buffers__claim(buffers, 1, &room);
        assert_non_null(sample);
        assert_int_equal(room, SAMPLE_FRAMES_MAX);
        sample->frame_count = room;
        sample_buffers__give_up(buffers, sample);
    }
    assert_int_equal(drain(buffers), 0);
    assert_int_equal(sample_buffers__dropped(buffers), 0);
    sample_buffers__delete(buffers);
}

/* Handlers nest, and a thread may be preempted in one for long: the others go on. */
static void a_lane_that_is_held_is_passed_by(void **state)
{
    (void)state;
    struct sample_buffers *buffers = sample_buffers__new();
    struct sample *held[SAMPLE_LANES];
    uint32_t room;
    assert_non_null(buffers);
    assert_int_equal(fill(buffers, 0), 4096);
    for (unsigned i = 0; i < SAMPLE_LANES; i++) {
        held[i] = sample_buffers__claim(buffers, 0, &room);
        assert_non_null(held[i]);
        held[i]->frame_count = 1;
        for (unsigned j = 0; j < i; j++)
            assert_ptr_not_equal(held[j], held[i]);
    }
    assert_null(sample_buffers__claim(buffers, 7, &room));
    assert_int_equal(sample_buffers__dropped(buffers), 1);
    /* Its writer does not come to an end: later. */
    assert_int_equal(drain(buffers), 0);
    for (unsigned i = 0; i < SAMPLE_LANES; i++)
        sample_buffers__commit(buffers, held[i]);
    assert_int_equal(drain(buffers), 1 + SAMPLE_LANES);
    sample_buffers__delete(buffers);
}

static void a_frame_is_what_it_was_made_of(void **state)
{
    (void)state;
    struct sample_frame frame =
        sample_frame__make(FRAME_COMPILED, UINT64_MAX, UINT64_C(0xffff7fffdeadbeef));
    assert_int_equal(sample_frame__kind(&frame), FRAME_COMPILED);
    assert_int_equal(frame.where, UINT64_MAX);
    assert_int_equal(sample_frame__detail(&frame), UINT64_C(0xff7fffdeadbeef));
}

/* ---- many threads ---- */

struct traffic {
    struct sample_buffers *buffers;
    _Atomic unsigned next_thread;
    _Atomic unsigned failed;
    _Atomic unsigned over;
    unsigned drained;
    unsigned wrong;
    bool seen[THREADS][EACH];
};

static uint32_t frames_of(unsigned thread, unsigned number)
{
    return number % 500 == 0 ? 2000 : (thread * 7 + number) % 40;
}

static void send(struct traffic *traffic, unsigned thread, unsigned number)
{
    uint32_t room;
    struct sample *sample = sample_buffers__claim(traffic->buffers, thread * 3 + number, &room);
    if (sample == NULL) {
        atomic_fetch_add(&traffic->failed, 1);
        return;
    }
    sample->tid = (int32_t)thread;
    sample->when_ns = number;
    sample->frame_count = frames_of(thread, number) < room ? frames_of(thread, number) : room;
    for (uint32_t i = 0; i < sample->frame_count; i++)
        sample->frames[i] = sample_frame__make(FRAME_NATIVE, (uint64_t)number + i, thread);
    sample_buffers__commit(traffic->buffers, sample);
}

static void *send_all(void *context)
{
    struct traffic *traffic = context;
    unsigned thread = atomic_fetch_add(&traffic->next_thread, 1);
    for (unsigned number = 0; number < EACH; number++)
        send(traffic, thread, number);
    atomic_fetch_add(&traffic->over, 1);
    return NULL;
}

static void check_arrival(void *context, const struct sample *sample)
{
    struct traffic *traffic = context;
    unsigned thread = (unsigned)sample->tid, number = (unsigned)sample->when_ns;
    traffic->drained++;
    if (thread >= THREADS || number >= EACH || traffic->seen[thread][number]) {
        traffic->wrong++;
        return;
    }
    traffic->seen[thread][number] = true;
    for (uint32_t i = 0; i < sample->frame_count; i++)
        traffic->wrong += sample->frames[i].where != (uint64_t)number + i ||
                          sample_frame__detail(&sample->frames[i]) != thread;
}

static void nothing_is_lost_and_nothing_comes_twice(void **state)
{
    (void)state;
    static struct traffic traffic;
    pthread_t threads[THREADS];
    traffic.buffers = sample_buffers__new();
    assert_non_null(traffic.buffers);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, send_all, &traffic), 0);
    while (atomic_load(&traffic.over) < THREADS)
        sample_buffers__drain(traffic.buffers, check_arrival, &traffic);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    sample_buffers__drain(traffic.buffers, check_arrival, &traffic);
    assert_int_equal(traffic.wrong, 0);
    assert_int_equal(sample_buffers__dropped(traffic.buffers), traffic.failed);
    assert_int_equal(traffic.drained + traffic.failed, THREADS * EACH);
    assert_true(traffic.drained > 0);
    sample_buffers__delete(traffic.buffers);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_goes_in_comes_out_once),
        cmocka_unit_test(full_lanes_drop),
        cmocka_unit_test(a_little_room_is_none),
        cmocka_unit_test(what_is_given_up_was_not),
        cmocka_unit_test(a_lane_that_is_held_is_passed_by),
        cmocka_unit_test(a_frame_is_what_it_was_made_of),
        cmocka_unit_test(nothing_is_lost_and_nothing_comes_twice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
