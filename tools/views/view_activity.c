/* The activity view: where the program says that its threads are, and what they do there. */
#include "tools/output/csv.h"
#include "tools/output/json_rows.h"
#include "tools/report/memory.h"
#include "tools/report/quantity.h"
#include "tools/report/report_activity.h"
#include "tools/views/view_rows.h"
#include "tools/views/view_samples.h"

#include <stdlib.h>
#include <string.h>

#define INDENT_COLUMNS 2u

static const struct table_column heads[] = {
    {"ACTIVITY", false, 0}, {"SAMPLES", true, 4}, {"TIME", true, 3},     {"SHARE", true, 0},
    {"SELF", true, 2},      {"CPU", true, 0},     {"RUNNABLE", true, 1}, {"LOCK", true, 0},
    {"I/O", true, 0},       {"SLEEP", true, 1},   {"UNKNOWN", true, 1},  {"CALLS", true, 0},
};

enum {
    COLUMN_OF_SAMPLES = 1,
    COLUMN_OF_TIME,
    COLUMN_OF_SHARE,
    COLUMN_OF_SELF,
    COLUMN_OF_PARTS,
    COLUMN_OF_CALLS = COLUMN_OF_PARTS + ACTIVITY_PARTS, /* only where there are any */
};

static void set_share(struct text_table *table, size_t line, size_t column, uint64_t part,
                      uint64_t whole)
{
    text_table__set(table, line, column, part ? quantity__share(part, whole).text : "");
}

/* The states' shares are of the row's own time. */
static void add_row(struct text_table *table, const struct activity_row *row, const char *label,
                    uint64_t whole_ns)
{
    size_t line = text_table__add_row(table);
    size_t indent = (size_t)row->depth * INDENT_COLUMNS;
    char *name = NULL;

    if (asprintf(&name, "%*s%s", (int)indent, "", label) < 0)
        name = NULL;
    text_table__set(table, line, 0, name ? name : label);
    free(name);
    text_table__set(table, line, COLUMN_OF_SAMPLES, quantity__count(row->cum.samples).text);
    text_table__set(table, line, COLUMN_OF_TIME, quantity__ns(row->cum.wall_ns).text);
    set_share(table, line, COLUMN_OF_SHARE, row->cum.wall_ns, whole_ns);
    set_share(table, line, COLUMN_OF_SELF, row->base.wall_ns, whole_ns);
    for (size_t i = 0; i < ACTIVITY_PARTS; i++)
        set_share(table, line, COLUMN_OF_PARTS + i, row->cum.part_ns[i], row->cum.wall_ns);
    if (row->calls)
        text_table__set(table, line, COLUMN_OF_CALLS, quantity__count(row->calls).text);
}

static void add_rows(struct text_table *table, const struct view *view,
                     const struct report_activity *activity, const char *title)
{
    struct text_store names = {0};

    add_row(table, &activity->rows[0], title, activity->rows[0].cum.wall_ns);
    for (uint32_t i = 1; i < activity->count; i++) {
        const struct activity_row *row = &activity->rows[i];
        char *label = text__printable_middle(
            report_method__full_name(&names, &view->model->methods[row->method]), NAME_COLUMNS_MAX);

        add_row(table, row, label, activity->rows[0].cum.wall_ns);
        free(label);
    }
    text_store__release(&names);
}

/* The activity of one thread alone. */
static struct report_activity *of_thread(const struct view *view, uint32_t thread)
{
    bool *only = memory__zeroed(view->model->thread_count, sizeof(*only));
    struct report_activity *activity;

    only[thread] = true;
    activity = report_activity__new(view->model, only);
    free(only);
    return activity;
}

static void add_thread(struct text_table *table, const struct view *view, uint32_t thread)
{
    const struct report_thread *row = &view->model->threads[thread];
    struct report_activity *activity = of_thread(view, thread);
    char *name = text__printable_middle(row->name, 80), *title = NULL;

    if (asprintf(&title, "%s, tid %d", name, row->tids[0]) < 0)
        title = NULL;
    add_rows(table, view, activity, title ? title : name);
    free(title);
    free(name);
    report_activity__free(activity);
}

/* The selected threads that have logical frames, as many as are shown. */
static uint32_t shown_threads(const struct view *view, uint32_t *threads)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < view->model->thread_count; i++)
        if (view->selected[i] && report_activity__has(view->model, i) &&
            (!view->top || count < view->top))
            threads[count++] = i;
    return count;
}

