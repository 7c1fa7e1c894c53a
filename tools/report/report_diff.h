/*
 * Two ledgers compared: their threads, their call trees, and what each side has in each of them.
 *
 * Threads are the same if their kinds are the same, and their names but for digits; all such
 * threads of a side are one row. Methods are the same by class, name and signature, nodes by the
 * methods from the root down to them. A side that lacks a thread or node has zeros there; `present`
 * tells that from a context that cost nothing.
 *
 * The models must outlive the diff, which uses their names.
 */
#ifndef TREADLE_REPORT_DIFF_H
#define TREADLE_REPORT_DIFF_H

#include "tools/report/report_model.h"

enum diff_side {
    DIFF_A,
    DIFF_B,
    DIFF_SIDES,
};

/* B - A. */
struct diff_change {
    uint64_t size;
    bool less; /* it is below zero */
};

struct diff_thread {
    struct text name; /* "main"; if the row's threads have several names: "worker-#" */
    enum ledger_thread_kind kind;
    uint32_t present[DIFF_SIDES]; /* how many threads */
    uint64_t value[DIFF_SIDES];   /* of the chosen column */
    uint64_t calls[DIFF_SIDES];
    bool at_least[DIFF_SIDES]; /* calls are so many at least */
    uint32_t first_node;       /* its tree: nodes first_node … end_node - 1 */
    uint32_t end_node;
};

struct diff_node {
    uint32_t parent; /* index, REPORT_NONE for roots */
    uint32_t end;    /* index behind the subtree's last node */
    uint32_t method; /* of the diff */
    uint32_t thread; /* of the diff */
    uint32_t depth;
    uint32_t level; /* how often the same method stands above it */
    enum ledger_node_kind kind;
    bool present[DIFF_SIDES];
    uint64_t base[DIFF_SIDES];
    uint64_t cum[DIFF_SIDES];
    uint64_t calls[DIFF_SIDES];
    bool at_least[DIFF_SIDES];       /* calls are so many at least */
    bool cum_at_least[DIFF_SIDES];   /* … or those of a node below */
    double base_squares[DIFF_SIDES]; /* of the errors of sampled times, summed */
    double cum_squares[DIFF_SIDES];
};

struct diff_flat_row {
    uint32_t method;
    bool present[DIFF_SIDES];
    uint64_t base[DIFF_SIDES];
    uint64_t cum[DIFF_SIDES]; /* of the outermost instances */
    uint64_t calls[DIFF_SIDES];
    bool at_least[DIFF_SIDES];     /* as of struct diff_node */
    bool cum_at_least[DIFF_SIDES]; /* ditto */
    double base_squares[DIFF_SIDES];
    double cum_squares[DIFF_SIDES];
};

struct report_diff {
    enum report_column column;
    struct report_method *methods; /* of both sides; the first are enum report_method_index */
    uint32_t method_count;
    struct diff_thread *threads; /* the largest change first */
    uint32_t thread_count;
    struct diff_node *nodes; /* in tree order, threads and siblings the largest change first */
    uint32_t node_count;
    uint64_t total[DIFF_SIDES]; /* of the chosen column, before it was scaled */
    uint64_t total_calls[DIFF_SIDES];
    bool total_at_least[DIFF_SIDES]; /* total_calls are so many at least */
    bool is_partial;                 /* at least one number of calls is a lower bound */
    bool has_errors;                 /* some of the values come from samples */
    struct text_store texts;
};

struct diff_request {
    enum report_column column;
    bool trees;     /* false: rows of threads only; then any column of threads is valid */
    bool normalize; /* scale A's values, and its calls, so that their totals are B's */
    bool steady;    /* threads and siblings in an order that is the same for every column */
};

/* `selected`: by side, then by thread. */
struct report_diff *report_diff__new(const struct report_model *const models[DIFF_SIDES],
                                     const bool *const selected[DIFF_SIDES],
                                     const struct diff_request *request);
void report_diff__free(struct report_diff *diff);

struct diff_change diff_change__of(const uint64_t values[DIFF_SIDES]);

/* How far a change may be off (95 %): the root of the sum of both sides' squares. */
uint64_t diff_change__error(const double squares[DIFF_SIDES]);

/* -1, 0, 1: the larger change first. */
int diff_change__compare(struct diff_change x, struct diff_change y);

/* The methods that have nodes, the largest change of base first. Release with free. */
struct diff_flat_row *report_diff__flat(const struct report_diff *diff, uint32_t *count);

/*
 * Which nodes to show, by index: nodes whose values differ, and all nodes above these. With `top`,
 * only that many of the nodes that differ, those whose cum changed most. Release with free.
 */
bool *report_diff__changed(const struct report_diff *diff, uint32_t top);

#endif
