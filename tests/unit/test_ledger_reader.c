/* Reading ledgers: what is written comes back; what is damaged gives one line, never a crash. */
#include "native/ledger/ledger_reader.h"
#include "native/proc/process_stat.h"
#include "tests/ledger_drawing.h"
#include "tests/unit/drawn_numbers.h"
#include "tools/report/report_callers.h"
#include "tools/report/report_flat.h"
#include "tools/report/report_model.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
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
/* clang-format on */

#define FLIPS       6000u
#define MESSAGE_MAX 512

/*
 * main               (thread)            worker    (thread)
 *   demo.Main.main   x1  10, 7 faults      demo.Main.run  x2  20
 *     demo.Main.run  x5  30
 */
static void draw(struct drawing *drawing)
{
    static char long_name[9000];
    drawing__begin(drawing, 1u << 20);
    ledger_ref method_main = drawing__method(drawing, "demo.Main", "main", "()V");
    ledger_ref method_run = drawing__method(drawing, "demo.Main", "run", "()V");
    ledger_ref first = drawing__thread(drawing, "main", THREAD_PLATFORM, 0);
    ledger_ref in_main = drawing__call(drawing, drawing__root(drawing, first), method_main, 1, 10);
    drawing__call(drawing, in_main, method_run, 5, 30);
    drawing__side(drawing, in_main, METRIC_MINOR_FAULTS, 7);
    ledger_ref second = drawing__thread(drawing, "worker", THREAD_PLATFORM, 0);
    drawing__call(drawing, drawing__root(drawing, second), method_run, 2, 20);
    ledger__rename_thread(&drawing->ledger, drawing__thread_at(drawing, second), "idle", 4, 5);
    memset(long_name, 'n', sizeof(long_name));
    drawing->ledger.header->command =
        ledger__string(&drawing->ledger, long_name, sizeof(long_name));
    drawing->ledger.header->state = LEDGER_CLOSED;
}

static struct ledger_reader *read_drawing(const struct drawing *drawing)
{
    char message[MESSAGE_MAX] = "";
    struct ledger_reader *reader =
        ledger_reader__open_fd(drawing->ledger.fd, "drawing", message, sizeof(message));
    assert_string_equal(message, "");
    assert_non_null(reader);
    return reader;
}

static void assert_string(const struct ledger_reader *reader, ledger_ref ref, const char *expected)
{
    size_t length = 0;
    const char *bytes = ledger_reader__string(reader, ref, &length);
    assert_non_null(bytes);
    assert_int_equal(length, strlen(expected));
    assert_memory_equal(bytes, expected, length);
}

static void what_was_written_is_read(void **state)
{
    struct drawing drawing;
    (void)state;
    draw(&drawing);
    struct ledger_reader *reader = read_drawing(&drawing);
    ledger_ref thread = ledger_reader__next(reader, LEDGER_THREADS, 0);
    const struct ledger_thread *row = ledger_reader__thread(reader, thread);
    assert_string(reader, row->name, "main");
    const struct ledger_node *root = ledger_reader__node(reader, row->root);
    assert_int_equal(ledger_node__kind(root), NODE_ROOT);
    const struct ledger_node *node = ledger_reader__node(reader, root->first_child);
    assert_int_equal(node->cpu_ns, 10);
    assert_int_equal(ledger_reader__side(reader, node->side)->value[METRIC_MINOR_FAULTS], 7);
    assert_string(reader, ledger_reader__method(reader, node->method)->name, "main");

    thread = ledger_reader__next(reader, LEDGER_THREADS, thread);
    row = ledger_reader__thread(reader, thread);
    assert_string(reader, row->name, "worker");
    assert_string(reader, ledger_reader__rename(reader, row->renames)->name, "idle");
    assert_int_equal(ledger_reader__next(reader, LEDGER_THREADS, thread), 0);
    assert_int_equal(ledger_reader__life(reader), LEDGER_IS_CLOSED);
    assert_int_equal(ledger_reader__skipped(reader), 0);
    assert_string_equal(ledger_reader__skipped_where(reader), "");
    ledger_reader__close(reader);
    drawing__end(&drawing);
}

static void a_string_may_span_chunks(void **state)
{
    struct drawing drawing;
    (void)state;
    draw(&drawing);
    struct ledger_reader *reader = read_drawing(&drawing);
    size_t length = 0;
    const char *command =
        ledger_reader__string(reader, ledger_reader__header(reader)->command, &length);
    assert_int_equal(length, 9000);
    for (size_t i = 0; i < length; i++)
        assert_int_equal(command[i], 'n');
    ledger_reader__close(reader);
    drawing__end(&drawing);
}

