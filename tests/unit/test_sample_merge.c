/* Raw samples become sampled nodes: what lies above the current exact node, and nothing else. */
#include "agent/sampling/sample_merge.h"
#include "drawn_samples.h"
#include "fake_jvm.h"
#include "native/tree/folded_calls.h"
#include "native/tree/node_move.h"

/* cmocka.h needs the others before it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#define MIB (UINT64_C(1) << 20)

/* Methods have letters, and are of the class pkg.Class; `$` is where a continuation is entered, `%`
 * what its carrier calls for that. */
static struct fake_method in_memory[128];
static struct fake_heap heap; /* with the code of A, once it is compiled */

#define COMPILE_ID 3

struct stage {
    struct ledger ledger;
    struct method_maker maker;
    struct call_tree tree;
    struct ledger_time time;
    struct process_scan scan;
    struct stack_walker walker;
    struct java_methods methods;
    struct compiled_code code;
    struct sample_merge merge;
    ledger_ref thread;
    ledger_ref root;
    ledger_ref a;        /* root, M, A */
    struct stage *older; /* all can be reached, for the leak checker */
    union {
        struct sample sample;
        char room[sizeof(struct sample) + 64 * sizeof(struct sample_frame)];
    } raw;
};

static struct ledger_thread *thread_of(struct stage *stage)
{
    return ledger__at(&stage->ledger, stage->thread);
}

static struct stage *make(enum ledger_thread_kind kind)
{
    static struct stage *newest;
    static struct code_images *images;
    struct stage *stage = calloc(1, sizeof *stage);
    assert_non_null(stage);
    stage->older = newest;
    newest = stage;
    if (images == NULL)
        images = code_images__new();
    for (int letter = 'A'; letter <= 'z'; letter++) {
        const char name[] = {(char)letter, '\0'};
        fake_method__make(&in_memory[letter], "pkg/Class", name, "()V");
    }
    fake_method__make(&in_memory['!'], "pkg/Gone", "gone", "no signature");
    fake_method__make(&in_memory['$'], "jdk/internal/vm/Continuation", "enterSpecial", "()V");
    fake_method__make(&in_memory['%'], "jdk/internal/vm/Continuation", "run", "()V");
    assert_int_equal(ledger__create(&stage->ledger, NULL, MIB), 0);
    stage->maker.ledger = &stage->ledger;
    call_tree__init(&stage->tree, &stage->ledger, make_letter_method, &stage->maker);
    stage->root = call_tree__add_plain_node(&stage->tree, 0, NODE_ROOT);
    call_tree__go_to(&stage->tree, stage->root, 0);
    play(&stage->tree, "M A");
    stage->a = ledger__ref(&stage->ledger, stage->tree.current);
    stage->thread = ledger__take_shared(&stage->ledger, LEDGER_THREADS,
                                        sizeof(struct ledger_thread) / LEDGER_CELL_BYTES);
    thread_of(stage)->kind = kind;
    thread_of(stage)->root = stage->root;
    ledger_time__start(&stage->time, 0);
    stage->walker.images = images;
    fake_heap__make(&heap, &stage->walker.code);
    java_methods__init(&stage->methods, &fake_structs);
    compiled_code__init(&stage->code, &stage->walker.code, &stage->methods);
    sample_merge__init(&stage->merge, &stage->ledger, &stage->scan, &stage->walker, &stage->methods,
                       &stage->code);
    return stage;
}

static uint64_t identity_of_code(void)
{
    const struct code_blob blob = {.method = &in_memory['A'], .compile_id = COMPILE_ID};
    return code_blob__identity(&blob);
}

/* Innermost first: a letter is an interpreted frame at bytecode 3, `!` one of a method that is
 * gone, `.` the kernel, a digit an address in the compiled code. */
