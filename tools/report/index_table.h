/*
 * A hash table of indices into an array of the caller. The caller also decides which elements are
 * equal. Open addressing, linear probing; elements are never removed.
 */
#ifndef TREADLE_REPORT_INDEX_TABLE_H
#define TREADLE_REPORT_INDEX_TABLE_H

#include <stddef.h>
#include <stdint.h>

#define INDEX_TABLE_NONE UINT32_MAX

/* Zero it to begin. */
struct index_table {
    struct index_slot *slots;
    size_t room; /* a power of two, or 0 */
    size_t count;
};

void index_table__release(struct index_table *table);

/* Returns the candidates for an element with that hash, one a call; *probe is 0 before the first
 * call. INDEX_TABLE_NONE after the last. */
uint32_t index_table__next(const struct index_table *table, uint64_t hash, size_t *probe);

void index_table__add(struct index_table *table, uint64_t hash, uint32_t index);

/* Hash functions: `hash` is any value at first, then the result of the call before. */
uint64_t index_table__hash_bytes(uint64_t hash, const char *bytes, size_t length);
uint64_t index_table__hash_number(uint64_t hash, uint64_t number);

#endif
