/* For how much of the time methods were heard, and how short the exact calls are: worked out on
 * paper. */
#include "merged_drawings.h"
#include "tools/report/report_flat.h"
#include "tools/report/report_resolution.h"
#include "tools/report/report_since.h"

#define MS UINT64_C(1000000)

/*
 * Up to 10 s. always: no record. rare: hooked at 2 s, silent from 4 s: 2 of 8 s. again: hooked at
 * 0.5 s, heard 1 s, and again since 9 s: 2 of 9.5 s. planned: no hooks. twice: of two loaders, 1 of
 * 9 s and 3 of 5 s, the second heard again since 8 s: 4 of 14 s.
 */
static void draw(struct drawing *drawing)
{
    drawing__begin(drawing, 1u << 20);
    drawing->ledger.header->asof_ns = 10 * S;
    ledger_ref thread = drawing__thread(drawing, "t", THREAD_PLATFORM, 0);
    ledger_ref root = drawing__root(drawing, thread);
    ledger_ref rare = drawn__method(drawing, "rare");
    ledger_ref again = drawn__method(drawing, "again");
    ledger_ref planned = drawn__method(drawing, "planned");
    ledger_ref twice = drawn__method(drawing, "twice");
    ledger_ref other = drawn__method(drawing, "twice");
    drawing__call(drawing, root, drawn__method(drawing, "always"), 7, 100);
    drawing__call(drawing, root, rare, 96, 100);
    drawing__hooking(drawing, rare, HOOKING_OFF, 2 * S, 4 * S, 2 * S);
    drawing__hooking(drawing, again, HOOKING_HEARD, S / 2, 9 * S, 1 * S);
    drawing__hooking(drawing, planned, HOOKING_OFF, 0, 1 * S, 0);
    drawing__hooking(drawing, twice, HOOKING_MUTED, 1 * S, 2 * S, 1 * S);
    drawing__hooking(drawing, other, HOOKING_HEARD, 5 * S, 8 * S, 1 * S);
    ledger_ref calm = drawing__thread(drawing, "calm", THREAD_PLATFORM, 0);
    drawing__call(drawing, drawing__root(drawing, calm), drawn__method(drawing, "always"), 1, 1);
}

static const struct report_hooking *of(const struct report_model *model, const char *name)
{
    return report_hooking__of(model, drawn__index_of(model, name));
}

static void check_hooking(const struct report_model *model, const char *name, uint64_t from_ns,
                          uint64_t until_ns, uint32_t share_ppm)
{
    const struct report_hooking *hooking = of(model, name);
    assert_non_null(hooking);
    assert_int_equal(hooking->from_ns, from_ns);
    assert_int_equal(hooking->until_ns, until_ns);
    assert_int_equal(report_hooking__share_ppm(hooking), share_ppm);
}

static void shares_are_of_the_time_since_hooks_were_put_in(void **state)
{
    struct drawing drawing;
    (void)state;
    draw(&drawing);
    struct report_model *model = drawn__load(&drawing);
    assert_int_equal(model->skipped, 0);
    assert_null(of(model, "always"));
    check_hooking(model, "rare", 2 * S, 4 * S, 250000);
    check_hooking(model, "again", S / 2, 0, 210526);
    check_hooking(model, "planned", 0, 0, 0);
    check_hooking(model, "twice", 1 * S, 0, 285714);
    struct report_hookings_count count = report_hookings__count(model);
    assert_int_equal(count.silent, 1);
    assert_int_equal(count.again, 2);
    assert_int_equal(count.planned, 1);
    report_model__free(model);
    drawing__end(&drawing);
}

/* A record of a method whose calls were counted: so many, 100 of them while profiling was stopped,
 * and for so long before its state began. */