static struct sample *fill(struct stage *stage, const char *frames, ledger_ref node)
{
    struct sample *sample = &stage->raw.sample;
    *sample = (struct sample){.failure = SAMPLE_IS_WHOLE,
                              .inner_frames = SAMPLE_INNER_UNKNOWN,
                              .thread = stage->thread,
                              .node = node,
                              .when_ns = ledger_time__now_ns(&stage->time)};
    for (const char *c = frames; *c != '\0'; c++) {
        struct sample_frame *frame = &sample->frames[sample->frame_count];
        if (*c == ' ')
            continue;
        sample->frame_count++;
        if (*c == '.')
            *frame = sample_frame__make(FRAME_KERNEL, 0, 0);
        else if (*c >= '0' && *c <= '9')
            *frame = sample_frame__make(FRAME_COMPILED,
                                        (uint64_t)(uintptr_t)&heap.nmethod.code[(*c - '0') * 4],
                                        identity_of_code());
        else
            *frame = sample_frame__make(FRAME_INTERPRETED,
                                        (uint64_t)(uintptr_t)&in_memory[(unsigned char)*c], 4);
    }
    return sample;
}

static void merge(struct stage *stage, const char *frames)
{
    sample_merge__add(&stage->merge, fill(stage, frames, stage->a));
}

static void check(struct stage *stage, ledger_ref node, const char *drawn)
{
    char text[DRAWING_BYTES];
    assert_string_equal(draw_samples(&stage->ledger, node, text), drawn);
    ledger__close(&stage->ledger);
}

static void frames_above_the_current_one(void **state)
{
    (void)state;
    struct stage *stage = make(THREAD_PLATFORM);
    merge(stage, "q p A M");
    merge(stage, "p A M");
    merge(stage, "r p A M");
    merge(stage, "q p A M");
    assert_int_equal(stage->ledger.header->samples, 4);
    assert_int_equal(stage->ledger.header->dropped_samples, 0);
    assert_int_equal(thread_of(stage)->merged_samples, 4);
    assert_int_equal(node_at(&stage->ledger, stage->root)->sampled, 0);
    check(stage, stage->a, "java p 1 0 4\n  java q 2 0 2\n  java r 1 0 1\n");
}

static void charge(struct stage *stage, const char *frames, ledger_ref node)
{
    struct sample *sample = fill(stage, frames, node);
    sample->charged_ns = sample->when_ns;
    sample_merge__add(&stage->merge, sample);
}

/* Four calls of A take 3 ms, then 4 ms of their own; nothing is known of a root. */
static void a_sample_below_long_calls_is_coarse(void **state)
{
    (void)state;
    struct stage *stage = make(THREAD_PLATFORM);
    struct ledger_node *a = ledger__at(&stage->ledger, stage->a);
    const struct frame_tallies *tallies = &stage->merge.tallies;
    struct java_method *p;

    a->calls = 4;
    a->cpu_ns = 3000000;
    charge(stage, "q p A M", stage->a);
    assert_int_equal(tallies->java_samples, 1);
    assert_int_equal(tallies->coarse_samples, 0);
    a->cpu_ns = 4000000;
    charge(stage, "q p p A M", stage->a);
    assert_int_equal(tallies->java_samples, 2);
    assert_int_equal(tallies->coarse_samples, 1);
    charge(stage, "p", stage->root);
    assert_int_equal(tallies->coarse_samples, 2);
    p = java_methods__by_address(&stage->methods, &in_memory['p']);
    assert_int_equal(p->coarse, 2);
    charge(stage, ".", stage->root); /* no Java at all */
    assert_int_equal(tallies->java_samples, 3);
    ledger__close(&stage->ledger);
}

static void the_current_one_on_top(void **state)
{
    (void)state;
    struct stage *stage = make(THREAD_PLATFORM);
    merge(stage, "A M");
    fill(stage, "A M", stage->a)->flags = SAMPLE_IS_WALL;
    sample_merge__add(&stage->merge, &stage->raw.sample);
    check(stage, stage->a, "self A 1 1 2\n");
}

