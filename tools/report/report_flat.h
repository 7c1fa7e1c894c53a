/*
 * The flat view: the cost of each method over all its callers.
 */
#ifndef TREADLE_REPORT_FLAT_H
#define TREADLE_REPORT_FLAT_H

#include "tools/report/report_model.h"

struct flat_row {
    uint32_t method;
    uint64_t base[COLUMN_COUNT];
    uint64_t cum[COLUMN_COUNT]; /* of the outermost instances: a recursive method counts once */
    uint32_t nodes;
    uint32_t deepest;     /* the largest number of its nodes above one of its nodes */
    uint32_t kinds;       /* bit n: it has nodes of enum ledger_node_kind n */
    uint64_t met;         /* samples through sampled frames of it */
    uint64_t interpreted; /* of these found it interpreted */
    uint64_t counted;     /* of its calls: counted, not recorded, and in no tree */
    bool knows_calls;     /* all of them, though not all are in the trees */
};

struct report_flat {
    struct flat_row *rows; /* in the model's order of methods, those with nodes or calls only */
    uint32_t row_count;
};

/* Over the threads that are selected. */
struct report_flat *report_flat__new(const struct report_model *model, const bool *selected);

/* The same, with calls that were counted and not recorded, if all threads that did something are
 * selected. A method may have such calls alone. */
struct report_flat *report_flat__with_counted(const struct report_model *model,
                                              const bool *selected);

void report_flat__free(struct report_flat *flat);

/* True if the count of its calls is a lower bound. */
bool flat_row__is_partial(const struct report_model *model, const struct flat_row *row);

/* As report_node__mark, over all nodes: "J" if any of them is exact. */
const char *flat_row__mark(const struct flat_row *row);

#endif
