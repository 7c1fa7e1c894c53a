/*
 * What the views of methods (tree, flat, callers) have in common: how a method and its values look.
 */
#ifndef TREADLE_VIEW_ROWS_H
#define TREADLE_VIEW_ROWS_H

#include "tools/output/csv.h"
#include "tools/report/quantity.h"
#include "tools/report/report_errors.h"
#include "tools/views/view.h"

#include <jansson.h>

#define CALLS_COLUMNS 9u
#define VALUE_COLUMNS 11u
#define MARK_COLUMNS  3u
#define SHARE_COLUMNS 9u
#define ERROR_COLUMNS 11u

/* The line above a view: what it shows, what its values ("Base and Cum") are in, and how many
 * threads are in it. */
void view_row__title(const struct view *view, const char *what, const char *values);

/* An empty line, and one on a thread or, if the view is folded, a pool. */
void view_row__thread(const struct view *view, const struct report_thread *thread);

enum share_of { SHARE_OF_BASE, SHARE_OF_CUM };

struct row_numbers {
    uint64_t calls;
    bool at_least; /* … so many, since not all were heard */
    uint64_t base;
    uint64_t cum;
    uint64_t base_error; /* how far these may be off */
    uint64_t cum_error;
    uint64_t samples;
    const char *mark; /* as report_node__mark has it */
};

/* Calls, Base, Cum and the Share of one of the two in fixed columns; the two's ±, Samples and the
 * mark too, if the ledger has samples. Where the screen is narrow Samples goes first, then Calls,
 * then the ± of what Share is not of. How many columns of it that takes. */
void view_row__numbers(const struct view *view, enum share_of share_of,
                       const struct row_numbers *numbers);
void view_row__number_heads(const struct view *view, enum share_of share_of);
size_t view_row__number_columns(const struct view *view);

/* "±", or what stands for it; and "±43.7 ms", of the metric shown, "" of 0. */
const char *view_row__plus_minus(void);
struct quantity view_row__error(const struct view *view, uint64_t error);

/* The samples of a row, whose `values` are by column, that say something of the metric shown. */
uint64_t view_row__samples(const struct view *view, const uint64_t *values);

/* "samples", those of the metric shown, "cpu_samples", "wall_samples" and, if it is not NULL,
 * "mark"; nothing if the ledger has no samples. */
void view_row__add_samples(json_t *object, const struct view *view, const uint64_t *values,
                           const char *mark);

/* "error_ns" of base and "cum_error_ns" of row `index` of `errors`; nothing if that is NULL. */
void view_row__add_errors(json_t *object, const struct report_errors *errors, uint32_t index);

/* A count of calls, "≥" before it if it is so many at least. */
#define CALLS_BYTES (QUANTITY_BYTES + 4)
void view_row__calls(uint64_t calls, bool at_least, char text[CALLS_BYTES]);

/* Name, with for how much of the time the method was heard behind it if that was not always:
 * "demo.Main.hot [recorded 1.2 %]". To be freed. */
char *view_row__name_and_hook(const struct view *view, uint32_t method, size_t columns);

/* "hooked", if the method was heard for part of the time or a plan left it out. */
void view_row__add_hooked(json_t *object, const struct report_model *model, uint32_t method);

/* "hooked_ppm" in CSV, if the ledger has any such method: a million of one that was always heard.
 */
void view_row__csv_hooked_head(struct csv *csv, const struct report_model *model);
void view_row__csv_hooked(struct csv *csv, const struct report_model *model, uint32_t method);

/* "calls_at_least" in CSV, under the same condition: 1, if a sum of calls is so many at least. */
void view_row__csv_at_least_head(struct csv *csv, const struct report_model *model);
void view_row__csv_at_least(struct csv *csv, const struct report_model *model, bool at_least);

/* A line on a metric that is zero in all that is shown, and which is not; else nothing. */
void view_row__zero_note(const struct view *view);

/* Millionths that a part has of the whole; 0 of nothing. */
uint64_t view_row__ppm(uint64_t part, uint64_t whole);

/* {"class","method","signature"} and {"cpu_ns","wall_ns",...}. `values` by enum report_column. */
json_t *view_row__method(const struct report_model *model, uint32_t method);
json_t *view_row__values(const struct report_model *model, const uint64_t *values);

/* The same in CSV; and the heads of these columns. */
void view_row__csv_errors(struct csv *csv, const struct report_errors *errors, uint32_t index);
void view_row__csv_error_heads(struct csv *csv, const struct report_errors *errors);

/* The loaded columns but calls as CSV, "base_cpu_ns" and so on for the heads. */
void view_row__csv_heads(struct csv *csv, const struct report_model *model, const char *prefix);
void view_row__csv_values(struct csv *csv, const struct report_model *model,
                          const uint64_t *values);
void view_row__csv_method(struct csv *csv, const struct report_model *model, uint32_t method);

/* Orders methods by one of "cum", "base", "calls", "name"; equal ones by index. */
struct method_values {
    uint32_t method;
    uint64_t calls;
    uint64_t base;
    uint64_t cum;
};
void view_rows__sort(struct method_values *rows, size_t count, const struct report_model *model,
                     const char *key);

#endif
