/* The packed format of an unwind table: shared by the code that makes tables and the code that
 * looks up in them. */
#ifndef TREADLE_UNWIND_TABLE_FORMAT_H
#define TREADLE_UNWIND_TABLE_FORMAT_H

#include "native/unwind/unwind_table.h"

/* Rows count from their function's start in 16 bits: longer functions are several stretches. */
#define STRETCH_BYTES UINT32_C(0x10000)

/* Code is cut into blocks, each with the number of the stretch that its first byte is in or comes
 * after, so that a search looks at a handful of stretches. */
#define BLOCK_SHIFT 10u

struct unwind_stretch {
    uint32_t start; /* from code_start */
    uint32_t size;
    uint32_t first_row : 31; /* the next stretch's first row ends its rows; it has at least one */
    uint32_t continues : 1;  /* the stretch before is of the same function and ends here */
};

struct unwind_row {
    uint16_t offset; /* from its stretch's start; a stretch's first is 0 */
    uint16_t rule;
};

struct unwind_table {
    uint32_t stretch_count;
    uint32_t row_count;
    uint32_t rule_count;
    uint32_t block_count;
    uint32_t functions;
    struct unwind_stretch *stretches; /* by start; one more at the end, of no size */
    struct unwind_row *rows;
    struct unwind_rule *rules;
    uint32_t *blocks;
};

#endif