static struct ledger_hooking *count(struct drawing *drawing, const char *name,
                                    enum ledger_hooking_state state, uint64_t from_ns,
                                    uint64_t since_ns, uint64_t heard_ns, uint64_t counted_ns)
{
    ledger_ref method = drawn__method(drawing, name);
    struct ledger_hooking *hooking =
        ledger__at(&drawing->ledger, drawing__record(drawing, LEDGER_HOOKINGS));

    *hooking = (struct ledger_hooking){.method = method,
                                       .state = state,
                                       .from_ns = from_ns,
                                       .since_ns = since_ns,
                                       .heard_ns = heard_ns,
                                       .mutes = 1,
                                       .counted = 1100,
                                       .counted_ns = counted_ns,
                                       .excluded = 100,
                                       .counts = 1};
    return hooking;
}

static const struct flat_row *row_of(const struct report_model *model,
                                     const struct report_flat *flat, const char *name)
{
    for (uint32_t i = 0; i < flat->row_count; i++)
        if (flat->rows[i].method == drawn__index_of(model, name))
            return &flat->rows[i];
    return NULL;
}

static void check_calls(const struct report_model *model, const char *name, uint64_t calls,
                        bool is_partial)
{
    bool selected[] = {true, true}, one[] = {true, false};
    struct report_flat *flat = report_flat__with_counted(model, selected);
    const struct flat_row *row = row_of(model, flat, name);

    assert_non_null(row);
    assert_int_equal(row->base[COLUMN_CALLS], calls);
    assert_int_equal(flat_row__is_partial(model, row), is_partial);
    report_flat__free(flat);
    /* Nothing says which thread made them. */
    flat = report_flat__with_counted(model, one);
    row = row_of(model, flat, name);
    assert_true(!row || row->base[COLUMN_CALLS] < 1000);
    report_flat__free(flat);
}

/*
 * Up to 10 s, two threads: `hot` heard for 1 of 8 s, counted since; `other` counted for 3 s, then
 * heard again, and counted since 9 s; `lost` off for a second in between; `late` muted, with a
 * record that counts nothing; `stopped` as `hot`, and profiling is stopped since then, when 600
 * were counted; `pure` has no node.
 */
static void counted_calls_are_known(void **state)
{
    struct drawing drawing;
    (void)state;
    drawing__begin(&drawing, 1u << 20);
    drawing.ledger.header->asof_ns = 10 * S;
    drawing.ledger.header->counts_at_ns = LEDGER_COUNTS_WHOLE;
    ledger_ref root = drawing__root(&drawing, drawing__thread(&drawing, "t", THREAD_PLATFORM, 0));
    ledger_ref second = drawing__root(&drawing, drawing__thread(&drawing, "u", THREAD_PLATFORM, 0));
    static const char *const names[] = {"hot", "other", "lost", "late", "stopped"};
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        drawing__call(&drawing, root, drawn__method(&drawing, names[i]), 64, 100);
    drawing__call(&drawing, second, drawn__method(&drawing, "always"), 1, 100);
    (void)count(&drawing, "hot", HOOKING_COUNTED, 2 * S, 3 * S, S, 0);
    (void)count(&drawing, "other", HOOKING_MUTED, 2 * S, 9 * S, 4 * S, 3 * S);
    (void)count(&drawing, "lost", HOOKING_COUNTED, 2 * S, 9 * S, 3 * S, 3 * S);
    count(&drawing, "late", HOOKING_MUTED, 2 * S, 3 * S, S, 0)->counts = 0;
    count(&drawing, "stopped", HOOKING_COUNTED, 2 * S, 3 * S, S, 0)->excluded_at = 601;
    (void)count(&drawing, "pure", HOOKING_COUNTED, 2 * S, 3 * S, S, 0);
    struct report_model *model = drawn__load(&drawing);
    assert_int_equal(model->skipped, 0);
    check_calls(model, "hot", 1064, false);
    check_calls(model, "other", 1064, false);
    check_calls(model, "lost", 1064, true);
    check_calls(model, "late", 1064, true);
    check_calls(model, "stopped", 564, false);
    check_calls(model, "pure", 1000, false);
    assert_int_equal(report_hookings__count(model).counted, 4);
    for (uint32_t i = 0; i < model->node_count; i++) /* in a tree they are so many at least */
        assert_int_equal(report_node__is_partial(model, i), model->base[COLUMN_CALLS][i] == 64);
    report_model__free(model);
    drawing__end(&drawing);
}

