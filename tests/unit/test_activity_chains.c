/* Frames with ids as a reader outside sees them: their parts of chains, whatever ends them. */
#include "native/activity/segment_reader.h"
#include "native/activity/treadle.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* cmocka.h needs the others before it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "logical_stack.h"
/* clang-format on */

/* OpenTelemetry's variable, as OTEP 4947 has it. */
__attribute__((visibility("default"))) __thread struct treadle__otel_context *otel_thread_ctx_v1;

static struct treadle_chain numbered(uint64_t number)
{
    return (struct treadle_chain){{0xfeedu, number}};
}

/* The parts since the test began, as "path id seen|unseen|open;", without the first word of the id.
 */
static const char *parts_text(struct segment_reader *reader, uint64_t from)
{
    static char text[4096];
    size_t used = 0;
    uint32_t max;
    uint64_t begun = segment_reader__parts(reader, &max);

    text[0] = '\0';
    for (uint64_t turn = from; turn < begun; turn++) {
        struct segment_part part;
        struct segment_stack stack = {.depth = 0};
        enum segment_part_read read = segment_reader__read_part(reader, turn, &part);

        if (read != SEGMENT_PART && read != SEGMENT_OPEN_PART)
            continue;
        stack.depth = part.count;
        memcpy(stack.frames, part.frames, part.count * sizeof part.frames[0]);
        used += (size_t)snprintf(text + used, sizeof text - used, "%s %" PRIu64 " %s;",
                                 text_of(reader, &stack), part.id[1],
                                 read == SEGMENT_OPEN_PART           ? "open"
                                 : part.flags & TREADLE_PART_UNENDED ? "unseen"
                                                                     : "seen");
    }
    return text;
}

static uint64_t begun(struct segment_reader *reader)
{
    uint32_t max;

    return segment_reader__parts(reader, &max);
}

static void a_frame_with_an_id_is_a_part(void **state)
{
    (void)state;
    struct segment_reader *reader = watched();
    uint64_t from = begun(reader);
    struct treadle_chain id;

    treadle_push("server");
    treadle_adopt_with("scan", "ORDERS", numbered(7));
    treadle_push_number("row", 3);
    id = treadle_id();
    assert_int_equal(id.word[0], 0xfeed);
    assert_int_equal(id.word[1], 7);
    assert_string_equal(stack_text(reader), "server/scan ORDERS/row 3");
    assert_string_equal(parts_text(reader, from), "server/scan ORDERS 7 open;");
    treadle_pop();
    treadle_pop();
    assert_string_equal(parts_text(reader, from), "server/scan ORDERS 7 seen;");
    id = treadle_id();
    assert_int_equal(id.word[0] | id.word[1], 0);
    treadle_pop();
    assert_string_equal(stack_text(reader), "");
    unwatched(reader);
}

/* The kernel's own clocks around the frame. */
static void times_are_the_kernels(void **state)
{
    (void)state;
    struct segment_reader *reader = watched();
    uint64_t from = begun(reader), cpu[2], wall[2];
    struct segment_part part;

    wall[0] = treadle__clock(TREADLE__MONOTONIC);
    cpu[0] = treadle__clock(TREADLE__THREAD_CPU);
    treadle_adopt("work", numbered(1));
    for (volatile unsigned i = 0; i < 3000000; i++)
        continue;
    usleep(3000);
    treadle_pop();
    cpu[1] = treadle__clock(TREADLE__THREAD_CPU);
    wall[1] = treadle__clock(TREADLE__MONOTONIC);
    assert_int_equal(segment_reader__read_part(reader, from, &part), SEGMENT_PART);
    assert_true(part.begin_ns >= wall[0] && part.begin_ns + part.elapsed_ns <= wall[1]);
    assert_true(part.elapsed_ns >= 3000000);
    assert_true(part.cpu_ns > 0 && part.cpu_ns <= cpu[1] - cpu[0]);
    assert_int_equal(part.tid, (int)treadle__call(SYS_gettid, 0, 0, 0, 0, 0, 0));
    unwatched(reader);
}

static void nested_frames_with_one_id_are_one_part(void **state)
{
    (void)state;
    struct segment_reader *reader = watched();
    uint64_t from = begun(reader);

    treadle_adopt("a", numbered(1));
    treadle_adopt("b", numbered(1));
    treadle_adopt("c", numbered(2));
    treadle_adopt("d", numbered(1));
    for (unsigned i = 0; i < 4; i++)
        treadle_pop();
    treadle_adopt("again", numbered(1));
    treadle_pop();
    treadle_adopt("none", (struct treadle_chain){{0, 0}});
    treadle_pop();
    assert_string_equal(parts_text(reader, from), "a 1 seen;a/b/c 2 seen;again 1 seen;");
    assert_string_equal(stack_text(reader), "");
    unwatched(reader);
}

