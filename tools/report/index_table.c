#include "tools/report/index_table.h"

#include "tools/report/memory.h"

#include <stdlib.h>

#define ROOM_MIN 64u

struct index_slot {
    uint64_t hash;
    uint32_t taken; /* 1 + index; 0: free */
};

void index_table__release(struct index_table *table)
{
    free(table->slots);
    *table = (struct index_table){0};
}

uint32_t index_table__next(const struct index_table *table, uint64_t hash, size_t *probe)
{
    while (table->room) {
        const struct index_slot *slot = &table->slots[(hash + (*probe)++) & (table->room - 1)];

        if (!slot->taken)
            break;
        if (slot->hash == hash)
            return slot->taken - 1;
    }
    return INDEX_TABLE_NONE;
}

static void put(struct index_table *table, struct index_slot element)
{
    size_t at = element.hash & (table->room - 1);

    while (table->slots[at].taken)
        at = (at + 1) & (table->room - 1);
    table->slots[at] = element;
}

/* Half of the slots stay free, so every probe ends. */
static void grow(struct index_table *table)
{
    struct index_table larger = {.room = table->room ? 2 * table->room : ROOM_MIN,
                                 .count = table->count};

    larger.slots = memory__zeroed(larger.room, sizeof(*larger.slots));
    for (size_t i = 0; i < table->room; i++)
        if (table->slots[i].taken)
            put(&larger, table->slots[i]);
    free(table->slots);
    *table = larger;
}

void index_table__add(struct index_table *table, uint64_t hash, uint32_t index)
{
    if (2 * table->count >= table->room)
        grow(table);
    put(table, (struct index_slot){hash, index + 1});
    table->count++;
}

/* The last step of MurmurHash3 (Austin Appleby), so that low bits depend on all. */
static uint64_t mix(uint64_t hash)
{
    hash = (hash ^ hash >> 33) * 0xff51afd7ed558ccdu;
    hash = (hash ^ hash >> 33) * 0xc4ceb9fe1a85ec53u;
    return hash ^ hash >> 33;
}

/* FNV-1a (Fowler, Noll, Vo), and how long it was: "ab","c" is not "a","bc". */
uint64_t index_table__hash_bytes(uint64_t hash, const char *bytes, size_t length)
{
    hash ^= 14695981039346656037u;
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)bytes[i]) * 1099511628211u;
    return index_table__hash_number(hash, length);
}

uint64_t index_table__hash_number(uint64_t hash, uint64_t number)
{
    return mix(hash * 31 + number);
}
