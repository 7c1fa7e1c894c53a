/* Several ledgers made into one: what is in it, against drawings. */
#include "tools/merge/ledger_merge.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* cmocka.h needs the others before it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "tests/unit/drawn_report.h"
#include "tools/report/report_balance.h"

#define S UINT64_C(1000000000)

static struct ledger_reader *read_file(int fd)
{
    char message[512] = "";
    struct ledger_reader *reader = ledger_reader__open_fd(fd, "drawing", message, sizeof(message));
    assert_string_equal(message, "");
    return reader;
}

/* Merges drawings as snapshots and reads the result; *skipped is how many records were left out. */
static struct ledger_reader *merge(struct drawing *const *drawings, size_t count, uint64_t *skipped)
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

static struct report_model *load_merged(struct drawing *const *drawings, size_t count)
{
    uint64_t skipped;
    struct ledger_reader *reader = merge(drawings, count, &skipped);
    assert_int_equal(skipped, 0);
    struct report_model *model = report_model__load(reader, ~UINT64_C(0));
    ledger_reader__close(reader);
    assert_int_equal(model->skipped, 0);
    return model;
}

static const struct report_thread *thread_of(const struct report_model *model, const char *name)
{
    for (uint32_t i = 0; i < model->thread_count; i++)
        if (strcmp(model->threads[i].name.bytes, name) == 0)
            return &model->threads[i];
    fail_msg("no thread %s", name);
    return NULL;
}