/* The innermost frame of the method is the current node's: each level has a node. */
static void recursion(void **state)
{
    (void)state;
    struct stage *stage = make(THREAD_PLATFORM);
    play(&stage->tree, "A");
    ledger_ref deeper = ledger__ref(&stage->ledger, stage->tree.current);
    assert_int_not_equal(deeper, stage->a);
    sample_merge__add(&stage->merge, fill(stage, "A A M", deeper));
    sample_merge__add(&stage->merge, fill(stage, "q A A M", deeper));
    assert_int_equal(node_at(&stage->ledger, stage->a)->sampled, 0);
    check(stage, deeper, "self A 1 0 1\njava q 1 0 1\n");
}

/* It did not come down to the current node: all that it saw lies above. */
static void walks_that_failed(void **state)
{
    (void)state;
    struct stage *stage = make(THREAD_PLATFORM);
    fill(stage, "q p", stage->a)->failure = WALK_BAD_FRAME;
    sample_merge__add(&stage->merge, &stage->raw.sample);
    fill(stage, "q p", stage->a)->flags = SAMPLE_IS_PARTIAL;
    sample_merge__add(&stage->merge, &stage->raw.sample);
    /* It came to the end and has not met it: the exit is about to be heard. */
    merge(stage, "q p");
    fill(stage, "", stage->a)->failure = WALK_FAULT;
    sample_merge__add(&stage->merge, &stage->raw.sample);
    assert_int_equal(stage->ledger.header->walk_failures[WALK_BAD_FRAME], 1);
    assert_int_equal(stage->ledger.header->walk_failures[WALK_FAULT], 1);
    assert_int_equal(stage->ledger.header->samples, 4);
    check(stage, stage->a, "java p 0 0 2\n  java q 2 0 2\nself A 2 0 1\n");
}

/* Below lies its carrier's stack. */
static void a_virtual_thread_ends_where_it_was_entered(void **state)
{
    (void)state;
    struct stage *stage = make(THREAD_VIRTUAL);
    sample_merge__add(&stage->merge, fill(stage, "q p $ r s", stage->root));
    check(stage, stage->root, "java p 0 0 1\n  java q 1 0 1\n");
    stage = make(THREAD_CARRIER);
    sample_merge__add(&stage->merge, fill(stage, "p $ r", stage->root));
    check(stage, stage->root, "java r 0 0 1\n  java enterSpecial 0 0 1\n    java p 1 0 1\n");
}

static void samples_of_nobody(void **state)
{
    (void)state;
    struct stage *stage = make(THREAD_PLATFORM);
    fill(stage, "q p", 0)->thread = 0;
    sample_merge__add(&stage->merge, &stage->raw.sample);
    assert_int_equal(stage->ledger.header->homeless_samples, 1);
    assert_int_equal(stage->ledger.header->samples, 1);
    assert_int_equal(thread_of(stage)->merged_samples, 0);
    check(stage, stage->root, "");
}

static void the_kernels_side(void **state)
{
    (void)state;
    struct stage *stage = make(THREAD_PLATFORM);
    merge(stage, ". q A M");
    merge(stage, ". A M");
    check(stage, stage->a, "java q 0 0 1\n  kernel 1 0 0\nkernel 1 0 0\n");
}

/* A is compiled; q is inlined in it at its bytecode 2, up to the 16th byte. */
static struct fake_nmethod *load_code(void)
{
    /* Each scope: where its caller's is written, 1 + number of its method, 1 + bytecode index. */
    static const uint8_t scopes[] = {0, 0, 1, 3, 1, 2, 6, 0, 1, 8};
    struct fake_nmethod *code = fake_nmethod__make(&heap, &in_memory['A'], COMPILE_ID);
    memcpy(code->scope_bytes, scopes, sizeof scopes);
    code->metadata[0] = &in_memory['A'];
    code->metadata[1] = &in_memory['q'];
    fake_nmethod__describe(code, 16, 4); /* q@5 in A@2, at 1 */
    fake_nmethod__describe(code, 64, 7); /* A@7 */
    return code;
}

