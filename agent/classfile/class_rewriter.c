#include "agent/classfile/class_rewriter.h"

#include "agent/classfile/annotations.h"
#include "agent/classfile/constructor_flow.h"
#include "agent/classfile/stack_map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define CLASS_MAGIC     0xcafebabeu
#define CLASS_MAX       (64u << 20)
#define POOL_AT         8u
#define CODE_HEAD_BYTES 8u /* of a Code attribute's content, before the code */
#define ACC_STATIC      0x0008u
#define ACC_ABSTRACT    0x0400u
#define ACC_INTERFACE   0x0200u /* of a class */

struct rewriting {
    struct class_reader reader;
    struct constant_pool pool;
    struct code_rewriter code;
    struct class_writer body; /* what comes behind the constant pool */
    size_t pool_end;
    size_t copied; /* the class file's bytes up to here are in the body, or stand before it */
    struct class_text class_name;
    choose_method choose;
    tell_method tell; /* or NULL */
    void *context;
    struct class_rewrite *rewrite;
};

static struct class_text read_text(struct rewriting *rewriting, const char *expected)
{
    struct class_text text = {0};
    size_t offset = rewriting->reader.at;

    if (!constant_pool__text(&rewriting->pool, class_reader__u2(&rewriting->reader), &text))
        class_reader__fail(&rewriting->reader, offset, expected);
    return text;
}

static void skip_attributes(struct rewriting *rewriting)
{
    uint32_t count = class_reader__u2(&rewriting->reader);

    while (count-- > 0 && class_reader__ok(&rewriting->reader)) {
        read_text(rewriting, "an attribute's name");
        class_reader__skip(&rewriting->reader, class_reader__u4(&rewriting->reader));
    }
}

static void skip_fields(struct rewriting *rewriting)
{
    uint32_t count = class_reader__u2(&rewriting->reader);

    while (count-- > 0 && class_reader__ok(&rewriting->reader)) {
        class_reader__skip(&rewriting->reader, 6);
        skip_attributes(rewriting);
    }
}

static int write_hooked(struct rewriting *rewriting, const struct hooked_method *method,
                        struct class_reader *content, enum method_outcome *outcome)
{
    struct constant_pool_mark pool_mark;
    struct class_writer *body = &rewriting->body;
    size_t length = body->length;
    size_t start = method_code__offset(&method->code, 0) - CODE_HEAD_BYTES;
    size_t length_at;
    int error;

    code_rewriter__prepare(&rewriting->code, method->is_counted);
    pool_mark = constant_pool__mark(&rewriting->pool);
    class_writer__copy(body, content->bytes + rewriting->copied, start - rewriting->copied);
    length_at = body->length - 4; /* the attribute's name and length were copied */
    error = code_rewriter__rewrite(&rewriting->code, method, content, body, outcome);
    if (error || *outcome != METHOD_HOOKED) {
        body->length = length;
        constant_pool__go_back(&rewriting->pool, pool_mark);
        return error;
    }
    class_writer__set_u4(body, length_at, (uint32_t)(body->length - length_at - 4));
    rewriting->copied = content->end;
    return 0;
}

/* Room is made for so many at a time. */
static int note_hooked(struct class_rewrite *rewrite, uint32_t id)
{
    if (rewrite->hooked_count % 32 == 0) {
        uint32_t *more = realloc(rewrite->hooked, (rewrite->hooked_count + 32) * sizeof(*more));

        if (!more)
            return -ENOMEM;
        rewrite->hooked = more;
    }
    rewrite->hooked[rewrite->hooked_count++] = id;
    return 0;
}

static void note_outcome(struct rewriting *rewriting, const struct class_method *method,
                         uint32_t id, enum method_outcome outcome)
{
    rewriting->rewrite->methods[outcome]++;
    if (rewriting->tell)
        rewriting->tell(rewriting->context, method, id, outcome);
}

static int hook_code(struct rewriting *rewriting, struct class_method *method,
                     struct class_reader *content)
{
    struct hooked_method hooked = {
        .descriptor = method->descriptor,
        .is_static = (method->access_flags & ACC_STATIC) != 0,
    };
    enum method_outcome outcome = METHOD_NOT_CHOSEN;
    struct method_choice choice = {0};
    int error = 0;