static void set_process(struct drawing *drawing, int32_t pid, const char *command,
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
static void draw_first(struct drawing *drawing)
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
static void draw_second(struct drawing *drawing)
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

static void threads_keep_their_process_and_numbers(void **state)
{
    struct drawing first, second;
    (void)state;
    draw_first(&first);
    draw_second(&second);
    struct report_model *model = load_merged((struct drawing *[]){&first, &second}, 2);
    assert_int_equal(model->life, LEDGER_IS_CLOSED);
    assert_int_equal(model->thread_count, 3);
    const struct report_thread *main_thread = thread_of(model, "[pid 11 demo.First] main");
    const struct report_thread *child = thread_of(model, "[pid 11 demo.First] child");
    const struct report_thread *other = thread_of(model, "[pid 22 javac] main");
    assert_int_equal(main_thread->cpu_ns, 100 * S);
    assert_int_equal(main_thread->calls, 5);
    assert_int_equal(main_thread->wall_ns, 200 * S); /* drawn: twice the CPU */
    assert_int_equal(main_thread->totals[METRIC_MINOR_FAULTS], 6);
    assert_int_equal(main_thread->flags, THREAD_TERMINATED);
    assert_int_equal(other->cpu_ns, 20 * S);
    assert_int_equal(other->calls, 1);
    assert_ptr_equal(&model->threads[child->parent], main_thread);
    assert_string_equal(child->renames[0].bytes, "idle");

    const struct report_node *nodes = &model->nodes[main_thread->first_node];
    assert_int_equal(main_thread->end_node - main_thread->first_node, 3);
    assert_string_equal(model->methods[nodes[1].method].name.bytes, "a");
    enum report_column faults = report_column__of_metric(METRIC_MINOR_FAULTS);
    enum report_column delay = report_column__of_metric(METRIC_RUN_QUEUE_DELAY);
    assert_int_equal(model->base[faults][main_thread->first_node + 1], 5);
    assert_int_equal(model->cum[faults][other->first_node], 0);
    assert_int_equal(model->cum[delay][other->first_node], 8);
    assert_int_equal(nodes[2].method, model->nodes[other->first_node + 1].method);
    assert_int_equal(model->method_count, METHOD_FIRST_REAL + 2);
    report_model__free(model);
    drawing__end(&first);
    drawing__end(&second);
}

/* Hooks: 5 calls of 20 ns and one of 14 ns are 114 ns, 19 each. */
static void headers_add_up_and_the_balance_holds(void **state)
{
    struct drawing first, second;
    (void)state;
    draw_first(&first);
    draw_second(&second);
    struct report_model *model = load_merged((struct drawing *[]){&first, &second}, 2);
    struct report_balance balance = report_balance__of(model);
    assert_int_equal(balance.kernel_ns, 121 * S);
    assert_int_equal(balance.charged_ns, 120 * S);
    assert_int_equal(balance.difference_ns, 1 * S);
    assert_int_equal(model->header.pid, 0);
    assert_int_equal(model->header.dropped_enters, 10);
    assert_int_equal(model->header.hooked_methods, 3);
    assert_int_equal(model->header.hook_cost_ps, 19000);
    assert_int_equal(model->header.epoch_ns, 1000 * S);
    assert_int_equal(report_process__start_ns(&model->header), 999 * S);
    assert_int_equal(model->header.asof_ns, 15 * S); /* the second: 10 s after 1005 s */
    assert_int_equal(report_process__wall_ns(model), 16 * S);
    assert_string_equal(model->command.bytes,
                        "java -cp x:y -Dz demo.First 1; /opt/jdk/bin/javac -d x");
    report_model__free(model);
    drawing__end(&first);
    drawing__end(&second);
}

/* child ran for 7 s when its ledger was taken, 5 s before the other; not longer for the merging. */
static void times_are_shifted_and_lives_stay_as_long(void **state)
{
    struct drawing first, second;
    (void)state;
    draw_first(&first);
    draw_second(&second);
    struct report_model *model = load_merged((struct drawing *[]){&second, &first}, 2);
    const struct report_thread *child = thread_of(model, "[pid 11 demo.First] child");
    const struct report_thread *other = thread_of(model, "[pid 22 javac] main");
    assert_int_equal(child->start_ns, 3 * S);
    assert_int_equal(child->wall_ns, 7 * S);
    assert_int_equal(child->end_ns, 10 * S);
    assert_false(child->flags & THREAD_TERMINATED);
    assert_int_equal(other->start_ns, 7 * S); /* 1005 s and 2 s are 1000 s and 7 s */
    assert_int_equal(other->end_ns, 0);
    assert_int_equal(other->wall_ns, 40 * S);
    report_model__free(model);
    drawing__end(&first);
    drawing__end(&second);
}

static void profiling_that_was_stopped_keeps_lives_too(void **state)
{
    struct drawing first, second;
    (void)state;
    draw_first(&first);
    draw_second(&second);
    struct ledger_header *header = first.ledger.header;
    header->starts = 2; /* on again at 8 s, off for 2 s before that */
    header->profiling = 1;
    header->since_ns = 8 * S;
    header->unprofiled_wall_ns = 2 * S;
    struct report_model *model = load_merged((struct drawing *[]){&first, &second}, 2);
    assert_int_equal(thread_of(model, "[pid 11 demo.First] child")->wall_ns, 5 * S);
    report_model__free(model);
    drawing__end(&first);
    drawing__end(&second);
}

static void one_ledger_stays_as_it_is_but_for_names(void **state)
{
    struct drawing first;
    (void)state;
    draw_first(&first);
    struct report_model *before = drawn__load(&first);
    struct report_model *model = load_merged((struct drawing *[]){&first}, 1);
    assert_int_equal(model->thread_count, before->thread_count);
    assert_int_equal(model->node_count, before->node_count);
    assert_memory_equal(model->nodes, before->nodes, before->node_count * sizeof(*before->nodes));
    for (size_t column = 0; column < COLUMN_COUNT; column++)
        if (before->base[column])
            assert_memory_equal(model->base[column], before->base[column],
                                before->node_count * sizeof(uint64_t));
    for (uint32_t i = 0; i < before->thread_count; i++) {
        assert_string_equal(model->threads[i].name.bytes + strlen("[pid 11 demo.First] "),
                            before->threads[i].name.bytes);
        assert_int_equal(model->threads[i].wall_ns, before->threads[i].wall_ns);
        assert_int_equal(model->threads[i].start_ns, before->threads[i].start_ns);
        assert_int_equal(model->threads[i].end_ns, before->threads[i].end_ns);
    }
    assert_int_equal(model->header.pid, 11);
    assert_int_equal(model->header.hook_cost_ps, 20000);
    assert_int_equal(model->header.dropped_enters, before->header.dropped_enters);
    report_model__free(before);
    report_model__free(model);
    drawing__end(&first);
}

static void merged_ledgers_merge_again(void **state)
{
    struct drawing second, again;
    (void)state;
    draw_second(&second);
    drawing__begin(&again, 1u << 20);
    set_process(&again, 0, "several", 1000 * S); /* what a merged ledger says of its process */
    drawing__thread(&again, "[pid 1 x] main", THREAD_PLATFORM, 4);
    struct report_model *model = load_merged((struct drawing *[]){&again, &second}, 2);
    assert_int_equal(thread_of(model, "[pid 1 x] main")->cpu_ns, 4);
    assert_int_equal(thread_of(model, "[pid 22 javac] main")->cpu_ns, 20 * S);
    report_model__free(model);
    drawing__end(&second);
    drawing__end(&again);
}

static void processes_that_look_the_same_get_a_number(void **state)
{
    struct drawing drawings[2];
    (void)state;
    draw_first(&drawings[0]);
    draw_first(&drawings[1]);
    struct report_model *model = load_merged((struct drawing *[]){&drawings[0], &drawings[1]}, 2);
    assert_int_equal(thread_of(model, "[pid 11 demo.First] main")->cpu_ns, 100 * S);
    assert_int_equal(thread_of(model, "[pid 11 demo.First #2] main")->cpu_ns, 100 * S);
    assert_int_equal(model->method_count, METHOD_FIRST_REAL + 2);
    report_model__free(model);
    drawing__end(&drawings[0]);
    drawing__end(&drawings[1]);
}

static void applications_are_found_in_commands(void **state)
{
    static const struct {
        const char *command, *name;
    } cases[] = {
        {"demo.Main --rounds 3", "[pid 5 demo.Main] t"},
        {"/usr/bin/java -Xmx1g -jar /srv/shop.jar --port 80", "[pid 5 shop.jar] t"},
        {"java -p mods -m shop/org.shop.Main x", "[pid 5 org.shop.Main] t"},
        {"java @options --add-opens a/b=c demo.Main", "[pid 5 demo.Main] t"},
        {"java", "[pid 5 java] t"},
        {"", "[pid 5 java] t"},
        {"java a]b[c", "[pid 5 a_b_c] t"},
        {"java org.example.very.deep.package.name.here.Application",
         "[pid 5 very.deep.package.name.here.Application] t"},
        {"java xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\303\244", /* 38 and a letter of two bytes */
         "[pid 5 xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx] t"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct drawing drawing;
        drawing__begin(&drawing, 1u << 20);
        set_process(&drawing, 5, cases[i].command, 1000 * S);
        drawing__thread(&drawing, "t", THREAD_PLATFORM, 1);
        struct report_model *model = load_merged((struct drawing *[]){&drawing}, 1);
        assert_string_equal(model->threads[0].name.bytes, cases[i].name);
        report_model__free(model);
        drawing__end(&drawing);
    }
}

/* One the agent did not ask for is 0, whatever stands in its place. */
static void unknown_metrics_are_zero(void **state)
{
    struct drawing first, second;
    (void)state;
    draw_first(&first);
    draw_second(&second);
    ledger_ref thread = ledger__next(&second.ledger, LEDGER_THREADS, 0);
    drawing__thread_at(&second, thread)->totals[METRIC_MINOR_FAULTS] = 99;
    struct report_model *model = load_merged((struct drawing *[]){&first, &second}, 2);
    assert_int_equal(thread_of(model, "[pid 22 javac] main")->totals[METRIC_MINOR_FAULTS], 0);
    report_model__free(model);
    drawing__end(&first);
    drawing__end(&second);
}

static void a_total_that_is_not_known_leaves_no_balance(void **state)
{
    struct drawing first, second;
    (void)state;
    draw_first(&first);
    draw_second(&second);
    second.ledger.header->process_cpu_ns = 0;
    struct report_model *model = load_merged((struct drawing *[]){&first, &second}, 2);
    assert_int_equal(model->header.process_cpu_ns, 0);
    report_model__free(model);
    drawing__end(&first);
    drawing__end(&second);
}

/* Two class loaders' classes of one name stay two within a process, and meet those of others. */
static void equal_methods_of_one_process_stay_apart(void **state)
{
    struct drawing drawings[2];
    uint64_t skipped;
    unsigned count = 0;
    ledger_ref ref = 0;
    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        drawing__begin(&drawings[i], 1u << 20);
        set_process(&drawings[i], (int32_t)i + 1, "x", 1000 * S);
        drawn__method(&drawings[i], "a");
        drawn__method(&drawings[i], "a");
        drawing__method(&drawings[i], "T", "a", "(I)V");
    }
    struct ledger_reader *reader =
        merge((struct drawing *[]){&drawings[0], &drawings[1]}, 2, &skipped);
    while ((ref = ledger_reader__next(reader, LEDGER_METHODS, ref)) != 0)
        count++;
    assert_int_equal(count, 3);
    ledger_reader__close(reader);
    drawing__end(&drawings[0]);
    drawing__end(&drawings[1]);
}

static ledger_ref take(struct drawing *drawing, enum ledger_table table)
{
    ledger_ref ref = ledger__take_shared(&drawing->ledger, table, 1);
    assert_int_not_equal(ref, 0);
    return ref;
}

/* The sampled child of an exact node. */
static ledger_ref draw_sampled(struct drawing *drawing, ledger_ref exact,
                               enum ledger_node_kind kind, ledger_ref method, uint64_t samples)
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
static void draw_samples(struct drawing *drawing, int32_t pid, uint64_t address)
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

static const struct ledger_method *method_named(const struct ledger_reader *reader,
                                                const char *name)
{
    ledger_ref ref = 0;
    while ((ref = ledger_reader__next(reader, LEDGER_METHODS, ref)) != 0) {
        const struct ledger_method *method = ledger_reader__method(reader, ref);
        size_t length;
        const char *bytes = ledger_reader__string(reader, method->name, &length);
        if (length == strlen(name) && memcmp(bytes, name, length) == 0)
            return method;
    }
    fail_msg("no method %s", name);
    return NULL;
}

static void assert_sampled_tree(const struct ledger_reader *reader, ledger_ref thread_ref)
{
    const struct ledger_thread *thread = ledger_reader__thread(reader, thread_ref);
    const struct ledger_node *root = ledger_reader__node(reader, thread->root);
    const struct ledger_node *in_a = ledger_reader__node(reader, root->first_child);
    const struct ledger_node *self = ledger_reader__node(reader, in_a->sampled);
    const struct ledger_node *native = ledger_reader__node(reader, self->next_sibling);
    const struct ledger_node *kernel = ledger_reader__node(reader, native->first_child);
    assert_int_equal(in_a->calls, 1);
    assert_int_equal(in_a->first_child, 0);
    assert_true(ledger_node__is_self(self));
    assert_int_equal(self->cpu_samples, 4);
    assert_int_equal(self->parent, root->first_child);
    assert_int_equal(ledger_node__kind(native), NODE_NATIVE);
    assert_int_equal(native->cpu_samples, 6);
    assert_int_equal(native->next_sibling, 0);
    assert_ptr_equal(ledger_reader__method(reader, native->method), method_named(reader, "malloc"));
    assert_int_equal(ledger_node__kind(kernel), NODE_KERNEL);
    assert_int_equal(kernel->cpu_samples, 2);
    assert_int_equal(kernel->parent, self->next_sibling);
    assert_int_equal(kernel->sampled | kernel->first_child | native->sampled, 0);
}

static void samples_come_along(void **state)
{
    struct drawing drawings[2];
    uint64_t skipped;
    (void)state;
    draw_samples(&drawings[0], 1, 0x7f0000001000);
    draw_samples(&drawings[1], 3, 0x7e0000002000);
    struct ledger_reader *reader =
        merge((struct drawing *[]){&drawings[0], &drawings[1]}, 2, &skipped);
    assert_int_equal(skipped, 0);
    ledger_ref thread = ledger_reader__next(reader, LEDGER_THREADS, 0);
    assert_sampled_tree(reader, thread);
    assert_sampled_tree(reader, ledger_reader__next(reader, LEDGER_THREADS, thread));

    /* One malloc, whose place both have; each its own compiled code. */
    const struct ledger_method *symbol = method_named(reader, "malloc");
    const struct ledger_place *place = ledger_reader__place(reader, symbol->places);
    assert_non_null(ledger_reader__image(reader, symbol->image));
    assert_int_equal(place->offset, 16);
    assert_int_equal(place->cpu_samples, 12);
    assert_int_equal(place->next, 0);
    ledger_ref ref = 0;
    uint64_t addresses = 0;
    while ((ref = ledger_reader__next(reader, LEDGER_CODE, ref)) != 0) {
        const struct ledger_code *code = ledger_reader__code(reader, ref);
        size_t length;
        assert_memory_equal(ledger_reader__string(reader, code->bytes, &length), "\x90\x90\xc3", 3);
        assert_ptr_equal(ledger_reader__method(reader, code->method), method_named(reader, "a"));
        place = ledger_reader__place(reader, code->places);
        assert_int_equal(place->owner, ref);
        assert_int_equal(place->cpu_samples, 4);
        assert_int_equal(place->bci, 3);
        addresses += code->address;
    }
    assert_int_equal(addresses, 0x7f0000001000 + 0x7e0000002000);
    assert_int_equal(ledger_reader__header(reader)->samples, 24);
    assert_int_equal(ledger_reader__header(reader)->sample_interval_ns, 2); /* of 1 and 3 */
    ledger_reader__close(reader);
    drawing__end(&drawings[0]);
    drawing__end(&drawings[1]);
}

/* The tree of a killed process's virtual thread: parked for 3 s, and since 4 s. */
static void a_killed_process_is_parked_up_to_its_end(void **state)
{
    struct drawing drawing;
    (void)state;
    drawing__begin(&drawing, 1u << 20);
    set_process(&drawing, 999999999, "x", 1000 * S);
    drawing.ledger.header->state = LEDGER_LIVE;
    ledger_ref ref = drawing__thread(&drawing, "v", THREAD_VIRTUAL, 1);
    drawing__thread_at(&drawing, ref)->parked_ns = 3 * S;
    drawing__thread_at(&drawing, ref)->unmounted_ns = 4 * S;
    struct report_model *model = load_merged((struct drawing *[]){&drawing}, 1);
    assert_int_equal(model->life, LEDGER_IS_CLOSED);
    assert_int_equal(model->threads[0].parked_ns, 9 * S);
    assert_int_equal(model->threads[0].wall_ns, 10 * S);
    report_model__free(model);
    drawing__end(&drawing);
}

/* xorshift64 (Marsaglia): the same damage in every run. */
static uint64_t next_random(uint64_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

static uint64_t charged_ns(const struct report_model *model)
{
    return report_balance__of(model).charged_ns;
}

/* Links that lead nowhere, elsewhere or in circles are left out as a report leaves them out, so the
 * sums agree. */
static void damaged_links_are_left_out_as_in_a_report(void **state)
{
    static const size_t links[] = {
        offsetof(struct ledger_node, method), offsetof(struct ledger_node, parent),
        offsetof(struct ledger_node, first_child), offsetof(struct ledger_node, next_sibling),
        offsetof(struct ledger_node, side)};
    uint64_t seed = 42;
    (void)state;
    for (unsigned round = 0; round < 500; round++) {
        struct drawing drawing;
        uint64_t skipped;
        draw_first(&drawing);
        uint64_t cells = drawing__bytes(&drawing) / LEDGER_CELL_BYTES;
        ledger_ref ref = ledger__next(&drawing.ledger, LEDGER_NODES, 0);
        for (uint64_t skip = next_random(&seed) % 4; skip > 0; skip--)
            ref = ledger__next(&drawing.ledger, LEDGER_NODES, ref);
        char *node = ledger__at(&drawing.ledger, ref);
        ledger_ref wrong = (ledger_ref)(next_random(&seed) % (cells + 2));
        size_t link = links[next_random(&seed) % (sizeof(links) / sizeof(links[0]))];
        memcpy(node + link, &wrong, sizeof(wrong));
        struct report_model *before = drawn__load(&drawing);
        struct ledger_reader *reader = merge((struct drawing *[]){&drawing}, 1, &skipped);
        struct report_model *after = report_model__load(reader, ~UINT64_C(0));
        assert_int_equal(skipped, before->skipped);
        assert_int_equal(charged_ns(after), charged_ns(before));
        assert_int_equal(after->node_count, before->node_count);
        report_model__free(before);
        report_model__free(after);
        ledger_reader__close(reader);
        drawing__end(&drawing);
    }
}

/* Any byte behind the header, any value: what comes out can be read. */
static void damaged_bytes_are_survived(void **state)
{
    uint64_t seed = 4711;
    (void)state;
    for (unsigned round = 0; round < 1000; round++) {
        struct drawing drawing;
        uint64_t skipped;
        draw_samples(&drawing, 1, 0x1000);
        size_t bytes = drawing__bytes(&drawing) - LEDGER_CHUNK_BYTES;
        char *content = drawing.ledger.base + LEDGER_CHUNK_BYTES;
        for (unsigned i = 0; i < 1 + round % 8; i++)
            content[next_random(&seed) % bytes] = (char)next_random(&seed);
        struct ledger_reader *reader = merge((struct drawing *[]){&drawing}, 1, &skipped);
        struct report_model *model = report_model__load(reader, ~UINT64_C(0));
        assert_int_equal(ledger_reader__skipped(reader), 0);
        report_model__free(model);
        ledger_reader__close(reader);
        drawing__end(&drawing);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_keep_their_process_and_numbers),
        cmocka_unit_test(headers_add_up_and_the_balance_holds),
        cmocka_unit_test(times_are_shifted_and_lives_stay_as_long),
        cmocka_unit_test(profiling_that_was_stopped_keeps_lives_too),
        cmocka_unit_test(one_ledger_stays_as_it_is_but_for_names),
        cmocka_unit_test(merged_ledgers_merge_again),
        cmocka_unit_test(processes_that_look_the_same_get_a_number),
        cmocka_unit_test(applications_are_found_in_commands),
        cmocka_unit_test(unknown_metrics_are_zero),
        cmocka_unit_test(a_total_that_is_not_known_leaves_no_balance),
        cmocka_unit_test(equal_methods_of_one_process_stay_apart),
        cmocka_unit_test(samples_come_along),
        cmocka_unit_test(a_killed_process_is_parked_up_to_its_end),
        cmocka_unit_test(damaged_links_are_left_out_as_in_a_report),
        cmocka_unit_test(damaged_bytes_are_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
