/* Drawn ledgers of several processes, and what they are merged into. */
#ifndef TREADLE_TEST_MERGED_DRAWINGS_H
#define TREADLE_TEST_MERGED_DRAWINGS_H

#include "tools/merge/ledger_merge.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* cmocka.h needs the others before it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "tests/unit/drawn_report.h"

#define S UINT64_C(1000000000)

static inline struct ledger_reader *read_file(int fd)
{
    char message[512] = "";
    struct ledger_reader *reader = ledger_reader__open_fd(fd, "drawing", message, sizeof(message));
    assert_string_equal(message, "");
    return reader;
}

/* Merges drawings as snapshots and reads the result; *skipped is how many records were left out. */
static inline struct ledger_reader *merge(struct drawing *const *drawings, size_t count,
                                          uint64_t *skipped)
{
    struct ledger_reader *readers[4];
    struct ledger_merge *merge = NULL;
    size_t bytes;
    for (size_t i = 0; i < count; i++)
        readers[i] = read_file(drawings[i]->ledger.fd);
    assert_int_equal(ledger_merge__new(&merge, readers, count), 0);
    *skipped = 0;
    for (size_t i = 0; i < count; i++) {
        *skipped += ledger_merge__skipped(merge, i);
        ledger_reader__close(readers[i]);
    }
    int fd = memfd_create("merged", MFD_CLOEXEC);
    const char *content = ledger_merge__bytes(merge, &bytes);
    assert_int_equal(write(fd, content, bytes), bytes);
    ledger_merge__free(merge);
    struct ledger_reader *merged = read_file(fd);
    close(fd);
    return merged;
}

static inline struct report_model *load_merged(struct drawing *const *drawings, size_t count)
{
    uint64_t skipped;
    struct ledger_reader *reader = merge(drawings, count, &skipped);
    assert_int_equal(skipped, 0);
    struct report_model *model = report_model__load(reader, ~UINT64_C(0));
    ledger_reader__close(reader);
    assert_int_equal(model->skipped, 0);
    return model;
}

static inline void set_process(struct drawing *drawing, int32_t pid, const char *command,
                               uint64_t epoch_ns)
{
    struct ledger_header *header = drawing->ledger.header;
    header->state = LEDGER_CLOSED;
    header->pid = pid;
    header->command = drawing__string(drawing, command);
    header->epoch_ns = epoch_ns;
    header->process_start_epoch_ns = epoch_ns - S;
    header->asof_ns = 10 * S;
}

/*
 * Process 11, from 1000 s on:         CPU 100 s, kernel 101 s
 *   main (0 s … 4 s)  base 1 s
 *     a x2 9 s  (5 minor faults)
 *       b x3 90 s
 *   child of main, renamed "idle"
 */
static inline void draw_first(struct drawing *drawing)
{
    drawing__begin(drawing, 1u << 20);
    set_process(drawing, 11, "java -cp x:y -Dz demo.First 1", 1000 * S);
    struct ledger_header *header = drawing->ledger.header;
    header->process_cpu_ns = 101 * S;
    header->dropped_enters = 7;
    header->hooked_methods = 2;
    header->hook_cost_ps = 20000;
    ledger_ref a = drawn__method(drawing, "a");
    ledger_ref b = drawn__method(drawing, "b");
    ledger_ref thread = drawing__thread(drawing, "main", THREAD_PLATFORM, 1 * S);
    drawing__thread_at(drawing, thread)->end_ns = 4 * S;
    drawing__thread_at(drawing, thread)->flags = THREAD_TERMINATED;
    drawing__thread_at(drawing, thread)->java_id = 1;
    drawing__total(drawing, thread, METRIC_MINOR_FAULTS, 6);
    ledger_ref in_a = drawing__call(drawing, drawing__root(drawing, thread), a, 2, 9 * S);
    drawing__side(drawing, in_a, METRIC_MINOR_FAULTS, 5);
    drawing__call(drawing, in_a, b, 3, 90 * S);
    ledger_ref child = drawing__thread(drawing, "child", THREAD_PLATFORM, 0);
    drawing__thread_at(drawing, child)->parent = thread;
    drawing__thread_at(drawing, child)->parent_id = 1;
    drawing__thread_at(drawing, child)->start_ns = 3 * S;
    ledger__rename_thread(&drawing->ledger, drawing__thread_at(drawing, child), "idle", 4, 5 * S);
}

/*
 * Process 22, from 1005 s on:         CPU 20 s, kernel 20 s
 *   main (2 s … )  base 0
 *     b x1 20 s  (8 ns of run-queue delay)
 */