    hooked.is_constructor = !hooked.is_static && class_text__is(method->name, "<init>");
    if (hooked.is_constructor && class_text__is(rewriting->class_name, "java/lang/Object")) {
        hooked.is_constructor = false;
        hooked.is_uncovered = true; /* HotSpot's C2 crashes on a handler in there (17 and 25 do) */
    }
    method_code__read(&hooked.code, content);
    if (!class_reader__ok(content))
        return -EBADMSG;
    method->code = hooked.code.bytes;
    method->code_length = hooked.code.length;
    method->max_locals = hooked.code.max_locals;
    if (rewriting->choose(rewriting->context, method, &choice)) {
        hooked.id = choice.slot ? choice.slot : choice.id;
        hooked.first = hooked.is_static || hooked.is_constructor ? NULL : choice.first;
        hooked.last = choice.last;
        if (!hooked.is_static && !hooked.is_constructor)
            hooked.sharing = choice.sharing;
        hooked.is_counted = choice.counted && !choice.first && !choice.last && !choice.monitors &&
                            !hooked.sharing.operation;
        hooked.has_monitors = choice.monitors;
        hooked.has_own_monitor = choice.monitors && (method->access_flags & ACC_SYNCHRONIZED);
        error = write_hooked(rewriting, &hooked, content, &outcome);
    }
    if (!error)
        note_outcome(rewriting, method, choice.id, outcome);
    if (!error && outcome == METHOD_HOOKED)
        error = note_hooked(rewriting->rewrite, choice.id);
    return error;
}

/* Looks ahead over the method's attributes; their errors are reported when the attributes are read
 * later. */
static bool is_intrinsic(const struct rewriting *rewriting)
{
    static const char *const types[] = {
        "Ljdk/internal/vm/annotation/IntrinsicCandidate;",
        "Ljdk/internal/HotSpotIntrinsicCandidate;",
        NULL,
    };
    struct class_error ignored = {0};
    struct class_reader reader = rewriting->reader;
    uint32_t count;

    reader.error = &ignored;
    count = class_reader__u2(&reader);
    while (count-- > 0 && class_reader__ok(&reader)) {
        struct class_text name = {0};
        bool has_name = constant_pool__text(&rewriting->pool, class_reader__u2(&reader), &name);
        struct class_reader content = class_reader__part(&reader, class_reader__u4(&reader));

        if (has_name && class_text__is(name, "RuntimeVisibleAnnotations") &&
            annotations__have(content, &rewriting->pool, types))
            return true;
    }
    return false;
}

static int hook_method(struct rewriting *rewriting)
{
    struct class_reader *reader = &rewriting->reader;
    struct class_method method = {.class_name = rewriting->class_name};
    bool has_code = false;
    uint32_t count;
    int error = 0;

    method.access_flags = class_reader__u2(reader);
    method.name = read_text(rewriting, "a method's name");
    method.descriptor = read_text(rewriting, "a method's descriptor");
    method.is_intrinsic = is_intrinsic(rewriting);
    count = class_reader__u2(reader);
    while (count-- > 0 && class_reader__ok(reader) && !error) {
        size_t offset = reader->at;
        struct class_text name = read_text(rewriting, "an attribute's name");
        struct class_reader content = class_reader__part(reader, class_reader__u4(reader));

        if (!class_reader__ok(reader) || !class_text__is(name, "Code"))
            continue;
        if (has_code || (method.access_flags & (ACC_NATIVE | ACC_ABSTRACT)))
            class_reader__fail(reader, offset, "one Code attribute, none if native or abstract");
        else
            error = hook_code(rewriting, &method, &content);
        has_code = true;
    }
    if (!has_code)
        note_outcome(rewriting, &method, 0, METHOD_WITHOUT_CODE);
    return error;
}

static int hook_methods(struct rewriting *rewriting)
{
    struct class_reader *reader = &rewriting->reader;
    uint32_t count = class_reader__u2(reader);
    int error = 0;

    while (count-- > 0 && class_reader__ok(reader) && !error)
        error = hook_method(rewriting);
    return error;
}

static int read_head(struct rewriting *rewriting)
{
    struct class_reader *reader = &rewriting->reader;
    uint32_t major;

    if (reader->end > CLASS_MAX)
        class_reader__fail(reader, 0, "a class file of at most 64 MiB");
    if (class_reader__u4(reader) != CLASS_MAGIC)
        class_reader__fail(reader, 0, "the number 0xcafebabe");
    class_reader__skip(reader, 2);
    major = class_reader__u2(reader);
    if (!class_reader__ok(reader))
        return -EBADMSG;
    if (major < CLASS_VERSION_LEAST || major > CLASS_VERSION_MOST) {
        class_reader__fail(reader, 6, "a class file version from 45 to 69");
        return -ENOTSUP;
    }
    rewriting->code.major_version = (uint16_t)major;
    return constant_pool__read(&rewriting->pool, reader);
}