/* All that the sample itself says is whose the code was. */
static void code_that_is_gone_has_its_method(void **state)
{
    (void)state;
    struct stage *stage = make(THREAD_PLATFORM);
    struct fake_nmethod *code = load_code();
    code->compile_id++;
    merge(stage, "p3 M");
    assert_int_equal(stage->code.lost, 1);
    check(stage, stage->a, "java p 1 0 1\n");
}

static void inlined_frames_are_frames(void **state)
{
    (void)state;
    struct stage *stage = make(THREAD_PLATFORM);
    (void)load_code();
    merge(stage, "3 M");  /* byte 12 */
    merge(stage, "4 M");  /* byte 16 */
    merge(stage, "p1 M"); /* byte 4, which called p */
    check(stage, stage->a, "java q 1 0 0\n  java p 1 0 1\nself A 1 0 0\n");
}

static void places_of_compiled_code(void **state)
{
    (void)state;
    struct stage *stage = make(THREAD_PLATFORM);
    struct fake_nmethod *nmethod = load_code();
    memset(nmethod->code, 0x90, sizeof nmethod->code);
    merge(stage, "3 M");
    merge(stage, "3 M");
    const struct compiled_method *method =
        compiled_code__find(&stage->code, (uint64_t)(uintptr_t)&nmethod->code[12],
                            identity_of_code(), 0)
            ->code;
    const struct ledger_code *code = ledger__at(&stage->ledger, method->code);
    assert_int_not_equal(method->code, 0);
    assert_int_equal(code->address, (uintptr_t)nmethod->code);
    assert_int_equal(code->size, 64);
    assert_int_equal(code->compiler, COMPILER_C2);
    const struct ledger_string *bytes = ledger__at(&stage->ledger, code->bytes);
    assert_int_equal(bytes->length, 64);
    assert_memory_equal((const char *)bytes + offsetof(struct ledger_string, bytes), nmethod->code,
                        64);
    const struct ledger_place *place = ledger__at(&stage->ledger, code->places);
    assert_int_equal(place->owner, method->code);
    assert_int_equal(place->offset, 12);
    assert_int_equal(place->bci, 5);
    assert_int_equal(place->cpu_samples, 2);
    assert_int_equal(place->next, 0);
    ledger__close(&stage->ledger);
}

/* Of one method so much machine code is kept; the places of all other code of it are its own, by
 * their bytecodes. */
static void code_of_a_method_is_bounded(void **state)
{
    (void)state;
    struct stage *stage = make(THREAD_PLATFORM);
    struct fake_nmethod *nmethod = load_code();
    ledger_ref code = 0;
    uint32_t codes = 0, places = 0;
    for (int32_t i = 0; i < 50; i++) {
        const struct code_blob blob = {.method = &in_memory['A'], .compile_id = (uint32_t)i + 10};
        nmethod->compile_id = i + 10;
        struct sample *sample = fill(stage, "3 M", stage->a);
        sample->frames[0] =
            sample_frame__make(FRAME_COMPILED, sample->frames[0].where, code_blob__identity(&blob));
        sample_merge__add(&stage->merge, sample);
    }
    while ((code = ledger__next(&stage->ledger, LEDGER_CODE, code)))
        codes++;
    assert_int_equal(codes, 32);
    const struct java_method *q =
        java_methods__by_name(&stage->methods, "pkg.Class", 9, "q", 1, "()V", 3);
    const struct ledger_method *method = ledger__at(&stage->ledger, q->ref);
    for (ledger_ref ref = method->places; ref; places++) {
        const struct ledger_place *place = ledger__at(&stage->ledger, ref);
        assert_int_equal(place->owner, q->ref);
        assert_int_equal(place->bci, 5);
        assert_int_equal(place->offset, 0);
        assert_int_equal(place->cpu_samples, 50 - 32);
        ref = place->next;
    }
    assert_int_equal(places, 1);
    ledger__close(&stage->ledger);
}

