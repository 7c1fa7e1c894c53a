#include "agent/classfile/annotations.h"

#define VALUE_DEPTH_MAX 64u /* annotations in annotations */

static void skip_annotation(struct class_reader *reader, uint32_t depth);

static void skip_value(struct class_reader *reader, uint32_t depth)
{
    size_t offset = reader->at;
    uint32_t count;

    switch (class_reader__u1(reader)) {
    case 'e':
        class_reader__skip(reader, 4);
        break;
    case '@':
        skip_annotation(reader, depth + 1);
        break;
    case '[':
        if (depth >= VALUE_DEPTH_MAX)
            class_reader__fail(reader, offset, "annotations less deep in each other");
        count = class_reader__u2(reader);
        while (count-- > 0 && class_reader__ok(reader))
            skip_value(reader, depth + 1);
        break;
    default:
        class_reader__skip(reader, 2);
    }
}

static void skip_annotation(struct class_reader *reader, uint32_t depth)
{
    uint32_t count;

    if (depth >= VALUE_DEPTH_MAX)
        class_reader__fail(reader, reader->at, "annotations less deep in each other");
    class_reader__skip(reader, 2);
    count = class_reader__u2(reader);
    while (count-- > 0 && class_reader__ok(reader)) {
        class_reader__skip(reader, 2);
        skip_value(reader, depth);
    }
}

void annotation__skip(struct class_reader *reader)
{
    skip_annotation(reader, 0);
}

bool annotations__have(struct class_reader content, const struct constant_pool *pool,
                       const char *const *types)
{
    struct class_error ignored = {0};
    uint32_t count;

    content.error = &ignored;
    count = class_reader__u2(&content);
    while (count-- > 0 && class_reader__ok(&content)) {
        struct class_reader type = content;
        struct class_text text;

        if (constant_pool__text(pool, class_reader__u2(&type), &text))
            for (size_t i = 0; types[i]; i++)
                if (class_text__is(text, types[i]))
                    return true;
        annotation__skip(&content);
    }
    return false;
}