__attribute__((noinline)) static void forget(uint64_t number)
{
    treadle_adopt("forgotten", numbered(number));
    TREADLE__STAY();
}

static jmp_buf out;

__attribute__((noinline)) static void jump(void)
{
    treadle_adopt("left", numbered(4));
    longjmp(out, 1);
}

__attribute__((noinline)) static void jump_twice(void)
{
    treadle_push("deep");
    jump();
}

__attribute__((noinline)) static void come_back(treadle_mark mark)
{
    if (setjmp(out) == 0)
        jump_twice();
    treadle_pop_to(mark);
}

static void what_is_forgotten_has_no_end(void **state)
{
    (void)state;
    struct segment_reader *reader = watched();
    uint64_t from = begun(reader);
    treadle_mark mark;

    treadle_push("outer");
    forget(1);
    treadle_push("next");
    treadle_pop();
    assert_string_equal(parts_text(reader, from), "outer/forgotten 1 unseen;");
    forget(2);
    treadle_pop();
    from++;
    assert_string_equal(parts_text(reader, from), "outer/forgotten 2 unseen;");
    assert_string_equal(stack_text(reader), "");
    from++;
    mark = treadle_adopt("marked", numbered(3));
    treadle_adopt("above", numbered(5));
    treadle_pop_to(mark);
    assert_string_equal(parts_text(reader, from), "marked 3 seen;marked/above 5 unseen;");
    from += 2;
    come_back(treadle_push("base"));
    assert_string_equal(parts_text(reader, from), "base/deep/left 4 unseen;");
    assert_string_equal(stack_text(reader), "");
    unwatched(reader);
}

static void a_scope_ends_its_part(void **state)
{
    (void)state;
    struct segment_reader *reader = watched();
    uint64_t from = begun(reader);

    {
        treadle_scope_adopt("scope", numbered(1));
        {
            treadle_scope_adopt_with("inner", "x", numbered(2));
        }
    }
    assert_string_equal(parts_text(reader, from), "scope 1 seen;scope/inner x 2 seen;");
    {
        treadle_scope_begin("one");
        treadle_scope_begin_with("two", "y");
        struct segment_part one, two;

        assert_int_equal(segment_reader__read_part(reader, from + 2, &one), SEGMENT_OPEN_PART);
        assert_int_equal(segment_reader__read_part(reader, from + 3, &two), SEGMENT_OPEN_PART);
        assert_true(one.id[0] != two.id[0] && one.id[1] != two.id[1]);
    }
    unwatched(reader);
}

static void *leave_a_part(void *context)
{
    treadle_adopt("ends", *(struct treadle_chain *)context);
    return NULL;
}

static void a_thread_and_a_watch_end_parts(void **state)
{
    (void)state;
    struct segment_reader *reader = watched();
    uint64_t from = begun(reader);
    struct treadle_chain id = numbered(1);
    pthread_t thread;

    assert_int_equal(pthread_create(&thread, NULL, leave_a_part, &id), 0);
    pthread_join(thread, NULL);
    assert_string_equal(parts_text(reader, from), "ends 1 unseen;");
    treadle_adopt("watched", numbered(2));
    unwatched(reader);
    assert_int_equal(treadle_id().word[1], 0);
    treadle_adopt("nobody sees", numbered(3));
    treadle_pop();
    reader = watched();
    treadle_push("new");
    assert_string_equal(parts_text(reader, from + 1), "watched 2 unseen;");
    treadle_pop();
    unwatched(reader);
}