/*
 * The process wrote down at 8 s what it counted last: `counting` and what was `heard` since then
 * may lack calls; not what has been recorded since `earlier`, nor what was counted up to a stop.
 */
static void counted_calls_may_be_missing(void **state)
{
    static const char *const names[] = {"counting", "heard", "earlier", "stopped"};
    struct drawing drawing;
    (void)state;
    drawing__begin(&drawing, 1u << 20);
    drawing.ledger.header->asof_ns = 10 * S;
    drawing.ledger.header->counts_at_ns = 8 * S;
    ledger_ref root = drawing__root(&drawing, drawing__thread(&drawing, "t", THREAD_PLATFORM, 0));
    (void)drawing__root(&drawing, drawing__thread(&drawing, "u", THREAD_PLATFORM, 0));
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        drawing__call(&drawing, root, drawn__method(&drawing, names[i]), 64, 100);
    (void)count(&drawing, "counting", HOOKING_COUNTED, 2 * S, 3 * S, S, 0);
    (void)count(&drawing, "heard", HOOKING_HEARD, 2 * S, 9 * S, 4 * S, 3 * S);
    (void)count(&drawing, "earlier", HOOKING_HEARD, 2 * S, 7 * S, 2 * S, 3 * S);
    count(&drawing, "stopped", HOOKING_COUNTED, 2 * S, 3 * S, S, 0)->excluded_at = 601;
    struct report_model *model = drawn__load(&drawing);
    check_calls(model, "counting", 1064, true);
    check_calls(model, "heard", 1064, true);
    check_calls(model, "earlier", 1064, false);
    check_calls(model, "stopped", 564, false);
    assert_int_equal(report_hookings__count(model).counted, 2);
    report_model__free(model);
    drawing__end(&drawing);
}

/* After a new filter nobody knows whether they were counted. */
static void a_new_filter_makes_counts_unsure(void **state)
{
    struct drawing drawing;
    (void)state;
    drawing__begin(&drawing, 1u << 20);
    drawing.ledger.header->asof_ns = 10 * S;
    drawing.ledger.header->filter_since_ns = 5 * S;
    ledger_ref root = drawing__root(&drawing, drawing__thread(&drawing, "t", THREAD_PLATFORM, 0));
    drawing__call(&drawing, root, drawn__method(&drawing, "hot"), 64, 100);
    (void)drawing__thread(&drawing, "u", THREAD_PLATFORM, 0);
    (void)count(&drawing, "hot", HOOKING_COUNTED, 2 * S, 3 * S, S, 0);
    struct report_model *model = drawn__load(&drawing);
    check_calls(model, "hot", 1064, true);
    report_model__free(model);
    drawing__end(&drawing);
}

/* A method that is counted since 3 s: 1,064 calls in the first 10 s, 5,000 more in the next. */
static struct ledger_hooking *draw_counted(struct drawing *drawing, uint64_t asof_ns,
                                           uint64_t counts_at_ns)
{
    struct ledger_hooking *hooking;

    drawing__begin(drawing, 1u << 20);
    drawing->ledger.header->asof_ns = asof_ns;
    drawing->ledger.header->counts_at_ns = counts_at_ns;
    ledger_ref root = drawing__root(drawing, drawing__thread(drawing, "t", THREAD_PLATFORM, 0));
    drawing__call(drawing, root, drawn__method(drawing, "hot"), 64, 100);
    (void)drawing__thread(drawing, "u", THREAD_PLATFORM, 0);
    hooking = count(drawing, "hot", HOOKING_COUNTED, 2 * S, 3 * S, S, 0);
    hooking->counted += asof_ns > 10 * S ? 5000 : 0;
    return hooking;
}

