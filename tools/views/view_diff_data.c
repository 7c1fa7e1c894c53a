/* The views of a diff for programs: JSON, CSV, and stacks for differential flame graphs. */
#include "tools/output/csv.h"
#include "tools/output/json_rows.h"
#include "tools/report/memory.h"
#include "tools/views/view_diff.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char *state_of(bool in_a, bool in_b)
{
    const char *note = view_diff__note(in_a, in_b);

    return note[0] ? note : "both";
}

/* {"a":…,"b":…,"change":…} */
static json_t *values_json(const uint64_t values[DIFF_SIDES])
{
    json_t *object = json_object();

    json_object_set_new(object, "a", json_row__integer(values[DIFF_A]));
    json_object_set_new(object, "b", json_row__integer(values[DIFF_B]));
    json_object_set_new(object, "change", json_integer(view_diff__signed(values)));
    return object;
}

/* {"a":…,"b":…,"change":…,"a_at_least":true,"b_at_least":true} */
static json_t *pair_json(struct diff_pair pair)
{
    static const char *const keys[DIFF_SIDES] = {"a_at_least", "b_at_least"};
    json_t *object = values_json(pair.values);

    for (unsigned side = DIFF_A; side < DIFF_SIDES; side++)
        if (pair.at_least && pair.at_least[side])
            json_object_set_new(object, keys[side], json_true());
    return object;
}

static json_t *calls_json(const uint64_t calls[DIFF_SIDES], const bool at_least[DIFF_SIDES])
{
    return pair_json((struct diff_pair){calls, at_least});
}

/* … and "error_ns" */
static json_t *errable_json(const struct diff_view *view, struct diff_pair pair,
                            const double squares[DIFF_SIDES])
{
    json_t *object = pair_json(pair);

    if (view->diff->has_errors)
        json_object_set_new(object, "error_ns", json_row__integer(diff_change__error(squares)));
    return object;
}

static void begin_json(const struct diff_view *view, const char *what)
{
    fputc('{', view->screen.out);
    json_row__write_members(view->screen.out, view_diff_totals__json(view));
    fprintf(view->screen.out, ",\n\"%s\":[", what);
}

static json_t *thread_json(const struct diff_view *view, const struct diff_thread *row)
{
    json_t *object = json_object();
    const uint64_t counts[DIFF_SIDES] = {row->present[DIFF_A], row->present[DIFF_B]};

    json_object_set_new(object, "name", json_row__text(row->name));
    json_object_set_new(object, "kind", json_string(report_thread_kind__name(row->kind)));
    json_object_set_new(object, "state",
                        json_string(state_of(row->present[DIFF_A], row->present[DIFF_B])));
    json_object_set_new(object, "threads", values_json(counts));
    json_object_set_new(object, "value",
                        pair_json(view_diff__pair(view, row->value, row->at_least)));
    json_object_set_new(object, "calls", calls_json(row->calls, row->at_least));
    return object;
}

int view_diff_threads__json(const struct diff_view *view)
{
    uint32_t shown = view_diff__shown(view, view->diff->thread_count);

    begin_json(view, "threads");
    for (uint32_t i = 0; i < shown; i++) {
        fputs(i ? ",\n" : "\n", view->screen.out);
        json_row__write(view->screen.out, thread_json(view, &view->diff->threads[i]));
    }
    fputs("]}\n", view->screen.out);
    return 0;
}

static json_t *method_json(const struct diff_view *view, uint32_t index)
{
    const struct report_method *method = &view->diff->methods[index];
    json_t *object = json_object();

    json_object_set_new(object, "class", json_row__text(method->class_name));
    json_object_set_new(object, "method", json_row__text(method->name));
    json_object_set_new(object, "signature", json_row__text(method->signature));
    return object;
}

