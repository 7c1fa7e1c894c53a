#include "agent/classfile/constant_pool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define INDEX_MAX      65534u /* the count, one more, is a u2 */
#define KEY_HEAD_BYTES 3u
#define SLOTS_LEAST    256u

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
    return text.length == strlen(word) &&
           (text.length == 0 || memcmp(text.bytes, word, text.length) == 0);
}

static void skip_entry(struct class_reader *reader, uint8_t tag, size_t offset)
{
    if (tag == CONSTANT_UTF8)
        class_reader__skip(reader, class_reader__u2(reader));
    else if (tag < sizeof(entry_bytes) && entry_bytes[tag])
        class_reader__skip(reader, entry_bytes[tag]);
    else
        class_reader__fail(reader, offset, "a tag of the constant pool");
}

int constant_pool__read(struct constant_pool *pool, struct class_reader *reader)
{
    memset(pool, 0, sizeof(*pool));
    pool->bytes = reader->bytes;
    pool->count = class_reader__u2(reader);
    if (pool->count == 0)
        class_reader__fail(reader, reader->at - 2, "a constant pool count of 1 or more");
    pool->next = pool->count;
    pool->offset = calloc(pool->count + 1u, sizeof(*pool->offset));
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
    free(pool->slots);
    free(pool->filled);
    class_writer__close(&pool->added);
    memset(pool, 0, sizeof(*pool));
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

    for (size_t i = 0; i < sizeof(tags) && !here; i++)
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

/* What a text or a class says: its tag, its length or its name's index, and the text. */
struct entry_key {
    uint8_t head[KEY_HEAD_BYTES];
    struct class_text text;
};

static struct entry_key key_of(uint8_t tag, uint32_t number, struct class_text text)
{
    return (struct entry_key){{tag, (uint8_t)(number >> 8), (uint8_t)number}, text};
}

static struct entry_key key_at(const uint8_t *entry)
{
    uint32_t number = big_endian_u2(entry + 1);
    struct class_text text = {entry + KEY_HEAD_BYTES, *entry == CONSTANT_UTF8 ? number : 0};

    return key_of(*entry, number, text);
}

static bool has_key(const struct constant_pool *pool, const struct constant_pool_slot *slot,
                    const struct entry_key *key)
{
    const uint8_t *bytes = slot->index < pool->count ? pool->bytes : pool->added.bytes;

    bytes += slot->at;
    return memcmp(bytes, key->head, sizeof(key->head)) == 0 &&
           (key->text.length == 0 ||
            memcmp(bytes + sizeof(key->head), key->text.bytes, key->text.length) == 0);
}

/* The slot of the entry, or the empty one that it may have (FNV-1a, linear probing). */
static struct constant_pool_slot *find_slot(const struct constant_pool *pool,
                                            const struct entry_key *key)
{
    uint32_t hash = 2166136261u;

    for (size_t i = 0; i < sizeof(key->head); i++)
        hash = (hash ^ key->head[i]) * 16777619u;
    for (uint32_t i = 0; i < key->text.length; i++)
        hash = (hash ^ key->text.bytes[i]) * 16777619u;
    hash ^= hash >> 15;
    while (pool->slots[hash % pool->slot_count].index &&
           !has_key(pool, &pool->slots[hash % pool->slot_count], key))
        hash++;
    return &pool->slots[hash % pool->slot_count];
}

/* Once the table is half full, what is added is no longer found, but still added. */
static void fill_slot(struct constant_pool *pool, struct constant_pool_slot *slot, uint32_t index,
                      size_t at)
{
    if (slot->index || pool->filled_count == pool->slot_count / 2)
        return;
    *slot = (struct constant_pool_slot){index, (uint32_t)at};
    pool->filled[pool->filled_count++] = (uint32_t)(slot - pool->slots);
}

static bool make_table(struct constant_pool *pool)
{
    if (pool->slots)
        return true;
    for (pool->slot_count = SLOTS_LEAST; pool->slot_count < 2 * pool->count;)
        pool->slot_count *= 2;
    pool->slots = calloc(pool->slot_count, sizeof(*pool->slots));
    pool->filled = calloc(pool->slot_count / 2, sizeof(*pool->filled));
    if (!pool->slots || !pool->filled) {
        pool->added.failed = true;
        return false;
    }
    for (uint32_t index = 1; index < pool->count; index++) {
        const uint8_t *here = pool->bytes + pool->offset[index];

        if (pool->offset[index] && (*here == CONSTANT_UTF8 || *here == CONSTANT_CLASS)) {
            struct entry_key key = key_at(here);

            fill_slot(pool, find_slot(pool, &key), index, pool->offset[index]);
        }
    }
    return true;
}

/* The index of the entry, which is added if need be. */
static uint32_t add_key(struct constant_pool *pool, const struct entry_key *key)
{
    struct constant_pool_slot *slot;
    size_t at = pool->added.length;
    uint32_t index;

    if (pool->added.failed || !make_table(pool))
        return 0;
    slot = find_slot(pool, key);
    if (slot->index)
        return slot->index;
    index = begin_entry(pool, key->head[0]);
    if (index == 0)
        return 0;
    class_writer__copy(&pool->added, key->head + 1, sizeof(key->head) - 1);
    class_writer__copy(&pool->added, key->text.bytes, key->text.length);
    if (pool->added.failed)
        return 0;
    fill_slot(pool, slot, index, at);
    return index;
}

uint32_t constant_pool__add_text(struct constant_pool *pool, struct class_text text)
{
    struct entry_key key = key_of(CONSTANT_UTF8, text.length, text);

    return add_key(pool, &key);
}

uint32_t constant_pool__add_class(struct constant_pool *pool, struct class_text name)
{
    uint32_t text = constant_pool__add_text(pool, name);
    struct entry_key key = key_of(CONSTANT_CLASS, text, (struct class_text){0});

    return text ? add_key(pool, &key) : 0;
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
    while (pool->filled_count > 0) {
        struct constant_pool_slot *last = &pool->slots[pool->filled[pool->filled_count - 1]];

        if (last->index < mark.next)
            break;
        last->index = 0; /* the last that was filled: no other was put behind it */
        pool->filled_count--;
    }
    pool->next = mark.next;
    pool->added.length = mark.bytes;
}