static struct ledger_string *string_at(struct drawing *drawing, ledger_ref ref)
{
    return ledger__at(&drawing->ledger, ref);
}

/* A name of three cells; with other refs each of its cells could begin a string, up to the end. */
static void strings_do_not_overlap(void **state)
{
    static char name[150];
    struct drawing drawing;
    size_t length;
    (void)state;
    draw(&drawing);
    memset(name, 'n', sizeof(name));
    ledger_ref before = ledger__string(&drawing.ledger, "before", 6);
    ledger_ref ref = ledger__string(&drawing.ledger, name, sizeof(name));
    ledger_ref after = ledger__string(&drawing.ledger, "after", 5);
    assert_int_equal(after, ref + 3);
    *string_at(&drawing, ref + 1) = (struct ledger_string){.length = 20};
    string_at(&drawing, before)->length = 64;
    struct ledger_reader *reader = read_drawing(&drawing);
    for (int round = 0; round < 2; round++) {
        assert_non_null(ledger_reader__string(reader, ref, &length));
        assert_int_equal(length, 150);
        assert_null(ledger_reader__string(reader, ref + 1, &length));
        assert_null(ledger_reader__string(reader, before, &length));
        assert_string(reader, after, "after");
    }
    ledger_reader__close(reader);
    /* Who is asked for first has the cells. */
    reader = read_drawing(&drawing);
    assert_non_null(ledger_reader__string(reader, ref + 1, &length));
    assert_null(ledger_reader__string(reader, ref, &length));
    ledger_reader__close(reader);
    drawing__end(&drawing);
}

static void a_string_has_at_most_the_length_that_writers_give_it(void **state)
{
    static char longest[LEDGER_STRING_MAX];
    struct drawing drawing;
    size_t length;
    (void)state;
    draw(&drawing);
    ledger_ref ref = ledger__string(&drawing.ledger, longest, sizeof(longest));
    struct ledger_reader *reader = read_drawing(&drawing);
    assert_non_null(ledger_reader__string(reader, ref, &length));
    assert_int_equal(length, LEDGER_STRING_MAX);
    ledger_reader__close(reader);
    string_at(&drawing, ref)->length = LEDGER_STRING_MAX + 1;
    reader = read_drawing(&drawing);
    assert_null(ledger_reader__string(reader, ref, &length));
    ledger_reader__close(reader);
    drawing__end(&drawing);
}

static void all_records_of_a_table_are_walked(void **state)
{
    struct drawing drawing;
    (void)state;
    drawing__begin(&drawing, 4u << 20);
    for (unsigned i = 0; i < 500; i++)
        drawing__thread(&drawing, "thread", THREAD_PLATFORM, i);
    struct ledger_reader *reader = read_drawing(&drawing);
    unsigned threads = 0;
    unsigned nodes = 0;
    ledger_ref ref = 0;
    while ((ref = ledger_reader__next(reader, LEDGER_THREADS, ref)) != 0) {
        assert_non_null(ledger_reader__node(reader, ledger_reader__thread(reader, ref)->root));
        threads++;
    }
    while ((ref = ledger_reader__next(reader, LEDGER_NODES, ref)) != 0)
        assert_int_equal(ledger_reader__node(reader, ref)->cpu_ns, nodes++);
    assert_int_equal(threads, 500);
    assert_int_equal(nodes, 500);
    assert_int_equal(ledger_reader__next(reader, LEDGER_STRINGS, 0), 0);
    assert_int_equal(ledger_reader__next(reader, LEDGER_NODES, 7), 0);
    ledger_reader__close(reader);
    drawing__end(&drawing);
}

static void refs_of_another_kind_are_none(void **state)
{
    struct drawing drawing;
    (void)state;
    draw(&drawing);
    struct ledger_reader *reader = read_drawing(&drawing);
    ledger_ref thread = ledger_reader__next(reader, LEDGER_THREADS, 0);
    ledger_ref root = ledger_reader__thread(reader, thread)->root;
    size_t length;
    assert_null(ledger_reader__node(reader, thread));
    assert_null(ledger_reader__thread(reader, root));
    assert_null(ledger_reader__thread(reader, thread + 1)); /* inside of a record */
    assert_null(ledger_reader__node(reader, 0));
    assert_null(ledger_reader__node(reader, root + 60)); /* not in use */
    assert_null(ledger_reader__node(reader, root / LEDGER_CHUNK_CELLS * LEDGER_CHUNK_CELLS));
    assert_null(ledger_reader__node(reader, UINT32_MAX));
    assert_null(ledger_reader__string(reader, root, &length));
    ledger_reader__close(reader);
    drawing__end(&drawing);
}