static json_t *node_json(const struct diff_view *view, const struct diff_node *node)
{
    json_t *object = method_json(view, node->method);

    if (node->kind == NODE_ROOT)
        json_object_set_new(object, "method", json_string("<thread>"));
    json_object_set_new(object, "kind", json_string(report_node_kind__name(node->kind)));
    json_object_set_new(object, "state",
                        json_string(state_of(node->present[DIFF_A], node->present[DIFF_B])));
    json_object_set_new(object, "recursion", json_integer(node->level));
    struct diff_pair base = view_diff__pair(view, node->base, node->at_least);
    struct diff_pair cum = view_diff__pair(view, node->cum, node->cum_at_least);
    json_object_set_new(object, "calls", calls_json(node->calls, node->at_least));
    json_object_set_new(object, "base", errable_json(view, base, node->base_squares));
    json_object_set_new(object, "cum", errable_json(view, cum, node->cum_squares));
    return object;
}

/* The nodes that programs get: without --top all of them, changed or not. */
static bool *choose(const struct diff_view *view)
{
    bool *shown = report_diff__changed(view->diff, view->top);

    if (!view->top && view->diff->node_count)
        memset(shown, true, view->diff->node_count * sizeof(*shown));
    return shown;
}

static void write_json_tree(const struct diff_view *view, const struct diff_thread *row,
                            const bool *shown)
{
    struct json_tree tree = {.out = view->screen.out};

    for (uint32_t i = row->first_node; i < row->end_node; i++) {
        const struct diff_node *node = &view->diff->nodes[i];

        if (shown[i])
            json_tree__write_row(&tree, node->depth, node_json(view, node));
    }
    json_tree__end(&tree);
}

int view_diff_tree__json(const struct diff_view *view)
{
    FILE *out = view->screen.out;
    bool *shown = choose(view);
    const char *before = "\n{";

    begin_json(view, "threads");
    for (uint32_t i = 0; i < view->diff->thread_count; i++) {
        const struct diff_thread *row = &view->diff->threads[i];
        bool grown = row->first_node < row->end_node;

        if (grown && !shown[row->first_node])
            continue;
        fputs(before, out);
        before = ",\n{";
        json_row__write_members(out, thread_json(view, row));
        fputs(",\"root\":", out);
        if (grown)
            write_json_tree(view, row, shown);
        else
            fputs("null", out);
        fputc('}', out);
    }
    fputs("]}\n", out);
    free(shown);
    return 0;
}

int view_diff_flat__json(const struct diff_view *view)
{
    uint32_t count;
    struct diff_flat_row *rows = report_diff__flat(view->diff, &count);

    begin_json(view, "methods");
    for (uint32_t i = 0; i < view_diff__shown(view, count); i++) {
        const struct diff_flat_row *row = &rows[i];
        json_t *object = method_json(view, row->method);

        json_object_set_new(object, "state",
                            json_string(state_of(row->present[DIFF_A], row->present[DIFF_B])));
        struct diff_pair base = view_diff__pair(view, row->base, row->at_least);
        struct diff_pair cum = view_diff__pair(view, row->cum, row->cum_at_least);
        json_object_set_new(object, "calls", calls_json(row->calls, row->at_least));
        json_object_set_new(object, "base", errable_json(view, base, row->base_squares));
        json_object_set_new(object, "cum", errable_json(view, cum, row->cum_squares));
        fputs(i ? ",\n" : "\n", view->screen.out);
        json_row__write(view->screen.out, object);
    }
    fputs("]}\n", view->screen.out);
    free(rows);
    return 0;
}

/* "a_base_cpu_ns", "b_base_cpu_ns", "change_base_cpu_ns"; `what` is "" or ends in "_". */
static void csv_heads(struct csv *csv, const char *what, const char *unit)
{
    static const char *const sides[] = {"a", "b", "change"};

    for (size_t i = 0; i < sizeof(sides) / sizeof(sides[0]); i++) {
        char head[96];

        snprintf(head, sizeof(head), "%s_%s%s", sides[i], what, unit);
        csv__word(csv, head);
    }
}