/* Up to 10 s, and from then to 20 s: counted all of that time, though it was off before. */
static void an_interval_has_its_own_counts(void **state)
{
    struct drawing before, after;
    (void)state;
    draw_counted(&before, 10 * S, LEDGER_COUNTS_WHOLE)->since_ns = 9 * S;
    draw_counted(&after, 20 * S, LEDGER_COUNTS_WHOLE)->since_ns = 9 * S;
    struct report_model *model = drawn__load(&after);
    struct report_model *old = drawn__load(&before);
    check_calls(old, "hot", 1064, true);
    report_since__subtract(model, old);
    check_calls(model, "hot", 5000, false);
    report_model__free(old);
    report_model__free(model);
    drawing__end(&before);
    drawing__end(&after);
}

/* What the earlier ledger lacks would be taken for calls of the interval. */
static void an_interval_after_missing_counts_is_unsure(void **state)
{
    struct drawing before, after;
    (void)state;
    draw_counted(&before, 10 * S, 9 * S);
    draw_counted(&after, 20 * S, LEDGER_COUNTS_WHOLE);
    struct report_model *model = drawn__load(&after);
    struct report_model *old = drawn__load(&before);
    check_calls(old, "hot", 1064, true);
    check_calls(model, "hot", 6064, false);
    report_since__subtract(model, old);
    check_calls(model, "hot", 5000, true);
    report_model__free(old);
    report_model__free(model);
    drawing__end(&before);
    drawing__end(&after);
}

static void sums_are_so_many_at_least(void **state)
{
    struct drawing drawing;
    (void)state;
    draw(&drawing);
    struct report_model *model = drawn__load(&drawing);
    for (uint32_t i = 0; i < model->node_count; i++)
        assert_int_equal(report_node__is_partial(model, i),
                         model->nodes[i].method == drawn__index_of(model, "rare"));
    assert_true(model->threads[0].is_partial);
    assert_false(model->threads[1].is_partial);
    report_model__free(model);
    drawing__end(&drawing);
}

static void a_hook_of_no_method_is_left_out(void **state)
{
    struct drawing drawing;
    (void)state;
    draw(&drawing);
    drawing__hooking(&drawing, 77777, HOOKING_OFF, 1, 2, 1);
    drawing__hooking(&drawing, drawn__method(&drawing, "odd"), (enum ledger_hooking_state)9, 1, 2,
                     1);
    struct report_model *model = drawn__load(&drawing);
    assert_int_equal(model->skipped, 2);
    assert_null(of(model, "odd"));
    report_model__free(model);
    drawing__end(&drawing);
}

/* Up to 10 s. left: for 3 s. late: first hooked at 4 s. muted: heard up to 8 s since 1 s, but left
 * out for 2 of these 7. late_off: first hooked at 4 s, heard up to 9 s: 5 of 10 s. */
static void the_filter_may_leave_a_method_out_for_a_time(void **state)
{
    struct drawing drawing;
    (void)state;
    drawing__begin(&drawing, 1u << 20);
    drawing.ledger.header->asof_ns = 10 * S;
    ledger_ref muted = drawn__method(&drawing, "muted");
    ledger_ref late_off = drawn__method(&drawing, "late_off");
    drawing__left_out(&drawing, drawn__method(&drawing, "left"), 0, 6 * S, 3 * S);
    drawing__left_out(&drawing, drawn__method(&drawing, "late"), 4 * S, 4 * S, 4 * S);
    drawing__left_out(&drawing, muted, 0, 6 * S, 2 * S);
    drawing__hooking(&drawing, muted, HOOKING_MUTED, 1 * S, 8 * S, 7 * S);
    drawing__left_out(&drawing, late_off, 4 * S, 4 * S, 4 * S);
    drawing__hooking(&drawing, late_off, HOOKING_OFF, 4 * S, 9 * S, 5 * S);
    struct report_model *model = drawn__load(&drawing);
    assert_int_equal(model->skipped, 0);
    check_hooking(model, "left", 1, 0, 700000);
    check_hooking(model, "late", 4 * S, 0, 600000);
    check_hooking(model, "muted", 1 * S, 8 * S, 555555);
    check_hooking(model, "late_off", 4 * S, 9 * S, 500000);
    struct report_hookings_count count = report_hookings__count(model);
    assert_int_equal(count.silent, 2);
    assert_int_equal(count.again, 0);
    report_model__free(model);
    drawing__end(&drawing);
}

