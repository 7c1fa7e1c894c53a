/*
 * How to leave every frame of one image: the image's call frame information, executed once and
 * packed into four bytes a row, for lookups in a signal handler. A table never changes after it is
 * made.
 */
#ifndef TREADLE_UNWIND_TABLE_H
#define TREADLE_UNWIND_TABLE_H

#include "native/unwind/unwind_rule.h"

#include <stddef.h>

struct unwind_table;
struct frame_section;

/* The input of a table. Addresses are those of the image as it is mapped. */
struct unwind_source {
    const struct frame_section *header;   /* .eh_frame_hdr */
    const struct frame_section *eh_frame; /* may reach beyond its end */
    uint64_t code_start, code_end;        /* functions elsewhere are left out */
};

/* 0 or -ENOMEM, or -EINVAL if nothing can be read. Damaged entries are left out; rows that cannot
 * be interpreted are marked as such. Not in a signal handler. */
int unwind_table__new(struct unwind_table **table, const struct unwind_source *source);
void unwind_table__delete(struct unwind_table *table);

/* Returns the rule at an offset from code_start, and the function there; NULL: no known function.
 * Async-signal-safe. */
const struct unwind_rule *unwind_table__find(const struct unwind_table *table, uint64_t offset,
                                             uint32_t *start, uint32_t *size);

size_t unwind_table__bytes(const struct unwind_table *table);

/* For tests only. */
size_t unwind_table__functions(const struct unwind_table *table);
size_t unwind_table__rows(const struct unwind_table *table);

#endif
