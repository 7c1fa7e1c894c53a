/* The segment of logical stacks as its readers take it: while it changes, when its process is gone,
 * and where it is not what it should be. */
#include "native/activity/segment_reader.h"
#include "native/activity/treadle.h"
#include "native/fault_guard.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
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

static void the_segment_of_a_killed_process_can_be_read(void **state)
{
    (void)state;
    int ready[2], status;
    char byte;
    pid_t child;

    assert_int_equal(pipe(ready), 0);
    child = fork();
    if (child == 0) {
        struct segment_reader *own;

        treadle_push("first");
        treadle_pop();
        own = watched();
        (void)own;
        treadle_push("query");
        treadle_push_with("sort", "ORDERS");
        (void)!write(ready[1], "x", 1);
        pause();
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    char *path = segment_path(child);
    assert_non_null(path);
    char why[200];
    struct segment_reader *reader = segment_reader__open(path, why, sizeof why);
    assert_non_null(reader);
    assert_string_equal(stack_text_of(reader, child), "query/sort ORDERS");
    segment_reader__close(reader);
    unlink(path);
    free(path);
    close(ready[0]);
    close(ready[1]);
}

/* A reader that was killed cannot say that it is over. */
static void a_watch_ends_with_its_lease(void **state)
{
    (void)state;
    struct segment_reader *reader = watched();

    assert_int_equal(segment_reader__watch(reader, 0), 0);
    treadle__process.head->watch_until_ns = 1;
    assert_int_not_equal(treadle__process.head->watch, 0);
    for (unsigned i = 0; i < (1u << 20) + 2; i++) {
        treadle_push("a");
        treadle_pop();
    }
    assert_int_equal(treadle__process.head->watch, 0);
    segment_reader__close(reader);
}

static void two_readers_watch_and_the_last_one_ends_it(void **state)
{
    (void)state;
    struct segment_reader *one = watched(), *two = watched();

    unwatched(one);
    assert_int_not_equal(treadle__process.head->watch, 0);
    treadle_push("seen");
    assert_string_equal(stack_text(two), "seen");
    treadle_pop();
    unwatched(two);
    assert_int_equal(treadle__process.head->watch, 0);
}

static _Atomic bool stop_pushing;

static void *push_all_the_time(void *context)
{
    (void)context;
    for (int64_t i = 0; !stop_pushing; i++) {
        treadle_push_number("outer", i & 1);
        treadle_push_with("inner", i & 2 ? "a parameter of 32 bytes to tear" : "b");
        treadle_push("leaf");
        treadle_pop();
        treadle_pop();
        treadle_pop();
    }
    return NULL;
}

/* Whatever a reader sees of a thread that never rests is a stack that there was. */
static void no_torn_frame_is_seen(void **state)
{
    (void)state;
    static const char *const possible[] = {"",
                                           "outer 0",
                                           "outer 1",
                                           "outer 0/inner b",
                                           "outer 1/inner b",
                                           "outer 0/inner b/leaf",
                                           "outer 1/inner b/leaf",
                                           "outer 0/inner a parameter of 32 bytes to tear",
                                           "outer 1/inner a parameter of 32 bytes to tear",
                                           "outer 0/inner a parameter of 32 bytes to tear/leaf",
                                           "outer 1/inner a parameter of 32 bytes to tear/leaf"};
    struct segment_reader *reader = watched();
    unsigned seen = 0, torn = 0;
    struct segment_stack stack;
    pthread_t thread;

    stop_pushing = false;
    assert_int_equal(pthread_create(&thread, NULL, push_all_the_time, NULL), 0);
    while (seen < 100000)
        for (uint32_t slot = 0; slot < segment_reader__slots(reader); slot++) {
            enum segment_read read = segment_reader__read(reader, slot, &stack);
            bool found = false;

            seen++;
            torn += read == SEGMENT_TORN;
            if (read != SEGMENT_STACK || stack.tid == gettid())
                continue;
            const char *text = text_of(reader, &stack);
            for (size_t i = 0; i < sizeof possible / sizeof possible[0]; i++)
                found |= strcmp(text, possible[i]) == 0;
            if (!found)
                fail_msg("a stack that there never was: %s", text);
        }
    stop_pushing = true;
    pthread_join(thread, NULL);
    print_message("%u of %u looks gave up\n", torn, seen);
    unwatched(reader);
}

/* A frame that was written in part: not seen if it is the youngest, which may be half pushed; else
 * the stack is given up. */
static void a_frame_with_a_wrong_check_is_not_seen(void **state)
{
    (void)state;
    struct segment_reader *reader = watched();
    struct segment_stack stack;

    treadle_push_number("query", 1);
    treadle_push_with("scan", "ORDERS");
    treadle__slot->frames[1].parameter[0] ^= 1;
    assert_string_equal(stack_text(reader), "query 1");
    treadle__slot->frames[1].parameter[0] ^= 1;
    assert_string_equal(stack_text(reader), "query 1/scan ORDERS");
    treadle__slot->frames[0].parameter[0] ^= 1;
    assert_int_equal(segment_reader__read(reader, 0, &stack), SEGMENT_TORN);
    treadle__slot->frames[0].parameter[0] ^= 1;
    treadle__slot->frames[0].serial += 2;
    assert_int_equal(segment_reader__read(reader, 0, &stack), SEGMENT_TORN);
    treadle__slot->frames[0].serial -= 2;
    treadle_pop();
    treadle_pop();
    unwatched(reader);
}

/* A copy of the segment with one field of the head changed. */
static struct segment_reader *open_changed(size_t offset, uint32_t value, off_t bytes,
                                           char why[200])
{
    char path[] = "/tmp/treadle-changed-XXXXXX";
    size_t whole = TREADLE__BYTES_FOR(TREADLE_SLOTS_STEP);
    char *copy = malloc(whole);
    int fd = mkstemp(path);
    struct segment_reader *reader;

    memcpy(copy, treadle__process.head, whole);
    memcpy(copy + offset, &value, sizeof value);
    assert_int_equal(write(fd, copy, whole), (ssize_t)whole);
    assert_int_equal(ftruncate(fd, bytes ? bytes : (off_t)whole), 0);
    close(fd);
    free(copy);
    reader = segment_reader__open(path, why, 200);
    unlink(path);
    return reader;
}

static void a_head_that_cannot_be_is_refused(void **state)
{
    (void)state;
    static const struct {
        size_t offset;
        uint32_t value;
        const char *part;
    } changes[] = {
        {offsetof(struct treadle_head, magic), 0, "no segment"},
        {offsetof(struct treadle_head, format), 2,
         "format 2 of the program's treadle.h, expected 1"},
        {offsetof(struct treadle_head, byte_order), 1, "byte order"},
        {offsetof(struct treadle_head, slots_offset), UINT32_MAX - 7, "which cannot be"},
        {offsetof(struct treadle_head, slots_offset), 4, "which cannot be"},
        {offsetof(struct treadle_head, slot_bytes), 0, "which cannot be"},
        {offsetof(struct treadle_head, slot_bytes), 64, "which cannot be"},
        {offsetof(struct treadle_head, slots_max), UINT32_MAX, "which cannot be"},
        {offsetof(struct treadle_head, frames_max), 1000, "which cannot be"},
        {offsetof(struct treadle_head, frame_bytes), 8, "which cannot be"},
        {offsetof(struct treadle_head, frames_offset), 8, "which cannot be"},
        {offsetof(struct treadle_head, identifiers_offset), 3, "which cannot be"},
        {offsetof(struct treadle_head, identifier_bytes), 60, "which cannot be"},
    };
    struct segment_reader *reader = watched();
    char why[200];

    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        assert_null(open_changed(changes[i].offset, changes[i].value, 0, why));
        if (!strstr(why, changes[i].part))
            fail_msg("change %zu: %s", i, why);
    }
    assert_null(open_changed(offsetof(struct treadle_head, magic), 0, 100, why));
    unwatched(reader);
}