/* What is not in the tables. */
static void write_losses(const struct view *view)
{
    const struct ledger_header *header = &view->model->header;
    const struct {
        uint64_t count;
        const char *one, *more;
        const char *meaning;
    } losses[] = {
        {header->other_parameters, "frame", "frames",
         "with the parameter (other): there are too many different ones"},
        {header->cut_parameters, "push", "pushes", "with a parameter that was cut"},
        {header->cut_identifiers, "identifier", "identifiers",
         "cut: those that begin with the same 60 bytes are one"},
        {header->lost_frames, "push", "pushes", "not recorded: too deep, or in a signal handler"},
        {header->lost_slots, "thread", "threads", "that found no room for a stack"},
        {header->lost_identifiers, "push", "pushes",
         "with an identifier that is empty or has no room: it is (other)"},
        {header->torn_stacks, "sample", "samples",
         "of a stack that changed all the time, which count for the thread alone"},
        {header->late_samples, "sample", "samples", "due and not taken: the machine was busy"},
    };

    for (size_t i = 0; i < sizeof(losses) / sizeof(losses[0]); i++)
        if (losses[i].count)
            fprintf(view->screen.out, "%s %s %s\n", quantity__count(losses[i].count).text,
                    losses[i].count == 1 ? losses[i].one : losses[i].more, losses[i].meaning);
}

static bool has_calls(const struct report_activity *activity)
{
    for (uint32_t i = 0; i < activity->count; i++)
        if (activity->rows[i].calls)
            return true;
    return false;
}

static int print_tables(const struct view *view, const struct report_activity *all)
{
    uint32_t *threads = memory__zeroed(view->model->thread_count, sizeof(*threads));
    uint32_t count = shown_threads(view, threads);
    struct text_table *table = text_table__new(heads, (size_t)COLUMN_OF_CALLS + has_calls(all));
    char title[64];
    int error;

    snprintf(title, sizeof(title), "all %u threads with logical frames", all->threads);
    if (all->threads != 1)
        add_rows(table, view, all, title);
    for (uint32_t i = 0; i < count; i++)
        add_thread(table, view, threads[i]);
    error = text_table__print(table, &view->screen);
    text_table__free(table);
    if (!error && count < all->threads)
        fprintf(view->screen.out, "(%u more threads, not shown)\n", all->threads - count);
    free(threads);
    return error;
}

int view_activity__text(const struct view *view)
{
    struct report_activity *all = report_activity__new(view->model, view->selected);
    int error = 0;

    fprintf(
        view->screen.out,
        "%sWhat the program says that it does%s: shares of the threads' time, and of each row's "
        "time by state\n\n",
        screen__bold(&view->screen), screen__plain(&view->screen));
    if (all->threads)
        error = print_tables(view, all);
    else
        fputs("(no logical frames: C programs show them with treadle.h, to `treadle sample`; Java "
              "programs with treadle-api.jar, to the agent)\n",
              view->screen.out);
    if (!error)
        write_losses(view);
    report_activity__free(all);
    return error;
}

static json_t *times_object(const struct activity_times *times)
{
    json_t *object = json_object();

    json_object_set_new(object, "samples", json_row__integer(times->samples));
    json_object_set_new(object, "wall_ns", json_row__integer(times->wall_ns));
    for (size_t i = 0; i < ACTIVITY_PARTS; i++)
        json_object_set_new(object, activity_part__key((enum activity_part)i),
                            json_row__integer(times->part_ns[i]));
    return object;
}

static json_t *row_object(const struct view *view, const struct activity_row *row)
{
    json_t *object = json_object();

    json_object_set_new(object, "kind", json_string("logical"));
    view_row__add_logical(object, &view->model->methods[row->method]);
    json_object_set_new(object, "calls", json_row__integer(row->calls));
    json_object_set_new(object, "samples", json_row__integer(row->base.samples));
    json_object_set_new(object, "base", times_object(&row->base));
    json_object_set_new(object, "cum", times_object(&row->cum));
    return object;
}

/* Writes `"activity":[NODE]`, of the rows below the first. */
static void write_nodes(const struct view *view, const struct report_activity *activity)
{
    struct json_tree tree = {.out = view->screen.out};

    fputs("\"activity\":[", view->screen.out);
    for (uint32_t i = 1; i < activity->count; i++) {
        const struct activity_row *row = &activity->rows[i];

        if (row->depth == 1 && i > 1) {
            json_tree__end(&tree);
            fputs(",\n", view->screen.out);
        }
        json_tree__write_row(&tree, row->depth - 1, row_object(view, row));
    }
    json_tree__end(&tree);
    fputs("]", view->screen.out);
}