/* A record that exact and sampled frames share, and the bytecode index 3 in it. */
static void places_of_interpreted_methods(void **state)
{
    (void)state;
    struct stage *stage = make(THREAD_PLATFORM);
    merge(stage, "A M");
    merge(stage, "A M");
    const struct ledger_method *method =
        ledger__at(&stage->ledger, node_at(&stage->ledger, stage->a)->method);
    const struct ledger_place *place = ledger__at(&stage->ledger, method->places);
    assert_int_not_equal(method->places, 0);
    assert_int_equal(place->bci, 3);
    assert_int_equal(place->cpu_samples, 2);
    assert_int_equal(place->next, 0);
    check(stage, stage->a, "self A 2 0 2\n");
}

/* Three samples of a thread that has no events meanwhile. */
static void merge_thrice(struct stage *stage, const char *frames, ledger_ref node, uint16_t flags)
{
    for (int i = 0; i < 3; i++) {
        struct sample *sample = fill(stage, frames, node);
        sample->charged_ns = 1;
        sample->flags = flags;
        sample_merge__add(&stage->merge, sample);
    }
}

static ledger_ref play_on(struct stage *stage, const char *program)
{
    play(&stage->tree, program);
    return ledger__ref(&stage->ledger, stage->tree.current);
}

static void check_corrected(struct stage *stage, uint64_t corrected, ledger_ref node,
                            const char *drawn)
{
    assert_int_equal(stage->ledger.header->positions_corrected, corrected);
    check(stage, node, drawn);
}

/* Two of its frames are two levels, one is one: the frame of the deeper node is gone. */
static void a_level_of_recursion_that_is_left(void **state)
{
    (void)state;
    struct stage *stage = make(THREAD_PLATFORM);
    ledger_ref deeper = play_on(stage, "A");
    merge_thrice(stage, "p A A M", deeper, 0);
    check_corrected(stage, 0, deeper, "java p 3 0 3\n");
    stage = make(THREAD_PLATFORM);
    merge_thrice(stage, "p A M", play_on(stage, "A"), 0);
    check_corrected(stage, 1, stage->a, "java p 1 0 1\n");
    stage = make(THREAD_PLATFORM);
    ledger_ref middle = play_on(stage, "B A");
    merge_thrice(stage, "p A B A M", play_on(stage, "B A"), SAMPLE_IS_WALL);
    check_corrected(stage, 1, middle, "java p 0 1 1\n");
}

/* The frames between p and the carrier's are in the heap: A and M may be among them. */
static void a_walk_that_passes_the_entry_by(void **state)
{
    (void)state;
    struct stage *stage = make(THREAD_VIRTUAL);
    merge_thrice(stage, "p % r s", stage->a, 0);
    check_corrected(stage, 0, stage->a, "java p 3 0 3\n");
    /* The same without carrier's frames is whole, so that A was left. */
    stage = make(THREAD_VIRTUAL);
    merge_thrice(stage, "p $ % r s", stage->a, 0);
    check_corrected(stage, 1, stage->root, "java p 1 0 1\n");
}

/* One frame of several: which of the levels is not known. */
static void levels_of_a_part_of_the_stack(void **state)
{
    (void)state;
    struct stage *stage = make(THREAD_PLATFORM);
    ledger_ref deeper = play_on(stage, "A");
    merge_thrice(stage, "p A", deeper, SAMPLE_IS_PARTIAL);
    check_corrected(stage, 0, deeper, "java p 3 0 3\n");
    stage = make(THREAD_PLATFORM);
    deeper = play_on(stage, "B");
    merge_thrice(stage, "p A", deeper, SAMPLE_IS_PARTIAL);
    check_corrected(stage, 1, stage->a, "java p 1 0 1\n");
}