/* Frames, slots and identifiers of a later header may be larger, and the head has more fields. */
static void a_later_layout_of_the_same_format_is_read(void **state)
{
    (void)state;
    enum { FRAME = 96, SLOT = 128 + 4 * FRAME, TEXT = 128, HEAD = 8192 };
    struct segment_reader *reader = watched();
    char path[] = "/tmp/treadle-later-XXXXXX", why[200];
    static uint64_t words[(HEAD + 4 * TEXT + 2 * SLOT) / 8];
    char *bytes = (char *)words;
    struct treadle_head *head = (void *)bytes;
    int fd = mkstemp(path);

    treadle_push("query");
    treadle_push_number("row", 5);
    *head = *treadle__process.head;
    head->head_bytes = HEAD;
    head->identifiers_offset = HEAD;
    head->identifier_bytes = TEXT;
    head->identifiers_max = 4;
    head->slots_offset = HEAD + 4 * TEXT;
    head->slot_bytes = SLOT;
    head->frame_bytes = FRAME;
    head->frames_offset = 128;
    head->frames_max = 4;
    head->slots_max = 2;
    head->slots_used = 1;
    char *slot = bytes + head->slots_offset;
    memcpy(slot, treadle__slot, 64);
    for (unsigned i = 0; i < 2; i++) {
        struct treadle_frame frame = treadle__slot->frames[i];
        struct treadle_identifier *text = (void *)(bytes + HEAD + (i + 1) * TEXT);

        frame.what = TREADLE_WHAT(i + 1, frame.what >> 32 & 0xff, 0);
        frame.check = treadle__check(frame.serial, frame.place, frame.what, i ? 5 : 0);
        memcpy(slot + 128 + i * FRAME, &frame, sizeof frame);
        text->length = i ? 3 : 5;
        memcpy(text->text, i ? "row" : "query", 5 - 2 * i);
    }
    assert_int_equal(write(fd, bytes, sizeof words), sizeof words);
    close(fd);
    struct segment_reader *later = segment_reader__open(path, why, sizeof why);
    unlink(path);
    assert_non_null(later);
    assert_string_equal(stack_text(later), "query/row 5");
    segment_reader__close(later);
    treadle_pop();
    treadle_pop();
    unwatched(reader);
}