/* The same process at 10 s and at 20 s: rare is silent on, again is heard on, twice's first falls
 * silent no more. New: late, hooked at 4 s, silent from 15 s on: 5 of these 10 s; and postponed,
 * whose class was loaded at 1 s and got its hooks at 12 s: 8 of 10 s. */
static void an_interval_has_its_own_shares(void **state)
{
    struct drawing first, second;
    (void)state;
    draw(&first);
    draw(&second);
    second.ledger.header->asof_ns = 20 * S;
    drawing__hooking(&second, drawn__method(&second, "late"), HOOKING_OFF, 4 * S, 15 * S, 11 * S);
    ledger_ref postponed = drawn__method(&second, "postponed");
    drawing__hooking(&second, postponed, HOOKING_HEARD, 1 * S, 12 * S, 0);
    struct report_model *before = drawn__load(&first);
    struct report_model *model = drawn__load(&second);
    report_since__subtract(model, before);
    check_hooking(model, "postponed", 1 * S, 0, 800000);
    assert_null(of(model, "always"));
    assert_null(of(model, "again"));
    check_hooking(model, "rare", 2 * S, 4 * S, 0);
    check_hooking(model, "late", 4 * S, 15 * S, 500000);
    report_model__free(before);
    report_model__free(model);
    drawing__end(&first);
    drawing__end(&second);
}

/* The second process began 5 s later and ran for 10 s as well: its times are 5 s later in the
 * whole, its shares count with the first one's: both were heard for as long. */
static void merged_processes_keep_their_times(void **state)
{
    struct drawing drawings[2];
    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        draw(&drawings[i]);
        drawings[i].ledger.header->state = LEDGER_CLOSED;
        drawings[i].ledger.header->epoch_ns += 5 * S * i;
        drawings[i].ledger.header->overhead_ppm = 20000;
        drawings[i].ledger.header->off_methods = 2;
        drawings[i].ledger.header->planned = i;
    }
    struct report_model *model = load_merged((struct drawing *[]){&drawings[0], &drawings[1]}, 2);
    assert_int_equal(model->header.overhead_ppm, 20000);
    assert_int_equal(model->header.off_methods, 4);
    assert_int_equal(model->header.planned, 1);
    const struct report_hooking *rare = of(model, "rare");
    assert_int_equal(rare->from_ns, 2 * S);
    assert_int_equal(rare->until_ns, 9 * S);
    assert_int_equal(rare->heard_ns, 4 * S);
    /* again: 2 s in each, though the first process was gone at the end of the second */
    assert_int_equal(of(model, "again")->heard_ns, 4 * S);
    report_model__free(model);
    drawing__end(&drawings[0]);
    drawing__end(&drawings[1]);
}

static void list_class(struct drawing *drawing, enum ledger_choice choice, uint32_t filter)
{
    const char methods[] = {(char)choice, 'g', 'o', 'n', 'e', 0, '(', ')', 'V', 0};
    ledger_ref ref = drawing__record(drawing, LEDGER_CLASSES);
    ledger_ref listed = ledger__string(&drawing->ledger, methods, sizeof(methods));
    struct ledger_class *class = ledger__at(&drawing->ledger, ref);
    class->name = drawing__string(drawing, "T");
    class->methods = listed;
    class->filter = filter;
}

/* Up to 10 s. gone: hooked, and left out since 8 s. */
static void draw_with_new_filter(struct drawing *drawing)
{
    drawing__begin(drawing, 1u << 20);
    struct ledger_header *header = drawing->ledger.header;
    header->asof_ns = 10 * S;
    header->filters = 2;
    header->filter_since_ns = 8 * S;
    ledger_ref thread = drawing__thread(drawing, "filtered", THREAD_PLATFORM, 0);
    ledger_ref gone = drawn__method(drawing, "gone");
    drawing__call(drawing, drawing__root(drawing, thread), gone, 64, 100);
    list_class(drawing, CHOICE_NOT_INCLUDED, 2);
}

