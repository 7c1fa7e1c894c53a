/*
 * What the views of methods (tree, flat, callers) have in common: how a method and its values look.
 */
#ifndef TREADLE_VIEW_ROWS_H
#define TREADLE_VIEW_ROWS_H

#include "tools/output/csv.h"
#include "tools/report/quantity.h"
#include "tools/report/report_errors.h"
#include "tools/report/report_flat.h"
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

/* An empty line, and a line that names a thread or, if the view is folded, a pool. */
void view_row__thread(const struct view *view, const struct report_thread *thread);

enum share_of { SHARE_OF_BASE, SHARE_OF_CUM };

struct row_numbers {
    uint64_t calls;
    bool at_least; /* calls is a lower bound: not all were recorded */
    uint64_t base;
    uint64_t cum;
    uint64_t base_error; /* how far base and cum may be off */
    uint64_t cum_error;
    uint64_t samples;
    const char *mark; /* as report_node__mark has it */
};

/* Write Calls, Base, Cum and the Share of Base or of Cum in fixed columns, and, if the ledger has
 * samples, the ± of Base and Cum, Samples and the mark. A narrow screen loses Samples first, then
 * Calls, then the ± of the one that Share is not of. The third function returns the width in
 * columns of the screen. */
void view_row__numbers(const struct view *view, enum share_of share_of,
                       const struct row_numbers *numbers);
void view_row__number_heads(const struct view *view, enum share_of share_of);
size_t view_row__number_columns(const struct view *view);

/* "±", or its replacement in a locale without it; and an error in the metric shown, "±43.7 ms", ""
 * for 0. */
const char *view_row__plus_minus(void);
struct quantity view_row__error(const struct view *view, uint64_t error);

/* The samples of a row that the metric shown is divided by; `values` are by column. */
uint64_t view_row__samples(const struct view *view, const uint64_t *values);

/* Adds "samples" (those of the metric shown), "cpu_samples", "wall_samples" and, if `mark` is not
 * NULL, "mark"; nothing if the ledger has no samples. */
void view_row__add_samples(json_t *object, const struct view *view, const uint64_t *values,
                           const char *mark);

/* Adds "error_ns" (of base) and "cum_error_ns" of row `index` of `errors`; nothing if that is NULL.
 */
void view_row__add_errors(json_t *object, const struct report_errors *errors, uint32_t index);

/* A number of calls, with "≥" before it if it is a lower bound. */
#define CALLS_BYTES (QUANTITY_BYTES + 4)
void view_row__calls(uint64_t calls, bool at_least, char text[CALLS_BYTES]);

/* The method's name, followed by the part of the time that it was recorded if that was not always:
 * "demo.Main.hot [recorded 1.2 %]". To be freed. */
char *view_row__name_and_hook(const struct view *view, uint32_t method, size_t columns);

/* Adds "identifier" and "parameter" (null: none) of a logical frame. */
void view_row__add_logical(json_t *object, const struct report_method *method);

/* Adds "counted" if calls of the method were counted, and not recorded: how many, and the part of
 * the time in which calls were recorded. */
void view_row__add_counted(json_t *object, const struct report_model *model, uint32_t method);

/* Adds "hooked" if the method was recorded for part of the time or a plan left it out. */
void view_row__add_hooked(json_t *object, const struct report_model *model, uint32_t method);

/* "hooked_ppm" in CSV, if the ledger has any such method; a million for a method that was always
 * recorded. */
void view_row__csv_hooked_head(struct csv *csv, const struct report_model *model);
void view_row__csv_hooked(struct csv *csv, const struct report_model *model, uint32_t method);

/* "calls_at_least" in CSV, under the same condition: 1 if a sum of calls is a lower bound. */
void view_row__csv_at_least_head(struct csv *csv, const struct report_model *model);
void view_row__csv_at_least(struct csv *csv, const struct report_model *model, bool at_least);

/* If the metric is zero in all rows shown, a line that says so and names a metric that is not. */
void view_row__zero_note(const struct view *view);

/* A part in millionths of the whole; 0 if the whole is 0. */
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

/* Sorts the same way; returns the rows of `flat` of these methods, in that order. Release with
 * free. */
const struct flat_row **view_rows__in_order(const struct report_flat *flat,
                                            struct method_values *methods, size_t count,
                                            const struct report_model *model, const char *key);

#endif
