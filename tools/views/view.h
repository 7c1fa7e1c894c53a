/*
 * Views: what `treadle report` shows of a model. Each has a text, a JSON and a CSV form.
 */
#ifndef TREADLE_VIEW_H
#define TREADLE_VIEW_H

#include "tools/output/text_table.h"
#include "tools/report/report_model.h"

struct view {
    const struct report_model *model;
    const char *path;          /* of the ledger */
    const bool *selected;      /* by thread */
    const char *glob;          /* --thread, or NULL */
    enum report_column column; /* --metric */
    const char *sort; /* one of the view's keys or, for threads, a column's name; or NULL */
    uint64_t whole;   /* of the metric, in the trees of the selected threads */
    uint32_t top;     /* 0: all */
    bool fold;
    const struct report_model *const *more; /* other ledgers, of a view that joins several */
    uint32_t more_count;
    struct screen screen;
};

/* A form of a view writes to view->screen.out. 0, or -errno if something other than writing failed;
 * the caller looks after write errors. */
typedef int view_form(const struct view *view);

struct view_kind {
    const char *name;
    const char *const *sort_keys; /* NULL-terminated; the first is the default */
    bool sorts_by_column;         /* --sort takes the name of any column, too */
    bool of_threads;              /* not of their trees: --metric means the threads' metrics */
    bool of_samples;              /* makes no sense without any */
    bool folds_trees;             /* --fold makes one tree of a pool's */
    bool reads_all;               /* the text, too, shows more than the metric of --metric */
    bool joins;                   /* several ledgers */
    view_form *text;
    view_form *json;
    view_form *csv;
};

extern const struct view_kind view_kinds[];
extern const size_t view_kind_count;

#define CHAIN_KEYS "elapsed", "cpu", "wait", "count", "begin"

view_form view_threads__text;
view_form view_threads__json;
view_form view_threads__csv;
view_form view_waits__text;
view_form view_waits__json;
view_form view_waits__csv;
view_form view_locks__text;
view_form view_locks__json;
view_form view_locks__csv;
view_form view_blockers__text;
view_form view_blockers__json;
view_form view_blockers__csv;
view_form view_latency__text;
view_form view_latency__json;
view_form view_latency__csv;
view_form view_hazards__text;
view_form view_hazards__json;
view_form view_hazards__csv;
view_form view_spawn__text;
view_form view_spawn__json;
view_form view_spawn__csv;
view_form view_tree__text;
view_form view_tree__json;
view_form view_tree__csv;
view_form view_flat__text;
view_form view_flat__json;
view_form view_flat__csv;
view_form view_callers__text;
view_form view_callers__json;
view_form view_callers__csv;
view_form view_activity__text;
view_form view_activity__json;
view_form view_activity__csv;
view_form view_chains__text;
view_form view_chains__json;
view_form view_chains__csv;
view_form view_images__text;
view_form view_images__json;
view_form view_images__csv;
view_form view_procedures__text;
view_form view_procedures__json;
view_form view_procedures__csv;

/* All of a metric in the trees of the selected threads. */
uint64_t view__whole(const struct report_model *model, const bool *selected,
                     enum report_column column);

/* The line that stands for rows where a ledger has none. */
void view__no_threads(const struct screen *screen);

/* Index of --sort in a NULL-terminated list of keys; 0 if there is none. */
size_t view__sort_index(const struct view *view, const char *const *keys);

/* The head of a table's column of --metric: "CPU", "RUN QUEUE". */
#define METRIC_TITLE_BYTES 64
void view__metric_title(const struct view *view, char title[METRIC_TITLE_BYTES]);

/* A metric's value with its unit, as people read it. */
struct quantity view__quantity(const struct view *view, uint64_t value);

/* The rows of the threads view, chosen, sorted and cut to --top. Release with thread_rows__free. */
struct thread_rows *view_threads__rows(const struct view *view);

/* The lines on the budget and the resolution, which stand under the head of the threads
 * view, and of every view where overhead= asked for a budget. */
void view_head__text(const struct view *view);

/* The lines above and below the threads table. */
void view_process__text(const struct view *view);
void view_balance__text(const struct view *view);

#endif
