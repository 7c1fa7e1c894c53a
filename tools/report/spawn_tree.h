/*
 * The tree of threads: each thread below the thread that started it. A row is one thread or,
 * folded, all threads below the same row that have the same kind and whose names differ in digits
 * only.
 */
#ifndef TREADLE_SPAWN_TREE_H
#define TREADLE_SPAWN_TREE_H

#include "tools/report/report_model.h"

struct spawn_row {
    struct text name; /* "worker-7"; of several: "worker-#" */
    uint32_t parent;  /* row, or REPORT_NONE; always before this one */
    uint32_t depth;   /* 0: no known thread started it */
    uint32_t first;   /* index of the (first) thread */
    uint32_t own;     /* number of threads in this row */
    uint32_t count;   /* own, and those in all rows below */
    uint32_t first_child;
    uint32_t child_count; /* children are rows first_child … first_child + child_count - 1 */
    bool is_partial;      /* calls is a lower bound */
    uint64_t base;        /* of the chosen column, these threads' own */
    uint64_t cum;         /* and with all rows below */
    uint64_t cpu_ns;
    uint64_t cum_cpu_ns;
    uint64_t wall_ns;
    uint64_t calls;
};

struct spawn_tree {
    struct spawn_row *rows;
    uint32_t row_count;
    uint32_t root_count; /* the first root_count rows are roots */
    uint32_t thread_count;
    struct text_store texts;
};

/* The selected threads and all that they started, directly or not. */
struct spawn_tree *spawn_tree__new(const struct report_model *model, const bool *selected,
                                   enum report_column column, bool fold);
void spawn_tree__free(struct spawn_tree *tree);

enum spawn_sort {
    SPAWN_BY_CUM,
    SPAWN_BY_BASE,
    SPAWN_BY_CALLS,
    SPAWN_BY_NAME,
};

/* The rows to show, each followed by those below it, siblings by the key (largest first, names
 * alphabetically); only the `top` rows with the largest cum, which hang together (0: all). *count
 * is how many. Release with free. */
uint32_t *spawn_tree__order(const struct spawn_tree *tree, enum spawn_sort sort, uint32_t top,
                            uint32_t *count);

#endif