static void csv_values(struct csv *csv, const uint64_t values[DIFF_SIDES])
{
    csv__integer(csv, values[DIFF_A]);
    csv__integer(csv, values[DIFF_B]);
    csv__signed(csv, view_diff__signed(values));
}

/* 1, if calls are so many at least: columns that are there if any number of calls is. */
static void csv_at_least_heads(struct csv *csv, const struct diff_view *view)
{
    if (!view->diff->is_partial)
        return;
    csv__word(csv, "a_calls_at_least");
    csv__word(csv, "b_calls_at_least");
}

static void csv_at_least(struct csv *csv, const struct diff_view *view,
                         const bool at_least[DIFF_SIDES])
{
    for (unsigned side = DIFF_A; side < DIFF_SIDES && view->diff->is_partial; side++)
        csv__integer(csv, at_least[side]);
}

static void csv_words(struct csv *csv, const char *const *words)
{
    for (; *words; words++)
        csv__word(csv, *words);
}

static void csv_method(struct csv *csv, const struct diff_view *view, uint32_t index)
{
    const struct report_method *method = &view->diff->methods[index];

    csv__text(csv, method->class_name);
    csv__text(csv, method->name);
    csv__text(csv, method->signature);
}

int view_diff_threads__csv(const struct diff_view *view)
{
    static const char *const heads[] = {"thread", "kind", "state", NULL};
    struct csv csv = {.out = view->screen.out};

    csv_words(&csv, heads);
    csv_heads(&csv, "", "threads");
    csv_heads(&csv, "", report_column__csv_name(view->diff->column));
    if (view->diff->column != COLUMN_CALLS)
        csv_heads(&csv, "", "calls");
    csv_at_least_heads(&csv, view);
    csv__end_record(&csv);
    for (uint32_t i = 0; i < view_diff__shown(view, view->diff->thread_count); i++) {
        const struct diff_thread *row = &view->diff->threads[i];
        const uint64_t counts[DIFF_SIDES] = {row->present[DIFF_A], row->present[DIFF_B]};

        csv__text(&csv, row->name);
        csv__word(&csv, report_thread_kind__name(row->kind));
        csv__word(&csv, state_of(row->present[DIFF_A], row->present[DIFF_B]));
        csv_values(&csv, counts);
        csv_values(&csv, row->value);
        if (view->diff->column != COLUMN_CALLS)
            csv_values(&csv, row->calls);
        csv_at_least(&csv, view, row->at_least);
        csv__end_record(&csv);
    }
    return 0;
}

/* How far the changes may be off. */
static void csv_errors(struct csv *csv, const struct diff_view *view,
                       const double base_squares[DIFF_SIDES], const double cum_squares[DIFF_SIDES])
{
    if (!view->diff->has_errors)
        return;
    csv__integer(csv, diff_change__error(base_squares));
    csv__integer(csv, diff_change__error(cum_squares));
}

static void csv_value_heads(struct csv *csv, const struct diff_view *view)
{
    const char *unit = report_column__csv_name(view->diff->column);

    csv_heads(csv, "", "calls");
    csv_heads(csv, "base_", unit);
    csv_heads(csv, "cum_", unit);
    if (view->diff->has_errors) {
        csv__word(csv, "base_error_ns");
        csv__word(csv, "cum_error_ns");
    }
    csv_at_least_heads(csv, view);
    csv__end_record(csv);
}