/* As the ledger of a process of this boot. */
static void set_process(struct drawing *drawing, pid_t pid)
{
    struct ledger_header *header = drawing->ledger.header;
    header->state = LEDGER_LIVE;
    header->pid = pid;
    assert_int_equal(process_start__read(pid, &header->start_ticks), 0);
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(read(fd, header->boot_id, 36), 36);
    close(fd);
}

static enum ledger_life life_of(const struct drawing *drawing)
{
    struct ledger_reader *reader = read_drawing(drawing);
    enum ledger_life life = ledger_reader__life(reader);
    ledger_reader__close(reader);
    return life;
}

static void life_is_told_by_pid_start_and_boot(void **state)
{
    struct drawing drawing;
    (void)state;
    draw(&drawing);
    assert_int_equal(life_of(&drawing), LEDGER_IS_CLOSED);
    set_process(&drawing, getpid());
    assert_int_equal(life_of(&drawing), LEDGER_IS_LIVE);
    drawing.ledger.header->start_ticks++;
    assert_int_equal(life_of(&drawing), LEDGER_IS_ORPHAN);
    drawing.ledger.header->start_ticks--;
    drawing.ledger.header->boot_id[0] = 'x';
    assert_int_equal(life_of(&drawing), LEDGER_IS_ORPHAN);

    pid_t child = fork();
    if (child == 0)
        pause();
    set_process(&drawing, child);
    assert_int_equal(life_of(&drawing), LEDGER_IS_LIVE);
    kill(child, SIGKILL);
    siginfo_t information;
    assert_int_equal(waitid(P_PID, (id_t)child, &information, WEXITED | WNOWAIT), 0);
    assert_int_equal(life_of(&drawing), LEDGER_IS_ORPHAN); /* a zombie */
    waitpid(child, NULL, 0);
    assert_int_equal(life_of(&drawing), LEDGER_IS_ORPHAN);
    drawing__end(&drawing);
}

static void assert_refused(const char *path, const char *expected)
{
    char message[MESSAGE_MAX] = "";
    assert_null(ledger_reader__open(path, message, sizeof(message)));
    assert_string_equal(message, expected);
}

static void what_is_no_ledger_is_refused(void **state)
{
    char folder[] = "/tmp/treadle-test-XXXXXX";
    char path[64];
    char expected[256];
    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(expected, sizeof(expected), "%s: is a folder, expected a ledger file", folder);
    assert_refused(folder, expected);
    snprintf(path, sizeof(path), "%s/x", folder);
    snprintf(expected, sizeof(expected), "%s: cannot be opened: No such file or directory", path);
    assert_refused(path, expected);

    assert_int_equal(mkfifo(path, 0600), 0);
    snprintf(expected, sizeof(expected), "%s: is not a regular file, expected a ledger file", path);
    assert_refused(path, expected);
    unlink(path);

    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    snprintf(expected, sizeof(expected), "%s: byte 0: the file is empty, expected a ledger", path);
    assert_refused(path, expected);
    assert_int_equal(write(fd, "#!/bin/sh\n", 10), 10);
    snprintf(expected, sizeof(expected),
             "%s: byte 0: not a ledger, expected it to begin with \"TREADLE\"", path);
    assert_refused(path, expected);
    assert_int_equal(pwrite(fd, LEDGER_MAGIC "\1\0\0\0", 12, 0), 12);
    snprintf(expected, sizeof(expected),
             "%s: byte 12: the file ends inside the header, expected %zu bytes", path,
             sizeof(struct ledger_header));
    assert_refused(path, expected);
    close(fd);

    if (geteuid() != 0) {
        chmod(path, 0);
        snprintf(expected, sizeof(expected), "%s: cannot be opened: Permission denied", path);
        assert_refused(path, expected);
    }
    unlink(path);
    rmdir(folder);
}

