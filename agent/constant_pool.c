#include "agent/constant_pool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define INDEX_MAX 65534u /* the count, one more, is a u2 */

/* Bytes behind the tag, where they do not depend on the entry. */
static const uint8_t entry_bytes[] = {
    [CONSTANT_INTEGER] = 4,     [CONSTANT_FLOAT] = 4,
    [CONSTANT_LONG] = 8,        [CONSTANT_DOUBLE] = 8,
    [CONSTANT_CLASS] = 2,       [CONSTANT_STRING] = 2,
    [CONSTANT_FIELD] = 4,       [CONSTANT_METHOD] = 4,
    [CONSTANT_DYNAMIC] = 4,     [CONSTANT_INTERFACE_METHOD] = 4,
    [CONSTANT_MODULE] = 2,      [CONSTANT_NAME_AND_TYPE] = 4,
    [CONSTANT_PACKAGE] = 2,     [CONSTANT_METHOD_HANDLE] = 3,
    [CONSTANT_METHOD_TYPE] = 2, [CONSTANT_INVOKE_DYNAMIC] = 4,
};

bool class_text__is(struct class_text text, const char *word)
{
    return text.length == strlen(word) && memcmp(text.bytes, word, text.length) == 0;
}

static void skip_entry(struct class_reader *reader, uint8_t tag, size_t offset)
{
    if (tag == CONSTANT_UTF8)
        class_reader__skip(reader, class_reader__u2(reader));
    else if (tag < sizeof entry_bytes && entry_bytes[tag])
        class_reader__skip(reader, entry_bytes[tag]);
    else
        class_reader__fail(reader, offset, "a tag of the constant pool");
}

int constant_pool__read(struct constant_pool *pool, struct class_reader *reader)
{
    memset(pool, 0, sizeof *pool);
    pool->bytes = reader->bytes;
    pool->count = class_reader__u2(reader);
    if (pool->count == 0)
        class_reader__fail(reader, reader->at - 2, "a constant pool count of 1 or more");
    pool->next = pool->count;
    pool->offset = calloc(pool->count + 1u, sizeof *pool->offset);
    if (!pool->offset)
        return -ENOMEM;
    for (uint32_t index = 1; index < pool->count && class_reader__ok(reader); index++) {
        size_t offset = reader->at;
        uint8_t tag = class_reader__u1(reader);

        pool->offset[index] = (uint32_t)offset;
        skip_entry(reader, tag, offset);
        if ((tag == CONSTANT_LONG || tag == CONSTANT_DOUBLE) && ++index == pool->count)
            class_reader__fail(reader, offset, "room for both indices of a constant");
    }
    return 0;
}

void constant_pool__close(struct constant_pool *pool)
{
    free(pool->offset);
    class_writer__close(&pool->added);
    memset(pool, 0, sizeof *pool);
}

/* What stands behind the tag of an entry, or NULL if it is not of that kind. */
static const uint8_t *entry(const struct constant_pool *pool, uint32_t index, uint8_t tag)
{
    if (index >= pool->count || !pool->offset[index] || pool->bytes[pool->offset[index]] != tag)
        return NULL;
    return pool->bytes + pool->offset[index] + 1;
}

bool constant_pool__text(const struct constant_pool *pool, uint32_t index, struct class_text *text)
{
    const uint8_t *here = entry(pool, index, CONSTANT_UTF8);

    if (!here)
        return false;
    text->length = big_endian_u2(here);
    text->bytes = here + 2;
    return true;
}

bool constant_pool__class_name(const struct constant_pool *pool, uint32_t index,
                               struct class_text *name)
{
    const uint8_t *here = entry(pool, index, CONSTANT_CLASS);

    return here && constant_pool__text(pool, big_endian_u2(here), name);
}

bool constant_pool__member(const struct constant_pool *pool, uint32_t index,
                           struct class_text *name, struct class_text *descriptor)
{
    static const uint8_t tags[] = {CONSTANT_FIELD, CONSTANT_METHOD, CONSTANT_INTERFACE_METHOD,
                                   CONSTANT_INVOKE_DYNAMIC};
    const uint8_t *here = NULL;

    for (size_t i = 0; i < sizeof tags && !here; i++)
        here = entry(pool, index, tags[i]);
    here = here ? entry(pool, big_endian_u2(here + 2), CONSTANT_NAME_AND_TYPE) : NULL;
    return here && constant_pool__text(pool, big_endian_u2(here), name) &&
           constant_pool__text(pool, big_endian_u2(here + 2), descriptor);
}

/* Room for one more: its index with the tag written, or 0. */
static uint32_t begin_entry(struct constant_pool *pool, uint8_t tag)
{
    if (pool->next > INDEX_MAX)
        return 0;
    class_writer__u1(&pool->added, tag);
    return pool->next++;
}

static uint32_t find_text(const struct constant_pool *pool, struct class_text wanted)
{
    for (uint32_t index = 1; index < pool->count; index++) {
        struct class_text text;

        if (constant_pool__text(pool, index, &text) && text.length == wanted.length &&
            memcmp(text.bytes, wanted.bytes, wanted.length) == 0)
            return index;
    }
    return 0;
}

uint32_t constant_pool__add_text(struct constant_pool *pool, struct class_text text)
{
    uint32_t index = find_text(pool, text);

    if (index)
        return index;
    index = begin_entry(pool, CONSTANT_UTF8);
    if (index) {
        class_writer__u2(&pool->added, text.length);
        class_writer__copy(&pool->added, text.bytes, text.length);
    }
    return index;
}

static uint32_t find_class(const struct constant_pool *pool, uint32_t name)
{
    for (uint32_t index = 1; index < pool->count; index++) {
        const uint8_t *here = entry(pool, index, CONSTANT_CLASS);

        if (here && big_endian_u2(here) == name)
            return index;
    }
    return 0;
}

uint32_t constant_pool__add_class(struct constant_pool *pool, struct class_text name)
{
    uint32_t text = constant_pool__add_text(pool, name);
    uint32_t index = text ? find_class(pool, text) : 0;

    if (index || !text)
        return index;
    index = begin_entry(pool, CONSTANT_CLASS);
    if (index)
        class_writer__u2(&pool->added, text);
    return index;
}

uint32_t constant_pool__add_integer(struct constant_pool *pool, uint32_t value)
{
    uint32_t index = begin_entry(pool, CONSTANT_INTEGER);

    if (index)
        class_writer__u4(&pool->added, value);
    return index;
}

static uint32_t add_pair(struct constant_pool *pool, uint8_t tag, uint32_t first, uint32_t second)
{
    uint32_t index = first && second ? begin_entry(pool, tag) : 0;

    if (index) {
        class_writer__u2(&pool->added, first);
        class_writer__u2(&pool->added, second);
    }
    return index;
}

uint32_t constant_pool__add_name_and_type(struct constant_pool *pool, uint32_t name, uint32_t type)
{
    return add_pair(pool, CONSTANT_NAME_AND_TYPE, name, type);
}

uint32_t constant_pool__add_method(struct constant_pool *pool, uint32_t owner, uint32_t member)
{
    return add_pair(pool, CONSTANT_METHOD, owner, member);
}

struct constant_pool_mark constant_pool__mark(const struct constant_pool *pool)
{
    return (struct constant_pool_mark){pool->next, pool->added.length};
}

void constant_pool__go_back(struct constant_pool *pool, struct constant_pool_mark mark)
{
    pool->next = mark.next;
    pool->added.length = mark.bytes;
}