/* What the file lost while it was mapped is a fault for the reader alone. */
static void a_file_that_is_cut_is_a_guarded_fault(void **state)
{
    (void)state;
    struct segment_reader *reader = watched();
    char path[] = "/dev/shm/treadle-cut-XXXXXX", why[200];
    struct fault_guard guard;
    volatile bool faulted = false;
    int fd = mkstemp(path);

    assert_int_equal(write(fd, treadle__process.head, TREADLE__BYTES_FOR(TREADLE_SLOTS_STEP)),
                     (ssize_t)TREADLE__BYTES_FOR(TREADLE_SLOTS_STEP));
    struct segment_reader *cut = segment_reader__open(path, why, sizeof why);
    assert_non_null(cut);
    assert_int_equal(ftruncate(fd, 0), 0);
    assert_int_equal(fault_guard__install(), 0);
    if (fault_guard__enter(&guard) == 0)
        (void)stack_text(cut);
    else
        faulted = true;
    fault_guard__leave(&guard);
    fault_guard__remove();
    assert_true(faulted);
    segment_reader__close(cut);
    unlink(path);
    close(fd);
    unwatched(reader);
}

/* Only a file of the own user that no other can open. */
static void a_file_that_others_can_write_is_refused(void **state)
{
    (void)state;
    struct segment_reader *reader = watched();
    char path[] = "/tmp/treadle-open-XXXXXX", why[200];
    int fd = mkstemp(path);

    assert_int_equal(write(fd, treadle__process.head, 8192), 8192);
    assert_int_equal(fchmod(fd, 0622), 0);
    assert_null(segment_reader__open(path, why, sizeof why));
    assert_non_null(strstr(why, "mode 600"));
    unlink(path);
    close(fd);
    struct stat made;
    assert_int_equal(stat(segment_reader__path(reader), &made), 0);
    assert_int_equal(made.st_mode & 0777, 0600);
    unwatched(reader);
}

/* The format is a contract with tools and programs of other ages. */
static void the_format_is_what_it_was(void **state)
{
    (void)state;
    assert_int_equal(TREADLE_FORMAT, 1);
    assert_int_equal(sizeof(struct treadle_frame), 64);
    assert_int_equal(offsetof(struct treadle_frame, serial), 8);
    assert_int_equal(offsetof(struct treadle_frame, place), 16);
    assert_int_equal(offsetof(struct treadle_frame, what), 24);
    assert_int_equal(offsetof(struct treadle_frame, parameter), 32);
    assert_int_equal(sizeof(struct treadle_slot), 64 + 10 * 64);
    assert_int_equal(offsetof(struct treadle_slot, tid), 8);
    assert_int_equal(offsetof(struct treadle_slot, watch), 12);
    assert_int_equal(offsetof(struct treadle_slot, above), 16);
    assert_int_equal(offsetof(struct treadle_slot, lost_frames), 24);
    assert_int_equal(offsetof(struct treadle_slot, frames), 64);
    assert_int_equal(sizeof(struct treadle_identifier), 64);
    assert_int_equal(offsetof(struct treadle_head, format), 8);
    assert_int_equal(offsetof(struct treadle_head, pid), 20);
    assert_int_equal(offsetof(struct treadle_head, start_ticks), 24);
    assert_int_equal(offsetof(struct treadle_head, identifiers_offset), 32);
    assert_int_equal(offsetof(struct treadle_head, slots_used), 72);
    assert_int_equal(offsetof(struct treadle_head, lost_threads), 80);
    assert_int_equal(offsetof(struct treadle_head, watch), 128);
    assert_int_equal(offsetof(struct treadle_head, watch_until_ns), 136);
    assert_int_equal(offsetof(struct treadle_head, pid_namespace), 200);
    assert_int_equal(offsetof(struct treadle_head, unrecorded), 208);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_segment_of_a_killed_process_can_be_read),
        cmocka_unit_test(a_watch_ends_with_its_lease),
        cmocka_unit_test(two_readers_watch_and_the_last_one_ends_it),
        cmocka_unit_test(no_torn_frame_is_seen),
        cmocka_unit_test(a_frame_with_a_wrong_check_is_not_seen),
        cmocka_unit_test(a_head_that_cannot_be_is_refused),
        cmocka_unit_test(a_later_layout_of_the_same_format_is_read),
        cmocka_unit_test(a_file_that_is_cut_is_a_guarded_fault),
        cmocka_unit_test(a_file_that_others_can_write_is_refused),
        cmocka_unit_test(the_format_is_what_it_was),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