/* B has returned, and A calls C once more, which tells nobody: C is on the stack as before, and
 * does not stand in B. */
static void a_frame_in_the_middle_that_is_left(void **state)
{
    (void)state;
    struct stage *stage = make(THREAD_PLATFORM);
    ledger_ref in_c = play_on(stage, "B C");
    merge_thrice(stage, "p C B A M", in_c, 0);
    check_corrected(stage, 0, in_c, "java p 3 0 3\n");
    stage = make(THREAD_PLATFORM);
    in_c = play_on(stage, "B C");
    merge_thrice(stage, "C q A p M", in_c, 0);
    check_corrected(stage, 1, stage->a, "java q 0 0 1\n  java C 1 0 1\n");
    stage = make(THREAD_PLATFORM);
    in_c = play_on(stage, "B C");
    merge_thrice(stage, "C A", in_c, SAMPLE_IS_PARTIAL);
    check_corrected(stage, 1, stage->a, "java C 1 0 1\n");
}

/* A part of the stack that ends above B, or above A: nothing is missing in the middle. */
static void a_part_may_end_anywhere(void **state)
{
    const char *const parts[] = {"p C", "p C q B", "p C q B A"};
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct stage *stage = make(THREAD_VIRTUAL);
        ledger_ref in_c = play_on(stage, "B C");
        merge_thrice(stage, parts[i], in_c, SAMPLE_IS_PARTIAL);
        check_corrected(stage, 0, in_c, "java p 3 0 3\n");
    }
}

/* The whole stack at some time, innermost method first, as JVMTI tells it. */
static void tell_stack(struct stage *stage, const char *methods)
{
    struct sample *sample = fill(stage, "", stage->root);
    sample->flags = SAMPLE_IS_STACK;
    for (const char *c = methods; *c != '\0'; c++)
        sample->frames[sample->frame_count++] =
            sample_frame__make(FRAME_NAMED,
                               (uint64_t)(uintptr_t)java_methods__by_address(
                                   &stage->methods, &in_memory[(unsigned char)*c]),
                               0);
    sample_merge__add(&stage->merge, sample);
}

/* p was called by A when the stack was told, and is by B now: what lies below p is not what was
 * told, and that is no reason to think that B is over. */
static void a_stack_of_another_time_tells_nothing(void **state)
{
    (void)state;
    struct stage *stage = make(THREAD_VIRTUAL);
    tell_stack(stage, "pAM");
    ledger_ref in_b = play_on(stage, "B");
    merge_thrice(stage, "p", in_b, SAMPLE_IS_PARTIAL);
    check_corrected(stage, 0, in_b, "java p 3 0 3\n");
    stage = make(THREAD_VIRTUAL);
    tell_stack(stage, "pqAM");
    merge_thrice(stage, "p", stage->a, SAMPLE_IS_PARTIAL);
    check_corrected(stage, 0, stage->a, "java q 0 0 0\n  java p 3 0 3\n");
}

/* B may be inlined in A where A was interrupted; below a call, what is inlined is known, and what
 * called A is. */
static void what_is_inlined_on_top_is_not_certain(void **state)
{
    (void)state;
    struct stage *stage = make(THREAD_PLATFORM);
    (void)load_code();
    merge_thrice(stage, "4 M", play_on(stage, "B"), 0);
    check_corrected(stage, 0, stage->a, "");
    stage = make(THREAD_PLATFORM);
    (void)load_code();
    merge_thrice(stage, "p4 M", play_on(stage, "B"), 0);
    check_corrected(stage, 1, stage->a, "java p 1 0 1\n");
    stage = make(THREAD_PLATFORM);
    (void)load_code();
    ledger_ref m = node_at(&stage->ledger, stage->a)->parent;
    merge_thrice(stage, "4 M", play_on(stage, "/A B"), 0);
    check_corrected(stage, 1, m, "java A 1 0 0\n");
}

