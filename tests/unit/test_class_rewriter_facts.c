/* What else the rewriter says of a class and its methods: the source file, who claims to be
 * intrinsic, why a method was left alone. */
#include "tests/unit/drawn_class.h"

#include <errno.h>

#define INTRINSIC     "Ljdk/internal/vm/annotation/IntrinsicCandidate;"
#define OLD_INTRINSIC "Ljdk/internal/HotSpotIntrinsicCandidate;"

/* Behind the drawn pool's entries, when a class has them. */
enum {
    POOL_ANNOTATIONS = POOL_COUNT, /* "RuntimeVisibleAnnotations" */
    POOL_OTHER,                    /* "LOther;" */
    POOL_INTRINSIC,
    POOL_SOURCE_FILE, /* "SourceFile" */
    POOL_SOURCE,      /* "Drawn.java" */
    POOL_FACTS,
};

struct facts {
    const char *intrinsic;   /* the type's descriptor */
    const char *annotations; /* content of the method's attribute; NULL: none */
    bool annotations_first;  /* before its Code */
    const char *source_file; /* content of the class's attribute; NULL: none */
};

static void facts_attribute(struct class_writer *out, uint32_t name, const char *content)
{
    struct class_writer bytes = {0};

    drawn_hex(&bytes, content);
    class_writer__u2(out, name);
    class_writer__u4(out, (uint32_t)bytes.length);
    class_writer__copy(out, bytes.bytes, bytes.length);
    class_writer__close(&bytes);
}

static struct class_writer facts_class(const struct facts *facts)
{
    const struct drawn_method method = {.code = "b1"};
    struct class_writer out = {0}, pool = {0}, code = {0};

    class_writer__u4(&out, 0xcafebabe);
    class_writer__u4(&out, 52);
    drawn_pool(&pool, &method);
    class_writer__set_u2(&pool, 0, POOL_FACTS);
    class_writer__copy(&out, pool.bytes, pool.length);
    drawn_text(&out, "RuntimeVisibleAnnotations");
    drawn_text(&out, "LOther;");
    drawn_text(&out, facts->intrinsic ? facts->intrinsic : INTRINSIC);
    drawn_text(&out, "SourceFile");
    drawn_text(&out, "Drawn.java");
    class_writer__u2(&out, 0x21);
    class_writer__u2(&out, POOL_THIS);
    class_writer__u2(&out, POOL_SUPER);
    class_writer__u4(&out, 0); /* interfaces, fields */
    class_writer__u2(&out, 1);
    class_writer__u2(&out, 0x9);
    class_writer__u2(&out, POOL_NAME);
    class_writer__u2(&out, POOL_TYPE);
    class_writer__u2(&out, facts->annotations ? 2 : 1);
    if (facts->annotations && facts->annotations_first)
        facts_attribute(&out, POOL_ANNOTATIONS, facts->annotations);
    drawn_code(&code, &method);
    class_writer__u2(&out, POOL_CODE);
    class_writer__u4(&out, (uint32_t)code.length);
    class_writer__copy(&out, code.bytes, code.length);
    if (facts->annotations && !facts->annotations_first)
        facts_attribute(&out, POOL_ANNOTATIONS, facts->annotations);
    class_writer__u2(&out, facts->source_file ? 1 : 0);
    if (facts->source_file)
        facts_attribute(&out, POOL_SOURCE_FILE, facts->source_file);
    class_writer__close(&pool);
    class_writer__close(&code);
    assert_false(out.failed);
    return out;
}

struct heard {
    bool is_intrinsic;
    bool chooses;
};

static bool listen(void *context, const struct class_method *method, struct method_choice *choice)
{
    struct heard *heard = context;

    heard->is_intrinsic = method->is_intrinsic;
    choice->id = DRAWN_ID;
    return heard->chooses;
}

static bool is_intrinsic(const struct facts *facts)
{
    struct class_writer class = facts_class(facts);
    struct heard heard = {.chooses = true};
    struct class_rewrite rewrite;

    assert_int_equal(
        class_rewriter__rewrite(class.bytes, class.length, DRAWN_HOOKS, listen, &heard, &rewrite),
        0);
    assert_int_equal(rewrite.methods[METHOD_HOOKED], 1);
    free(rewrite.bytes);
    free(rewrite.hooked);
    class_writer__close(&class);
    return heard.is_intrinsic;
}