static void write_thread(const struct view *view, uint32_t thread)
{
    const struct report_thread *row = &view->model->threads[thread];
    struct report_activity *activity = of_thread(view, thread);
    json_t *object = json_object(), *tids = json_array();

    for (uint32_t i = 0; i < row->tid_count && i < LEDGER_THREAD_TIDS; i++)
        json_array_append_new(tids, json_integer(row->tids[i]));
    json_object_set_new(object, "name", json_row__text(row->name));
    json_object_set_new(object, "tids", tids);
    json_object_set_new(object, "base", times_object(&activity->rows[0].base));
    json_object_set_new(object, "cum", times_object(&activity->rows[0].cum));
    fputc('{', view->screen.out);
    json_row__write_members(view->screen.out, object);
    fputc(',', view->screen.out);
    write_nodes(view, activity);
    fputc('}', view->screen.out);
    report_activity__free(activity);
}

int view_activity__json(const struct view *view)
{
    struct report_activity *all = report_activity__new(view->model, view->selected);
    uint32_t *threads = memory__zeroed(view->model->thread_count, sizeof(*threads));
    uint32_t count = shown_threads(view, threads);
    const struct ledger_header *header = &view->model->header;
    json_t *losses = json_object();

    fputc('{', view->screen.out);
    write_nodes(view, all);
    fputs(",\n\"threads\":[", view->screen.out);
    for (uint32_t i = 0; i < count; i++) {
        fputs(i ? ",\n" : "\n", view->screen.out);
        write_thread(view, threads[i]);
    }
    json_object_set_new(losses, "other_parameters", json_row__integer(header->other_parameters));
    json_object_set_new(losses, "cut_parameters", json_row__integer(header->cut_parameters));
    json_object_set_new(losses, "cut_identifiers", json_row__integer(header->cut_identifiers));
    json_object_set_new(losses, "lost_frames", json_row__integer(header->lost_frames));
    json_object_set_new(losses, "lost_threads", json_row__integer(header->lost_slots));
    json_object_set_new(losses, "lost_identifiers", json_row__integer(header->lost_identifiers));
    json_object_set_new(losses, "torn_stacks", json_row__integer(header->torn_stacks));
    json_object_set_new(losses, "late_samples", json_row__integer(header->late_samples));
    fputs("],\n\"stack_losses\":", view->screen.out);
    json_row__write(view->screen.out, losses);
    view_samples__end_json(view);
    free(threads);
    report_activity__free(all);
    return 0;
}

static void write_times(struct csv *csv, const struct activity_times *times)
{
    csv__integer(csv, times->samples);
    csv__integer(csv, times->wall_ns);
    for (size_t i = 0; i < ACTIVITY_PARTS; i++)
        csv__integer(csv, times->part_ns[i]);
}

static void write_heads(struct csv *csv, const char *prefix)
{
    char head[64];

    snprintf(head, sizeof(head), "%s_samples", prefix);
    csv__word(csv, head);
    snprintf(head, sizeof(head), "%s_wall_ns", prefix);
    csv__word(csv, head);
    for (size_t i = 0; i < ACTIVITY_PARTS; i++) {
        snprintf(head, sizeof(head), "%s_%s", prefix, activity_part__key((enum activity_part)i));
        csv__word(csv, head);
    }
}

int view_activity__csv(const struct view *view)
{
    static const char *const words[] = {"thread", "tid", "level", "identifier", "parameter"};
    struct csv csv = {.out = view->screen.out};
    uint32_t *threads = memory__zeroed(view->model->thread_count, sizeof(*threads));
    uint32_t count = shown_threads(view, threads);

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        csv__word(&csv, words[i]);
    write_heads(&csv, "base");
    write_heads(&csv, "cum");
    csv__end_record(&csv);
    for (uint32_t i = 0; i < count; i++) {
        struct report_activity *activity = of_thread(view, threads[i]);

        for (uint32_t j = 0; j < activity->count; j++) {
            const struct activity_row *row = &activity->rows[j];
            const struct report_method *method = &view->model->methods[row->method];

            csv__text(&csv, view->model->threads[threads[i]].name);
            csv__integer(&csv, (uint64_t)view->model->threads[threads[i]].tids[0]);
            csv__integer(&csv, row->depth);
            csv__text(&csv, method->name);
            csv__text(&csv, method->signature);
            write_times(&csv, &row->base);
            write_times(&csv, &row->cum);
            csv__end_record(&csv);
        }
        report_activity__free(activity);
    }
    free(threads);
    return 0;
}