static void read_names(struct rewriting *rewriting)
{
    struct class_reader *reader = &rewriting->reader;
    size_t offset = reader->at + 2;

    rewriting->pool_end = rewriting->copied = reader->at;
    rewriting->rewrite->is_interface = class_reader__u2(reader) & ACC_INTERFACE;
    rewriting->code.this_class = class_reader__u2(reader);
    if (!constant_pool__class_name(&rewriting->pool, rewriting->code.this_class,
                                   &rewriting->class_name))
        class_reader__fail(reader, offset, "this class's name");
    class_reader__skip(reader, 2);
    class_reader__skip(reader, 2u * class_reader__u2(reader));
}

static void read_class_attributes(struct rewriting *rewriting)
{
    struct class_reader *reader = &rewriting->reader;
    uint32_t count = class_reader__u2(reader);

    while (count-- > 0 && class_reader__ok(reader)) {
        struct class_text name = read_text(rewriting, "an attribute's name");
        struct class_reader content = class_reader__part(reader, class_reader__u4(reader));

        if (class_reader__ok(reader) && class_text__is(name, "SourceFile") &&
            content.end - content.at == 2)
            constant_pool__text(&rewriting->pool, class_reader__u2(&content),
                                &rewriting->rewrite->source_file);
    }
}

static int finish(struct rewriting *rewriting)
{
    const uint8_t *bytes = rewriting->reader.bytes;
    struct class_writer *added = &rewriting->pool.added;
    struct class_writer *body = &rewriting->body;
    struct class_writer out = {0};

    class_writer__copy(body, bytes + rewriting->copied, rewriting->reader.end - rewriting->copied);
    class_writer__copy(&out, bytes, rewriting->pool_end);
    class_writer__copy(&out, added->bytes, added->length);
    class_writer__copy(&out, body->bytes, body->length);
    class_writer__set_u2(&out, POOL_AT, rewriting->pool.next);
    if (added->failed || body->failed || out.failed) {
        class_writer__close(&out);
        return -ENOMEM;
    }
    rewriting->rewrite->bytes = out.bytes;
    rewriting->rewrite->length = out.length;
    return 0;
}

static int rewrite_class(struct rewriting *rewriting)
{
    struct class_reader *reader = &rewriting->reader;
    int error = read_head(rewriting);

    if (error)
        return error;
    if (!class_reader__ok(reader))
        return -EBADMSG;
    read_names(rewriting);
    skip_fields(rewriting);
    error = hook_methods(rewriting);
    if (error)
        return error;
    read_class_attributes(rewriting);
    if (reader->at != reader->end)
        class_reader__fail(reader, reader->at, "the end of the class file");
    if (!class_reader__ok(reader))
        return -EBADMSG;
    if (rewriting->pool.added.failed)
        return -ENOMEM;
    return rewriting->rewrite->methods[METHOD_HOOKED] ? finish(rewriting) : 0;
}

int class_rewriter__rewrite(const uint8_t *bytes, size_t length, const char *hook_class,
                            choose_method choose, void *context, struct class_rewrite *rewrite)
{
    return class_rewriter__rewrite_and_tell(bytes, length, hook_class, choose, NULL, context,
                                            rewrite);
}

int class_rewriter__rewrite_and_tell(const uint8_t *bytes, size_t length, const char *hook_class,
                                     choose_method choose, tell_method tell, void *context,
                                     struct class_rewrite *rewrite)
{
    struct rewriting rewriting = {
        .reader = {.bytes = bytes, .end = length, .error = &rewrite->error},
        .code = {.pool = &rewriting.pool,
                 .hook_class = hook_class,
                 .flow_steps_left = CONSTRUCTOR_FLOW_STEPS,
                 .frame_bytes_left = STACK_MAP_BYTES},
        .choose = choose,
        .tell = tell,
        .context = context,
        .rewrite = rewrite,
    };
    int error;

    memset(rewrite, 0, sizeof(*rewrite));
    error = rewrite_class(&rewriting);
    if (error)
        memset(rewrite->methods, 0, sizeof(rewrite->methods));
    constant_pool__close(&rewriting.pool);
    class_writer__close(&rewriting.body);
    return error;
}