static void a_wrong_header_is_named_with_its_byte(void **state)
{
    const struct {
        size_t offset;
        uint32_t value;
        const char *expected;
    } cases[] = {
        {8, 7, "drawing: byte 8: ledger format 7, this treadle reads format 14"},
        {12, 0x04030201, "drawing: byte 12: written by a machine of the other byte order"},
        {12, 5, "drawing: byte 12: byte order mark 0x00000005, expected 0x01020304"},
        {16, 32, "drawing: byte 16: cells of 32 bytes, expected 64"},
        {20, 65536, "drawing: byte 20: chunks of 65536 bytes, expected 4096"},
        {24, 9, "drawing: byte 24: state 9, expected 1 (live) or 2 (closed)"},
        {28, 0, "drawing: byte 28: 0 chunks in use, expected 1 to 67108863"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct drawing drawing;
        char message[MESSAGE_MAX] = "";
        draw(&drawing);
        memcpy(drawing.ledger.base + cases[i].offset, &cases[i].value, sizeof(cases[i].value));
        assert_null(ledger_reader__open_fd(drawing.ledger.fd, "drawing", message, sizeof(message)));
        assert_string_equal(message, cases[i].expected);
        drawing__end(&drawing);
    }
}

/* Opens and uses what may be damaged: one line, or a model that can be walked. */
static bool survive(int fd)
{
    char message[MESSAGE_MAX] = "";
    struct ledger_reader *reader = ledger_reader__open_fd(fd, "damaged", message, sizeof(message));
    if (!reader) {
        assert_int_equal(strncmp(message, "damaged: ", 9), 0);
        assert_null(strchr(message, '\n'));
        return false;
    }
    struct report_model *model = report_model__load(reader, ~UINT64_C(0));
    ledger_reader__close(reader);
    bool *selected = report_model__select(model, NULL);
    report_flat__free(report_flat__new(model, selected));
    report_callers__free(report_callers__new(model, selected, NULL));
    assert_int_equal(model->skipped == 0, model->skipped_where[0] == '\0');
    free(selected);
    report_model__free(model);
    return true;
}

static int copy_of(const struct drawing *drawing, size_t bytes)
{
    int fd = memfd_create("damaged", MFD_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, drawing->ledger.base, bytes), bytes);
    return fd;
}

static void any_truncation_is_survived(void **state)
{
    struct drawing drawing;
    unsigned opened = 0;
    (void)state;
    draw(&drawing);
    size_t whole = drawing__bytes(&drawing);
    for (size_t bytes = 0; bytes < whole; bytes += LEDGER_CELL_BYTES) {
        int fd = copy_of(&drawing, bytes);
        opened += survive(fd);
        close(fd);
    }
    assert_true(opened > 0);
    drawing__end(&drawing);
}

static void any_flipped_bits_are_survived(void **state)
{
    struct drawing drawing;
    uint64_t seed = 0x123456789abcdef;
    (void)state;
    draw(&drawing);
    size_t whole = drawing__bytes(&drawing);
    for (unsigned round = 0; round < FLIPS; round++) {
        int fd = copy_of(&drawing, whole);
        unsigned flips = 1 + (unsigned)(next_random(&seed) % 8);
        for (unsigned i = 0; i < flips; i++) {
            uint64_t random = next_random(&seed);
            /* Every other one goes to where the refs are: the beginning of a cell in use. */
            size_t offset = random % whole;
            if (round % 2)
                offset = offset / LEDGER_CELL_BYTES * LEDGER_CELL_BYTES + (random >> 40) % 40;
            char byte;
            assert_int_equal(pread(fd, &byte, 1, (off_t)offset), 1);
            byte = (char)(byte ^ (char)(1u << (random >> 60 & 7)));
            assert_int_equal(pwrite(fd, &byte, 1, (off_t)offset), 1);
        }
        survive(fd);
        close(fd);
    }
    drawing__end(&drawing);
}

static void absurd_counts_are_bounded(void **state)
{
    struct drawing drawing;
    (void)state;
    draw(&drawing);
    int fd = copy_of(&drawing, drawing__bytes(&drawing));
    uint32_t chunks = UINT32_MAX / LEDGER_CHUNK_CELLS;
    assert_int_equal(pwrite(fd, &chunks, 4, offsetof(struct ledger_header, chunks_used)), 4);
    assert_true(survive(fd)); /* the file has less */
    assert_int_equal(ftruncate(fd, (off_t)chunks * LEDGER_CHUNK_BYTES), 0);
    assert_false(survive(fd)); /* 256 GiB of nothing */
    close(fd);
    drawing__end(&drawing);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_written_is_read),
        cmocka_unit_test(a_string_may_span_chunks),
        cmocka_unit_test(strings_do_not_overlap),
        cmocka_unit_test(a_string_has_at_most_the_length_that_writers_give_it),
        cmocka_unit_test(all_records_of_a_table_are_walked),
        cmocka_unit_test(refs_of_another_kind_are_none),
        cmocka_unit_test(life_is_told_by_pid_start_and_boot),
        cmocka_unit_test(what_is_no_ledger_is_refused),
        cmocka_unit_test(a_wrong_header_is_named_with_its_byte),
        cmocka_unit_test(any_truncation_is_survived),
        cmocka_unit_test(any_flipped_bits_are_survived),
        cmocka_unit_test(absurd_counts_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
