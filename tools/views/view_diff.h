/*
 * What `treadle diff` shows of two ledgers, A and B.
 */
#ifndef TREADLE_VIEW_DIFF_H
#define TREADLE_VIEW_DIFF_H

#include "tools/output/text_table.h"
#include "tools/report/quantity.h"
#include "tools/report/report_diff.h"

#include <jansson.h>

struct diff_view {
    const struct report_diff *diff;
    const struct report_model *models[DIFF_SIDES];
    const char *paths[DIFF_SIDES];
    uint32_t top; /* 0: all */
    bool normalized;
    struct screen screen;
};

/* A form writes to view->screen.out. 0, or -errno if something other than writing failed. */
typedef int diff_form(const struct diff_view *view);

struct diff_view_kind {
    const char *name;
    bool of_threads; /* not of their trees */
    diff_form *text;
    diff_form *json;
    diff_form *csv;
};

extern const struct diff_view_kind diff_view_kinds[];
extern const size_t diff_view_kind_count;

diff_form view_diff_threads__text;
diff_form view_diff_threads__json;
diff_form view_diff_threads__csv;
diff_form view_diff_tree__text;
diff_form view_diff_tree__json;
diff_form view_diff_tree__csv;
diff_form view_diff_flat__text;
diff_form view_diff_flat__json;
diff_form view_diff_flat__csv;
diff_form view_diff_latency__text;
diff_form view_diff_latency__json;
diff_form view_diff_latency__csv;

/* "thread;frame;frame A B" a line, as difffolded.pl writes and flamegraph.pl reads it: base, whole
 * numbers in the metric's own unit. */
diff_form view_diff__collapsed;

/* Totals and balance of both sides. */
int view_diff_totals__text(const struct diff_view *view);
json_t *view_diff_totals__json(const struct diff_view *view);

/* How many of `count` rows --top shows. */
uint32_t view_diff__shown(const struct diff_view *view, uint32_t count);

/* Two numbers, and which of them are lower bounds: only numbers of calls are. */
struct diff_pair {
    const uint64_t *values; /* by side */
    const bool *at_least;   /* by side; NULL: neither */
};

/* Values of the chosen column; at_least counts if that is calls. */
struct diff_pair view_diff__pair(const struct diff_view *view, const uint64_t values[DIFF_SIDES],
                                 const bool at_least[DIFF_SIDES]);

/* "12.3 ms", "≥64" */
struct quantity view_diff__value(struct diff_pair pair, unsigned side, enum metric_unit unit);

/* "+12.3 ms", "-4", "0"; for lower bounds "≥+4" if only B is one, "≤+4" if only A is, "?+4" if
 * both are. */
struct quantity view_diff__change(struct diff_pair pair, enum metric_unit unit);

/* "+12.3 %", "-100 %", "x 250" for large changes; "" if A is 0. Marked like a change. */
struct quantity view_diff__percent(struct diff_pair pair);

/* B - A, cut to what 63 bits and a sign hold. */
int64_t view_diff__signed(const uint64_t values[DIFF_SIDES]);

/* "new", "gone", or "" for what both have. */
const char *view_diff__note(bool in_a, bool in_b);

/* Widths of the columns of flat and tree, the same in both. */
#define DIFF_CALLS_COLUMNS  10u
#define DIFF_VALUE_COLUMNS  11u
#define DIFF_NUMBER_COLUMNS (DIFF_CALLS_COLUMNS + 5 * DIFF_VALUE_COLUMNS + 2)

/* If a side is an interval and not a whole ledger: a line that names its two moments, with `before`
 * in front. */
void view_diff__interval(const struct diff_view *view, unsigned side, const char *before);

#endif