/* The same program, whose filter was never set anew: gone was heard all of its 10 s. */
static void draw_with_one_filter(struct drawing *drawing)
{
    drawing__begin(drawing, 1u << 20);
    struct ledger_header *header = drawing->ledger.header;
    header->asof_ns = 10 * S;
    header->filters = 1;
    ledger_ref thread = drawing__thread(drawing, "plain", THREAD_PLATFORM, 0);
    ledger_ref gone = drawn__method(drawing, "gone");
    drawing__call(drawing, drawing__root(drawing, thread), gone, 32, 100);
    list_class(drawing, CHOICE_HOOKED, 1);
}

/* In either order: a method that one process's last filter left out has so many calls at least. The
 * second process began 5 s later. */
static void a_merge_knows_what_the_last_filter_left_out(void **state)
{
    struct drawing drawings[2];
    (void)state;
    for (unsigned order = 0; order < 2; order++) {
        draw_with_new_filter(&drawings[order]);
        draw_with_one_filter(&drawings[1 - order]);
        drawings[0].ledger.header->state = LEDGER_CLOSED;
        drawings[1].ledger.header->state = LEDGER_CLOSED;
        drawings[1].ledger.header->epoch_ns += 5 * S;
        struct report_model *model =
            load_merged((struct drawing *[]){&drawings[0], &drawings[1]}, 2);
        const struct report_hooking *gone = of(model, "gone");
        assert_non_null(gone);
        assert_true(gone->is_left_out);
        assert_int_equal(gone->until_ns, (order ? 13 : 8) * S);
        assert_int_equal(report_hooking__share_ppm(gone), 800000);
        assert_int_equal(report_hookings__count(model).silent, 0);
        uint32_t partial = 0;
        for (uint32_t i = 0; i < model->node_count; i++)
            partial += report_node__is_partial(model, i);
        assert_int_equal(partial, 2);
        assert_true(model->threads[0].is_partial);
        assert_true(model->threads[1].is_partial);
        report_model__free(model);
        drawing__end(&drawings[0]);
        drawing__end(&drawings[1]);
    }
}

/*
 * t (thread)       base 100 ms   in no exact call
 *   a  x100             500 ms   a call 20 ms with all below: longer than 10 ms
 *     b  x1000          500 ms   a call 1.5 ms: below 10 ms
 *       c  x100000     1000 ms   a call 10 µs: not below 10 µs, below 100 µs
 *   d  x1000000         400 ms   a call 0.4 µs
 *     gap               100 ms   in d as well: 0.5 µs with it
 * and 1 s of a VM thread, which is none of Java's
 */
static void each_nanosecond_is_in_the_innermost_call(void **state)
{
    struct drawing drawing;
    (void)state;
    drawing__begin(&drawing, 1u << 20);
    ledger_ref thread = drawing__thread(&drawing, "t", THREAD_PLATFORM, 100 * MS);
    ledger_ref root = drawing__root(&drawing, thread);
    ledger_ref a = drawing__call(&drawing, root, drawn__method(&drawing, "a"), 100, 500 * MS);
    ledger_ref b = drawing__call(&drawing, a, drawn__method(&drawing, "b"), 1000, 500 * MS);
    drawing__call(&drawing, b, drawn__method(&drawing, "c"), 100000, 1000 * MS);
    ledger_ref d = drawing__call(&drawing, root, drawn__method(&drawing, "d"), 1000000, 400 * MS);
    drawing__node(&drawing, d, NODE_GAP, 0, 0, 100 * MS);
    drawing__thread(&drawing, "GC", THREAD_VM, 1000 * MS);
    struct report_model *model = drawn__load(&drawing);
    struct report_resolution resolution = report_resolution__of(model);
    const uint64_t below_ns[RESOLUTION_STEPS] = {10000, 100000, MS, 10 * MS, 0};
    const uint64_t cpu_ns[RESOLUTION_STEPS] = {500 * MS, 1500 * MS, 1500 * MS, 2000 * MS,
                                               2500 * MS};
    assert_int_equal(resolution.java_ns, 2600 * MS);
    assert_memory_equal(resolution.below_ns, below_ns, sizeof(below_ns));
    assert_memory_equal(resolution.cpu_ns, cpu_ns, sizeof(cpu_ns));
    report_model__free(model);
    drawing__end(&drawing);
}