static void a_forked_child_has_parts_of_its_own(void **state)
{
    (void)state;
    struct segment_reader *reader = watched();
    uint64_t from = begun(reader);
    pid_t child;
    int status;

    treadle_adopt("parent", numbered(1));
    child = fork();
    if (child == 0) {
        struct segment_reader *own = watched();
        uint64_t own_from = begun(own);

        treadle_pop(); /* the parent's */
        treadle_adopt("child", numbered(2));
        treadle_pop();
        _exit(own_from == 0 && strcmp(parts_text(own, 0), "child 2 seen;") == 0 ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_string_equal(parts_text(reader, from), "parent 1 open;");
    treadle_pop();
    assert_string_equal(parts_text(reader, from), "parent 1 seen;");
    unwatched(reader);
}

/* Parts that are under way keep their places; the oldest that are over give way. */
static void the_ring_goes_round(void **state)
{
    (void)state;
    struct segment_reader *reader = watched();
    uint64_t from = begun(reader);
    struct segment_part part;

    treadle_adopt("lasts", numbered(1));
    for (unsigned i = 0; i < 2 * TREADLE_PARTS; i++) {
        treadle_adopt("short", numbered(i + 2));
        treadle_pop();
    }
    assert_int_equal(segment_reader__read_part(reader, from, &part), SEGMENT_OPEN_PART);
    treadle_pop();
    assert_int_equal(segment_reader__read_part(reader, from, &part), SEGMENT_PART);
    assert_int_equal(part.id[1], 1);
    assert_int_equal(segment_reader__read_part(reader, from + 1, &part), SEGMENT_PART_GONE);
    assert_int_equal(segment_reader__read_part(reader, begun(reader) - 1, &part), SEGMENT_PART);
    assert_int_equal(part.id[1], 2 * TREADLE_PARTS + 1);
    assert_int_equal(segment_reader__read_part(reader, begun(reader), &part), SEGMENT_NO_PART);
    assert_int_equal(segment_reader__losses(reader).lost_parts, 0);
    unwatched(reader);
}

static _Atomic bool is_over;

static void *adopt_all_the_time(void *context)
{
    uint64_t first = *(const uint64_t *)context;

    for (uint64_t i = 0; !atomic_load(&is_over); i++) {
        treadle_adopt_with("all the time", i % 2 ? "odd" : "even",
                           (struct treadle_chain){{first + i, ~(first + i)}});
        treadle_pop();
    }
    return NULL;
}

/* What is read is always one part: both halves of its id, its path and its times belong together.
 */
static void no_torn_part_is_seen(void **state)
{
    (void)state;
    struct segment_reader *reader = watched();
    uint64_t firsts[] = {2, UINT64_C(1) << 40, UINT64_C(1) << 50}, seen = 0;
    uint64_t from = begun(reader); /* what is before is another test's */
    pthread_t threads[3];

    atomic_store(&is_over, false);
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, adopt_all_the_time, &firsts[i]), 0);
    for (uint64_t turn = begun(reader); seen < 20000; turn = begun(reader)) {
        struct segment_part part;
        enum segment_part_read read;

        turn = turn > from + 3 ? turn - 3 : from;
        read = segment_reader__read_part(reader, turn, &part);
        if (read != SEGMENT_PART && read != SEGMENT_OPEN_PART)
            continue;
        seen++;
        assert_int_equal(part.id[0], ~part.id[1]);
        assert_int_equal(part.count, 1);
        assert_int_equal(part.frames[0].length, part.id[0] % 2 ? 3 : 4);
        assert_memory_equal(part.frames[0].text, part.id[0] % 2 ? "odd" : "even", 3);
        assert_true(part.cpu_ns <= part.elapsed_ns);
    }
    atomic_store(&is_over, true);
    for (unsigned i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    unwatched(reader);
}

static void a_changed_part_is_none(void **state)
{
    (void)state;
    struct segment_reader *reader = watched();
    uint64_t from = begun(reader);
    struct treadle_part *there;
    struct segment_part part;

    treadle_adopt_with("a", "b", numbered(1));
    treadle_pop();
    there = treadle__part_at(treadle__process.head, from);
    assert_int_equal(segment_reader__read_part(reader, from, &part), SEGMENT_PART);
    uint64_t *const words[] = {&there->id[0],
                               &there->id[1],
                               &there->begin_ns,
                               &there->end_ns,
                               &there->cpu_ns,
                               &there->frames[0].what,
                               &there->frames[0].parameter[3]};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        *words[i] ^= 1;
        assert_int_equal(segment_reader__read_part(reader, from, &part), SEGMENT_NO_PART);
        *words[i] ^= 1;
    }
    there->depth = UINT32_MAX;
    assert_int_equal(segment_reader__read_part(reader, from, &part), SEGMENT_NO_PART);
    there->depth = 1;
    assert_int_equal(segment_reader__read_part(reader, from, &part), SEGMENT_PART);
    unwatched(reader);
}

/* The head may say anything of the ring; the reader keeps what it was told first. */
static void a_ring_that_cannot_be_is_none(void **state)
{
    (void)state;
    struct segment_reader *reader = watched();
    struct treadle_head *head = treadle__process.head;
    struct segment_part part;
    uint32_t max;

    treadle_adopt("a", numbered(1));
    treadle_pop();
    for (unsigned i = 0; i < 2; i++) {
        head->parts_max = i ? UINT32_MAX : SEGMENT_PARTS_MAX + 1;
        assert_int_equal(segment_reader__parts(reader, &max), 0);
        assert_int_equal(max, 0);
        assert_int_equal(segment_reader__read_part(reader, 0, &part), SEGMENT_PART_GONE);
    }
    head->parts_max = SEGMENT_PARTS_MAX; /* more than the file has */
    assert_int_equal(segment_reader__parts(reader, &max), 0);
    (void)segment_reader__read_part(reader, UINT64_MAX, &part);
    head->parts_max = TREADLE_PARTS;
    assert_true(segment_reader__parts(reader, &max) > 0);
    unwatched(reader);
}