/* 1b is POOL_OTHER, 1c POOL_INTRINSIC. The other annotation has an element: two arrays in an
 * array, one empty, one of an annotation without elements. */
#define OTHER "001b 0001 0005 5b 0002 5b 0000 5b 0001 40 001b 0000"

static void intrinsics_are_known_by_their_annotation(void **state)
{
    static const struct {
        struct facts facts;
        bool expected;
    } rows[] = {
        {{.annotations = NULL}, false},
        {{.annotations = "0000"}, false},
        {{.annotations = "0001 001c 0000"}, true},
        {{.annotations = "0001 001c 0000", .annotations_first = true}, true},
        {{.annotations = "0001 001c 0000", .intrinsic = OLD_INTRINSIC}, true},
        {{.annotations = "0001 001c 0000", .intrinsic = "LIntrinsicCandidate;"}, false},
        {{.annotations = "0001 " OTHER}, false},
        {{.annotations = "0002 " OTHER " 001c 0000"}, true},
        {{.annotations = "0001 " OTHER " 001c 0000"}, false}, /* behind the last */
        {{.annotations = "0002 001b 0001 0005 3f"}, false},   /* cut off */
        {{.annotations = "00"}, false},
    };

    (void)state;
    assert_int_equal(POOL_OTHER, 0x1b);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (is_intrinsic(&rows[i].facts) != rows[i].expected)
            fail_msg("row %zu: %s", i, rows[i].facts.annotations);
}

/* 1d is POOL_SOURCE_FILE, 1e POOL_SOURCE. */
static void the_source_file_is_known(void **state)
{
    static const struct {
        const char *content;
        const char *expected;
    } rows[] = {
        {NULL, ""}, {"001e", "Drawn.java"}, {"0002", ""}, {"0000", ""}, {"00", ""}, {"001e 00", ""},
    };

    (void)state;
    assert_int_equal(POOL_SOURCE, 0x1e);
    for (size_t i = 0; i < 2 * sizeof rows / sizeof *rows; i++) {
        struct facts facts = {.source_file = rows[i / 2].content};
        struct class_writer class = facts_class(&facts);
        struct heard heard = {.chooses = i % 2 == 0};
        struct class_rewrite rewrite;

        assert_int_equal(class_rewriter__rewrite(class.bytes, class.length, DRAWN_HOOKS, listen,
                                                 &heard, &rewrite),
                         0);
        assert_int_equal(rewrite.bytes != NULL, heard.chooses);
        assert_true(class_text__is(rewrite.source_file, rows[i / 2].expected));
        free(rewrite.bytes);
        free(rewrite.hooked);
        if (rewrite.source_file.length) /* it is in the file that was given, not in a copy */
            assert_true(rewrite.source_file.bytes > class.bytes &&
                        rewrite.source_file.bytes < class.bytes + class.length);
        class_writer__close(&class);
    }
}

struct told {
    struct heard heard; /* as listen wants it */
    unsigned count;
    uint32_t id;
    enum method_outcome outcome;
};

static void note_told(void *context, const struct class_method *method, uint32_t id,
                      enum method_outcome outcome)
{
    struct told *told = context;

    assert_int_not_equal(method->name.length, 0);
    told->count++;
    told->id = id;
    told->outcome = outcome;
}

static void what_became_of_a_method_is_told(void **state)
{
    const struct facts facts = {.annotations = NULL};
    struct class_writer class = facts_class(&facts);

    (void)state;
    for (unsigned chosen = 0; chosen < 2; chosen++) {
        struct told told = {.heard.chooses = chosen};
        struct class_rewrite rewrite;

        assert_int_equal(class_rewriter__rewrite_and_tell(class.bytes, class.length, DRAWN_HOOKS,
                                                          listen, note_told, &told, &rewrite),
                         0);
        assert_int_equal(told.count, 1);
        assert_int_equal(told.outcome, chosen ? METHOD_HOOKED : METHOD_NOT_CHOSEN);
        assert_int_equal(told.id, DRAWN_ID);
        free(rewrite.bytes);
        free(rewrite.hooked);
    }
    class_writer__close(&class);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_became_of_a_method_is_told),
        cmocka_unit_test(intrinsics_are_known_by_their_annotation),
        cmocka_unit_test(the_source_file_is_known),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