static void list(struct drawing *drawing, unsigned choice, const char *name)
{
    struct ledger_class *class =
        ledger__at(&drawing->ledger, drawing__record(drawing, LEDGER_CLASSES));
    const struct ledger_method *method =
        ledger__at(&drawing->ledger, drawn__method(drawing, "like"));
    size_t length = 0;
    char bytes[64];

    length = (size_t)snprintf(bytes, sizeof(bytes), "%c%s%c", (int)choice, name, 0);
    length +=
        (size_t)snprintf(bytes + length, sizeof(bytes) - length, "%s",
                         ledger_string__bytes(ledger__at(&drawing->ledger, method->signature)));
    class->name = method->class_name;
    class->methods = ledger__string(&drawing->ledger, bytes, length + 1);
    class->filter = drawing->ledger.header->filters;
}

/* The first process, 10 s long, has postponed "both" up to its end, the second called it; "late"
 * got its hooks in the first at 5 s, which has a record; "other" was postponed and never called. */
static void what_one_process_postponed_is_at_least(void **state)
{
    struct drawing drawings[2];
    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        struct drawing *drawing = &drawings[i];

        drawing__begin(drawing, 1u << 20);
        drawing->ledger.header->state = LEDGER_CLOSED;
        drawing->ledger.header->asof_ns = 10 * S;
        ledger_ref root = drawing__root(drawing, drawing__thread(drawing, "t", THREAD_PLATFORM, 0));
        ledger_ref late = drawn__method(drawing, "late");
        drawing__call(drawing, root, late, 3, 100);
        if (i == 1) {
            drawing__call(drawing, root, drawn__method(drawing, "both"), 3, 100);
            continue;
        }
        drawing->ledger.header->postponed_methods = 2;
        drawing__hooking(drawing, late, HOOKING_HEARD, 1 * S, 5 * S, 0);
        list(drawing, CHOICE_POSTPONED, "both");
        list(drawing, CHOICE_POSTPONED, "late");
        list(drawing, CHOICE_POSTPONED, "other");
    }
    struct report_model *model = load_merged((struct drawing *[]){&drawings[0], &drawings[1]}, 2);
    check_hooking(model, "both", 1, 0, 0);
    check_hooking(model, "late", 1 * S, 0, 555555);
    assert_int_equal(report_hookings__count(model).again, 0);
    report_model__free(model);
    drawing__end(&drawings[0]);
    drawing__end(&drawings[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shares_are_of_the_time_since_hooks_were_put_in),
        cmocka_unit_test(counted_calls_are_known),
        cmocka_unit_test(counted_calls_may_be_missing),
        cmocka_unit_test(a_new_filter_makes_counts_unsure),
        cmocka_unit_test(an_interval_has_its_own_counts),
        cmocka_unit_test(an_interval_after_missing_counts_is_unsure),
        cmocka_unit_test(sums_are_so_many_at_least),
        cmocka_unit_test(a_hook_of_no_method_is_left_out),
        cmocka_unit_test(the_filter_may_leave_a_method_out_for_a_time),
        cmocka_unit_test(an_interval_has_its_own_shares),
        cmocka_unit_test(merged_processes_keep_their_times),
        cmocka_unit_test(what_one_process_postponed_is_at_least),
        cmocka_unit_test(a_merge_knows_what_the_last_filter_left_out),
        cmocka_unit_test(each_nanosecond_is_in_the_innermost_call),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