static void opentelemetrys_trace_is_the_id(void **state)
{
    (void)state;
    struct segment_reader *reader = watched();
    struct treadle__otel_context context = {.valid = 1};
    struct segment_part part;
    uint64_t from = begun(reader);

    for (unsigned i = 0; i < 16; i++)
        context.trace_id[i] = (uint8_t)(0x10 + i);
    assert_true(treadle__chains.has_otel); /* the executable exports its symbols */
    otel_thread_ctx_v1 = &context;
    treadle_push("traced");
    treadle_push("inner");
    treadle_pop();
    treadle_pop();
    assert_int_equal(segment_reader__read_part(reader, from, &part), SEGMENT_PART);
    assert_int_equal(part.id[0], UINT64_C(0x1011121314151617));
    assert_int_equal(part.id[1], UINT64_C(0x18191a1b1c1d1e1f));
    assert_int_equal(part.flags, TREADLE_PART_OTEL);
    context.valid = 0;
    treadle_push("being written");
    treadle_pop();
    otel_thread_ctx_v1 = NULL;
    treadle_push("none");
    treadle_pop();
    treadle_pop();
    assert_int_equal(begun(reader), from + 1);
    assert_string_equal(stack_text(reader), "");
    unwatched(reader);
}

static void ids_are_text(void **state)
{
    (void)state;
    static const char *const bad[] = {"", "x", "0123456789abcdef0123456789abcdeg",
                                      "0123456789abcdef0123456789abcdef0",
                                      "0123456789abcdef0123456789abcde"};
    char text[TREADLE_ID_TEXT_BYTES];
    struct treadle_chain id = treadle_id_of_text("0123456789ABCdef00000000000000ff");

    assert_int_equal(id.word[0], UINT64_C(0x0123456789abcdef));
    assert_int_equal(id.word[1], 0xff);
    treadle_id_text(id, text);
    assert_string_equal(text, "0123456789abcdef00000000000000ff");
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        id = treadle_id_of_text(bad[i]);
        assert_int_equal(id.word[0] | id.word[1], 0);
    }
}

static void the_format_is_what_it_was(void **state)
{
    (void)state;
    assert_int_equal(offsetof(struct treadle_head, part_bytes), 76);
    assert_int_equal(offsetof(struct treadle_head, parts_begun), 112);
    assert_int_equal(offsetof(struct treadle_head, parts_offset), 120);
    assert_int_equal(offsetof(struct treadle_head, parts_max), 124);
    assert_int_equal(offsetof(struct treadle_head, lost_parts), 192);
    assert_int_equal(offsetof(struct treadle_head, pid_namespace), 200);
    assert_int_equal(sizeof(struct treadle_part), 72 + 10 * 64);
    assert_int_equal(offsetof(struct treadle_part, id), 16);
    assert_int_equal(offsetof(struct treadle_part, begin_ns), 32);
    assert_int_equal(offsetof(struct treadle_part, cpu_ns), 48);
    assert_int_equal(offsetof(struct treadle_part, tid), 56);
    assert_int_equal(offsetof(struct treadle_part, depth), 64);
    assert_int_equal(offsetof(struct treadle_part, frames), 72);
    assert_int_equal(sizeof(struct treadle__otel_context), 28);
    assert_int_equal(offsetof(struct treadle__otel_context, valid), 24);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_frame_with_an_id_is_a_part),
        cmocka_unit_test(times_are_the_kernels),
        cmocka_unit_test(nested_frames_with_one_id_are_one_part),
        cmocka_unit_test(what_is_forgotten_has_no_end),
        cmocka_unit_test(a_scope_ends_its_part),
        cmocka_unit_test(a_thread_and_a_watch_end_parts),
        cmocka_unit_test(a_forked_child_has_parts_of_its_own),
        cmocka_unit_test(the_ring_goes_round),
        cmocka_unit_test(no_torn_part_is_seen),
        cmocka_unit_test(a_changed_part_is_none),
        cmocka_unit_test(a_ring_that_cannot_be_is_none),
        cmocka_unit_test(opentelemetrys_trace_is_the_id),
        cmocka_unit_test(ids_are_text),
        cmocka_unit_test(the_format_is_what_it_was),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