static inline void draw_second(struct drawing *drawing)
{
    drawing__begin(drawing, 1u << 20);
    set_process(drawing, 22, "/opt/jdk/bin/javac -d x", 1005 * S);
    struct ledger_header *header = drawing->ledger.header;
    header->process_cpu_ns = 20 * S;
    header->dropped_enters = 3;
    header->hooked_methods = 1;
    header->hook_cost_ps = 14000;
    ledger_ref b = drawn__method(drawing, "b");
    ledger_ref thread = drawing__thread(drawing, "main", THREAD_PLATFORM, 0);
    drawing__thread_at(drawing, thread)->start_ns = 2 * S;
    ledger_ref in_b = drawing__call(drawing, drawing__root(drawing, thread), b, 1, 20 * S);
    drawing__side(drawing, in_b, METRIC_RUN_QUEUE_DELAY, 8);
}

static inline ledger_ref take(struct drawing *drawing, enum ledger_table table)
{
    ledger_ref ref = ledger__take_shared(&drawing->ledger, table, 1);
    assert_int_not_equal(ref, 0);
    return ref;
}

/* The sampled child of an exact node. */
static inline ledger_ref draw_sampled(struct drawing *drawing, ledger_ref exact,
                                      enum ledger_node_kind kind, ledger_ref method,
                                      uint64_t samples)
{
    ledger_ref ref = drawing__node(drawing, 0, kind, method, samples, 0);
    struct ledger_node *node = drawing__node_at(drawing, ref);
    node->parent = exact;
    node->wall_samples = 0;
    ledger_ref *link = &drawing__node_at(drawing, exact)->sampled;
    while (*link)
        link = &drawing__node_at(drawing, *link)->next_sibling;
    *link = ref;
    return ref;
}

/*
 * main
 *   a x1 10        sampled below it: itself 4, malloc (of libc at `bias`) 6, below that the kernel
 * 2 a compiled at `address`: places at +8 in a, bci 3: 4; malloc's at +16: 6
 */
static inline void draw_samples(struct drawing *drawing, int32_t pid, uint64_t address)
{
    drawing__begin(drawing, 1u << 20);
    set_process(drawing, pid, "x", 1000 * S);
    drawing->ledger.header->samples = 12;
    drawing->ledger.header->sample_interval_ns = (uint64_t)pid;
    ledger_ref image = take(drawing, LEDGER_IMAGES);
    *(struct ledger_image *)ledger__at(&drawing->ledger, image) =
        (struct ledger_image){.path = drawing__string(drawing, "/lib/libc.so.6"), .bias = address};
    ledger_ref a = drawn__method(drawing, "a");
    ledger_ref malloc_ref = drawing__method(drawing, "/lib/libc.so.6", "malloc", "");
    struct ledger_method *symbol = ledger__at(&drawing->ledger, malloc_ref);
    symbol->flags = METHOD_SYMBOL;
    symbol->image = image;
    symbol->address = 0x1000;
    ledger_ref root = drawing__root(drawing, drawing__thread(drawing, "t", THREAD_PLATFORM, 0));
    ledger_ref in_a = drawing__call(drawing, root, a, 1, 10);
    ledger_ref self = draw_sampled(drawing, in_a, NODE_SAMPLED, a, 4);
    drawing__node_at(drawing, self)->kind_and_level |= NODE_SELF;
    ledger_ref native = draw_sampled(drawing, in_a, NODE_NATIVE, malloc_ref, 6);
    drawing__node(drawing, native, NODE_KERNEL, malloc_ref, 2, 0);

    ledger_ref code_ref = take(drawing, LEDGER_CODE);
    ledger_ref in_code = take(drawing, LEDGER_PLACES);
    ledger_ref in_symbol = take(drawing, LEDGER_PLACES);
    *(struct ledger_code *)ledger__at(&drawing->ledger, code_ref) =
        (struct ledger_code){.method = a,
                             .bytes = drawing__string(drawing, "\x90\x90\xc3"),
                             .places = in_code,
                             .size = 3,
                             .address = address,
                             .compiler = COMPILER_C2};
    *(struct ledger_place *)ledger__at(&drawing->ledger, in_code) = (struct ledger_place){
        .owner = code_ref, .method = a, .bci = 3, .offset = 8, .cpu_samples = 4};
    *(struct ledger_place *)ledger__at(&drawing->ledger, in_symbol) =
        (struct ledger_place){.owner = malloc_ref, .bci = -1, .offset = 16, .cpu_samples = 6};
    symbol->places = in_symbol;
}

#endif