/* B's class was unloaded before the samples were merged: its frame has no name, and may be there
 * all the same. Where that frame lies below A, B is over. */
static void a_frame_without_a_name_may_be_any(void **state)
{
    (void)state;
    struct stage *stage = make(THREAD_PLATFORM);
    ledger_ref in_b = play_on(stage, "B");
    merge_thrice(stage, "p ! A M", in_b, 0);
    check_corrected(stage, 0, in_b, "java p 3 0 3\n");
    stage = make(THREAD_PLATFORM);
    merge_thrice(stage, "p A ! M", play_on(stage, "B"), 0);
    check_corrected(stage, 1, stage->a, "java p 1 0 1\n");
    stage = make(THREAD_PLATFORM);
    in_b = play_on(stage, "B");
    merge_thrice(stage, "p ! A", in_b, SAMPLE_IS_PARTIAL);
    check_corrected(stage, 0, in_b, "java p 3 0 3\n");
}

/* The sample was taken before its node was folded, and is merged after. */
static void a_sample_of_a_folded_node_goes_where_that_went(void **state)
{
    (void)state;
    struct stage *stage = make(THREAD_PLATFORM);
    const struct ledger_node *a = node_at(&stage->ledger, stage->a);
    struct sample *sample = fill(stage, "q A M", stage->a);
    ledger_ref folded;
    sample->key = a->key;
    stage->tree.thread = thread_of(stage);
    call_tree__go_to(&stage->tree, stage->root, 0);
    folded = folded_calls__node(&stage->tree, thread_of(stage), a->method, a->key);
    assert_int_not_equal(folded, 0);
    assert_true(node_move__join(&stage->tree, stage->a, folded, 0));
    sample_merge__add(&stage->merge, sample);
    assert_int_equal(stage->ledger.header->dropped_samples, 0);
    assert_int_equal(node_at(&stage->ledger, stage->a)->sampled, 0);
    check(stage, folded, "java q 1 0 1\n");
}

static void a_full_ledger_drops_samples(void **state)
{
    (void)state;
    struct stage *stage = make(THREAD_PLATFORM);
    while (record_pool__node(&stage->merge.pool) != 0)
        ;
    merge(stage, "q A M");
    assert_int_equal(stage->ledger.header->samples, 1);
    assert_int_equal(stage->ledger.header->dropped_samples, 1);
    assert_int_equal(thread_of(stage)->merged_samples, 1);
    check(stage, stage->a, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_above_the_current_one),
        cmocka_unit_test(a_sample_below_long_calls_is_coarse),
        cmocka_unit_test(the_current_one_on_top),
        cmocka_unit_test(recursion),
        cmocka_unit_test(walks_that_failed),
        cmocka_unit_test(a_virtual_thread_ends_where_it_was_entered),
        cmocka_unit_test(samples_of_nobody),
        cmocka_unit_test(the_kernels_side),
        cmocka_unit_test(inlined_frames_are_frames),
        cmocka_unit_test(code_that_is_gone_has_its_method),
        cmocka_unit_test(places_of_compiled_code),
        cmocka_unit_test(code_of_a_method_is_bounded),
        cmocka_unit_test(places_of_interpreted_methods),
        cmocka_unit_test(a_level_of_recursion_that_is_left),
        cmocka_unit_test(a_walk_that_passes_the_entry_by),
        cmocka_unit_test(a_frame_in_the_middle_that_is_left),
        cmocka_unit_test(a_part_may_end_anywhere),
        cmocka_unit_test(levels_of_a_part_of_the_stack),
        cmocka_unit_test(a_stack_of_another_time_tells_nothing),
        cmocka_unit_test(what_is_inlined_on_top_is_not_certain),
        cmocka_unit_test(a_frame_without_a_name_may_be_any),
        cmocka_unit_test(a_sample_of_a_folded_node_goes_where_that_went),
        cmocka_unit_test(a_full_ledger_drops_samples),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