int view_diff_tree__csv(const struct diff_view *view)
{
    static const char *const heads[] = {"thread", "level",  "recursion", "kind", "state",
                                        "class",  "method", "signature", NULL};
    const struct report_diff *diff = view->diff;
    struct csv csv = {.out = view->screen.out};
    bool *shown = choose(view);

    csv_words(&csv, heads);
    csv_value_heads(&csv, view);
    for (uint32_t i = 0; i < diff->node_count; i++) {
        const struct diff_node *node = &diff->nodes[i];

        if (!shown[i])
            continue;
        csv__text(&csv, diff->threads[node->thread].name);
        csv__integer(&csv, node->depth);
        csv__integer(&csv, node->level);
        csv__word(&csv, report_node_kind__name(node->kind));
        csv__word(&csv, state_of(node->present[DIFF_A], node->present[DIFF_B]));
        csv_method(&csv, view, node->method);
        csv_values(&csv, node->calls);
        csv_values(&csv, node->base);
        csv_values(&csv, node->cum);
        csv_errors(&csv, view, node->base_squares, node->cum_squares);
        csv_at_least(&csv, view, node->at_least);
        csv__end_record(&csv);
    }
    free(shown);
    return 0;
}

int view_diff_flat__csv(const struct diff_view *view)
{
    static const char *const heads[] = {"class", "method", "signature", "state", NULL};
    uint32_t count;
    struct csv csv = {.out = view->screen.out};
    struct diff_flat_row *rows = report_diff__flat(view->diff, &count);

    csv_words(&csv, heads);
    csv_value_heads(&csv, view);
    for (uint32_t i = 0; i < view_diff__shown(view, count); i++) {
        csv_method(&csv, view, rows[i].method);
        csv__word(&csv, state_of(rows[i].present[DIFF_A], rows[i].present[DIFF_B]));
        csv_values(&csv, rows[i].calls);
        csv_values(&csv, rows[i].base);
        csv_values(&csv, rows[i].cum);
        csv_errors(&csv, view, rows[i].base_squares, rows[i].cum_squares);
        csv_at_least(&csv, view, rows[i].at_least);
        csv__end_record(&csv);
    }
    free(rows);
    return 0;
}

/* A frame is never empty and has no ';', which is what parts frames. */
static char *frame_of(struct text name)
{
    char *printable = text__printable(name.length ? name : (struct text){"(no name)", 9}, 0);

    for (char *c = printable; *c; c++)
        *c = *c == ';' ? ':' : *c;
    return printable;
}

/* By method; release with release_frames. */
static char **make_frames(const struct report_diff *diff)
{
    char **frames = memory__zeroed(diff->method_count, sizeof(char *));
    struct text_store store = {0};

    for (uint32_t i = 0; i < diff->method_count; i++)
        frames[i] = frame_of(report_method__full_name(&store, &diff->methods[i]));
    text_store__release(&store);
    return frames;
}

static void release_frames(char **frames, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        free(frames[i]);
    free((void *)frames);
}

static void write_thread_stacks(const struct diff_view *view, const struct diff_thread *row,
                                char *const *frames, uint32_t *path, const bool *shown)
{
    const struct report_diff *diff = view->diff;
    FILE *out = view->screen.out;
    char *thread = frame_of(row->name);

    for (uint32_t i = row->first_node; i < row->end_node; i++) {
        const struct diff_node *node = &diff->nodes[i];

        path[node->depth] = node->method;
        if (!shown[i] || (!node->base[DIFF_A] && !node->base[DIFF_B]))
            continue;
        fputs(thread, out);
        for (uint32_t depth = 1; depth <= node->depth; depth++) {
            fputc(';', out);
            fputs(frames[path[depth]], out);
        }
        fprintf(out, " %" PRIu64 " %" PRIu64 "\n", node->base[DIFF_A], node->base[DIFF_B]);
    }
    free(thread);
}

int view_diff__collapsed(const struct diff_view *view)
{
    const struct report_diff *diff = view->diff;
    char **frames = make_frames(diff);
    uint32_t *path = memory__zeroed(diff->node_count, sizeof(*path)); /* methods, by depth */
    bool *shown = choose(view);

    for (uint32_t i = 0; i < diff->thread_count; i++)
        write_thread_stacks(view, &diff->threads[i], frames, path, shown);
    free(shown);
    free(path);
    release_frames(frames, diff->method_count);
    return 0;
}
