#include "native/unwind/unwind_table_format.h"

#include <stdlib.h>

/* The last stretch that starts at or before the offset; stretch_count if none does. */
static uint32_t stretch_at(const struct unwind_table *table, uint32_t offset)
{
    uint32_t block = offset >> BLOCK_SHIFT;
    uint32_t low = table->blocks[block], high = table->blocks[block + 1] + 1;

    if (high > table->stretch_count)
        high = table->stretch_count;
    if (low >= high || table->stretches[low].start > offset)
        return table->stretch_count;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;

        if (table->stretches[middle].start <= offset)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static const struct unwind_row *row_at(const struct unwind_table *table, uint32_t stretch,
                                       uint32_t offset)
{
    uint32_t low = table->stretches[stretch].first_row;
    uint32_t high = table->stretches[stretch + 1].first_row;

    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;

        if (table->rows[middle].offset <= offset)
            low = middle;
        else
            high = middle;
    }
    return &table->rows[low];
}

static void tell_function(const struct unwind_table *table, uint32_t stretch, uint32_t *start,
                          uint32_t *size)
{
    uint32_t first = stretch, last = stretch;

    while (table->stretches[first].continues)
        first--;
    while (table->stretches[last + 1].continues)
        last++;
    *start = table->stretches[first].start;
    *size = table->stretches[last].start + table->stretches[last].size - *start;
}

const struct unwind_rule *unwind_table__find(const struct unwind_table *table, uint64_t offset,
                                             uint32_t *start, uint32_t *size)
{
    const struct unwind_stretch *found;
    uint32_t stretch, into;

    if (offset >> BLOCK_SHIFT >= table->block_count)
        return NULL;
    stretch = stretch_at(table, (uint32_t)offset);
    found = &table->stretches[stretch];
    into = (uint32_t)offset - found->start;
    if (stretch == table->stretch_count || into >= found->size)
        return NULL;
    tell_function(table, stretch, start, size);
    return &table->rules[row_at(table, stretch, into)->rule];
}

size_t unwind_table__bytes(const struct unwind_table *table)
{
    return sizeof(*table) + (table->stretch_count + 1) * sizeof(*table->stretches) +
           table->row_count * sizeof(*table->rows) + table->rule_count * sizeof(*table->rules) +
           (table->block_count + 1) * sizeof(*table->blocks);
}

size_t unwind_table__functions(const struct unwind_table *table)
{
    return table->functions;
}

size_t unwind_table__rows(const struct unwind_table *table)
{
    return table->row_count;
}

void unwind_table__delete(struct unwind_table *table)
{
    if (!table)
        return;
    free(table->stretches);
    free(table->rows);
    free(table->rules);
    free(table->blocks);
    free(table);
}
