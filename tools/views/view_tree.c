/* The tree view: each thread's calling contexts. */
#include "tools/output/json_rows.h"
#include "tools/report/memory.h"
#include "tools/report/quantity.h"
#include "tools/report/report_folded.h"
#include "tools/report/report_order.h"
#include "tools/views/view_rows.h"
#include "tools/views/view_samples.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define LEVEL_COLUMNS  5u
#define RL_COLUMNS     5u
#define INDENT_COLUMNS 2u
#define NAME_ROOM_MIN  24u
#define LEVELS_BYTES   40u

struct forest {
    const struct view *view;
    uint32_t *threads; /* selected ones, in the order they are shown in */
    uint32_t count;
    bool *kept; /* by node: within --top */
    struct report_errors *errors;
};

struct thread_key {
    uint32_t thread;
    uint64_t value;
    const char *name;
};

static int by_value(const void *a, const void *b)
{
    const struct thread_key *x = a;
    const struct thread_key *y = b;

    if (x->value != y->value)
        return x->value > y->value ? -1 : 1;
    return x->thread < y->thread ? -1 : x->thread > y->thread;
}

static int by_name(const void *a, const void *b)
{
    const struct thread_key *x = a;
    const struct thread_key *y = b;
    int order = strcmp(x->name, y->name);

    return order ? order : x->thread < y->thread ? -1 : x->thread > y->thread;
}

static enum order_key key_of(const struct view *view)
{
    static const char *const keys[] = {"cum", "base", "calls", "name", NULL};
    static const enum order_key orders[] = {ORDER_BY_CUM, ORDER_BY_BASE, ORDER_BY_CALLS,
                                            ORDER_BY_NAME};

    return orders[view__sort_index(view, keys)];
}

static struct forest plant(const struct view *view)
{
    const struct report_model *model = view->model;
    struct forest forest = {.view = view};
    struct thread_key *keys = memory__zeroed(model->thread_count, sizeof(*keys));

    for (uint32_t i = 0; i < model->thread_count; i++) {
        const struct report_thread *thread = &model->threads[i];
        bool grown = thread->first_node < thread->end_node;

        if (view->selected[i])
            keys[forest.count++] = (struct thread_key){
                i, grown ? model->cum[view->column][thread->first_node] : 0, thread->name.bytes};
    }
    qsort(keys, forest.count, sizeof(*keys), key_of(view) == ORDER_BY_NAME ? by_name : by_value);
    forest.threads = memory__zeroed(forest.count, sizeof(*forest.threads));
    for (uint32_t i = 0; i < forest.count; i++)
        forest.threads[i] = keys[i].thread;
    forest.kept = report_order__heaviest(model, view->selected, view->column, view->top);
    forest.errors = report_errors__of_nodes(model, view->column);
    free(keys);
    return forest;
}

static void release(struct forest *forest)
{
    free(forest->threads);
    free(forest->kept);
    report_errors__free(forest->errors);
}

/* Deep frames are not indented out of sight: the Level column tells how deep they are. */
static size_t indent_of(const struct view *view, uint32_t depth)
{
    size_t taken = LEVEL_COLUMNS + RL_COLUMNS + view_row__number_columns(view);
    size_t columns = view->screen.columns ? view->screen.columns : taken + NAME_COLUMNS_MAX;
    size_t room = columns > taken + NAME_ROOM_MIN ? columns - taken - NAME_ROOM_MIN : 0;
    size_t indent = (size_t)depth * INDENT_COLUMNS;

    return indent < room ? indent : room;
}

static uint64_t own_samples(const struct view *view, uint32_t node)
{
    const struct report_model *model = view->model;

    if (!model->samples)
        return 0;
    return model->base[report_columns__samples_of(&model->header, view->column)][node];
}

/* " [levels 1-14]" behind the name of a node that stands for deeper recursion too; its length. */
static size_t levels_text(const struct report_node *node, char text[LEVELS_BYTES])
{
    text[0] = '\0';
    if (node->level_max > node->level)
        snprintf(text, LEVELS_BYTES, " [levels %" PRIu32 "-%" PRIu32 "]", node->level,
                 node->level_max);
    return strlen(text);
}

static void write_node(const struct forest *forest, uint32_t index)
{
    const struct view *view = forest->view;
    const struct report_model *model = view->model;
    const struct report_node *node = &model->nodes[index];
    size_t indent = indent_of(view, node->depth);
    size_t taken = LEVEL_COLUMNS + RL_COLUMNS + view_row__number_columns(view) + indent;
    size_t room = view->screen.columns > taken ? view->screen.columns - taken : 0;
    char level[24];
    char recursion[24];

    snprintf(level, sizeof(level), "%" PRIu32, node->depth);
    snprintf(recursion, sizeof(recursion), "%" PRIu32, node->level);
    screen__right(&view->screen, level, LEVEL_COLUMNS);
    screen__right(&view->screen, recursion, RL_COLUMNS);
    view_row__numbers(
        view, SHARE_OF_CUM,
        &(struct row_numbers){.calls = model->base[COLUMN_CALLS][index],
                              .at_least = report_node__is_partial(model, index),
                              .base = model->base[view->column][index],
                              .cum = model->cum[view->column][index],
                              .base_error = forest->errors ? forest->errors->base[index] : 0,
                              .cum_error = forest->errors ? forest->errors->cum[index] : 0,
                              .samples = own_samples(view, index),
                              .mark = model->samples ? report_node__mark(model, index) : ""});
    screen__left(&view->screen, "", indent);
    char levels[LEVELS_BYTES];
    size_t taken_by_levels = levels_text(node, levels);
    char *name = view_row__name_and_hook(
        view, node->method, room > taken_by_levels + NAME_ROOM_MIN ? room - taken_by_levels : room);
    fprintf(view->screen.out, "%s%s", name, levels);
    if (node->contexts)
        fprintf(view->screen.out, " of %s contexts", quantity__count(node->contexts).text);
    fputc('\n', view->screen.out);
    free(name);
}

static void write_thread(const struct forest *forest, uint32_t thread)
{
    const struct view *view = forest->view;
    const struct report_thread *row = &view->model->threads[thread];
    uint32_t count = row->end_node - row->first_node;
    uint32_t hidden = 0;
    uint64_t folded_ns = report_folded__most_cpu_ns(view->model, row);

    if (count && !forest->kept[row->first_node])
        return;
    view_row__thread(view, row);
    uint32_t *order = report_order__tree(view->model, thread, view->column, key_of(view));
    for (uint32_t i = 0; i < count; i++)
        if (forest->kept[order[i]])
            write_node(forest, order[i]);
        else
            hidden++;
    if (folded_ns)
        fprintf(view->screen.out,
                "(no folded context of this thread had more than %s, %s of its CPU)\n",
                quantity__ns(folded_ns).text, quantity__share(folded_ns, row->cpu_ns).text);
    if (hidden)
        fprintf(view->screen.out, "(%" PRIu32 " lighter contexts of this thread, not shown)\n",
                hidden);
    free(order);
}

int view_tree__text(const struct view *view)
{
    struct forest forest = plant(view);

    view_row__title(view, "Call trees", "Base and Cum (of which Share)");
    fputs(screen__bold(&view->screen), view->screen.out);
    screen__right(&view->screen, "Level", LEVEL_COLUMNS);
    screen__right(&view->screen, "RL", RL_COLUMNS);
    view_row__number_heads(view, SHARE_OF_CUM);
    fprintf(view->screen.out, "Name%s\n", screen__plain(&view->screen));
    for (uint32_t i = 0; i < forest.count; i++)
        write_thread(&forest, forest.threads[i]);
    view_row__zero_note(view);
    view_samples__text(view);
    release(&forest);
    return 0;
}

static void gather(const struct report_model *model, uint64_t *const columns[COLUMN_COUNT],
                   uint32_t node, uint64_t values[COLUMN_COUNT])
{
    for (size_t column = 0; column < COLUMN_COUNT; column++)
        values[column] = model->base[column] ? columns[column][node] : 0;
}

static json_t *node_members(const struct forest *forest, uint32_t index)
{
    const struct view *view = forest->view;
    const struct report_model *model = view->model;
    const struct report_node *node = &model->nodes[index];
    uint64_t values[COLUMN_COUNT];
    json_t *object = view_row__method(model, node->method);

    if (node->kind == NODE_ROOT)
        json_object_set_new(object, "method", json_string("<thread>"));
    json_object_set_new(object, "kind", json_string(report_node_kind__name(node->kind)));
    if (node->kind == NODE_LOGICAL)
        view_row__add_logical(object, &model->methods[node->method]);
    if (node->kind == NODE_FOLDED)
        json_object_set_new(object, "contexts", json_integer(node->contexts));
    json_object_set_new(object, "calls", json_row__integer(model->base[COLUMN_CALLS][index]));
    view_row__add_hooked(object, model, node->method);
    json_object_set_new(object, "recursion", json_integer(node->level));
    if (node->level_max > node->level)
        json_object_set_new(object, "recursion_max", json_integer(node->level_max));
    gather(model, model->base, index, values);
    if (model->samples)
        view_row__add_samples(object, view, values, report_node__mark(model, index));
    json_object_set_new(object, "base", view_row__values(model, values));
    gather(model, model->cum, index, values);
    json_object_set_new(object, "cum", view_row__values(model, values));
    json_object_set_new(
        object, "share_ppm",
        json_row__integer(view_row__ppm(model->cum[view->column][index], view->whole)));
    view_row__add_errors(object, forest->errors, index);
    return object;
}

static void write_json_tree(const struct forest *forest, uint32_t thread)
{
    const struct view *view = forest->view;
    struct json_tree tree = {.out = view->screen.out};
    const struct report_thread *row = &view->model->threads[thread];
    uint32_t count = row->end_node - row->first_node;
    uint32_t *order = report_order__tree(view->model, thread, view->column, key_of(view));

    for (uint32_t i = 0; i < count; i++)
        if (forest->kept[order[i]])
            json_tree__write_row(&tree, view->model->nodes[order[i]].depth,
                                 node_members(forest, order[i]));
    json_tree__end(&tree);
    free(order);
}

static json_t *thread_members(const struct view *view, const struct report_thread *thread)
{
    json_t *object = json_object();
    json_t *tids = json_array();
    uint64_t folded_ns = report_folded__most_cpu_ns(view->model, thread);

    for (uint32_t i = 0; i < thread->tid_count && i < LEDGER_THREAD_TIDS; i++)
        json_array_append_new(tids, json_integer(thread->tids[i]));
    json_object_set_new(object, "name", json_row__text(thread->name));
    json_object_set_new(object, "kind", json_string(report_thread_kind__name(thread->kind)));
    if (view->fold)
        json_object_set_new(object, "count", json_row__integer(thread->members));
    json_object_set_new(object, "tids", tids);
    json_object_set_new(object, "terminated", json_boolean(thread->flags & THREAD_TERMINATED));
    json_object_set_new(object, "cpu_ns", json_row__integer(thread->cpu_ns));
    json_object_set_new(object, "wall_ns", json_row__integer(thread->wall_ns));
    json_object_set_new(object, "calls", json_row__integer(thread->calls));
    if (folded_ns)
        json_object_set_new(object, "folded_most_cpu_ns", json_row__integer(folded_ns));
    return object;
}

int view_tree__json(const struct view *view)
{
    struct forest forest = plant(view);
    FILE *out = view->screen.out;
    const char *before = "\n{";

    fputs("{\"threads\":[", out);
    for (uint32_t i = 0; i < forest.count; i++) {
        const struct report_thread *thread = &view->model->threads[forest.threads[i]];
        bool grown = thread->first_node < thread->end_node;

        if (grown && !forest.kept[thread->first_node])
            continue;
        fputs(before, out);
        before = ",\n{";
        json_row__write_members(out, thread_members(view, thread));
        fputs(",\"root\":", out);
        if (grown)
            write_json_tree(&forest, forest.threads[i]);
        else
            fputs("null", out);
        fputc('}', out);
    }
    fputs("]", out);
    view_samples__end_json(view);
    release(&forest);
    return 0;
}

static void write_csv_tree(const struct forest *forest, struct csv *csv, uint32_t thread)
{
    const struct view *view = forest->view;
    const struct report_model *model = view->model;
    const struct report_thread *row = &model->threads[thread];
    uint32_t count = row->end_node - row->first_node;
    uint32_t *order = report_order__tree(model, thread, view->column, key_of(view));

    for (uint32_t i = 0; i < count; i++) {
        const struct report_node *node = &model->nodes[order[i]];
        uint64_t values[COLUMN_COUNT];

        if (!forest->kept[order[i]])
            continue;
        csv__text(csv, row->name);
        csv__integer(csv, node->depth);
        csv__integer(csv, node->level);
        csv__word(csv, report_node_kind__name(node->kind));
        view_row__csv_method(csv, model, node->method);
        csv__integer(csv, model->base[COLUMN_CALLS][order[i]]);
        gather(model, model->base, order[i], values);
        view_row__csv_values(csv, model, values);
        gather(model, model->cum, order[i], values);
        view_row__csv_values(csv, model, values);
        if (model->samples)
            csv__word(csv, report_node__mark(model, order[i]));
        view_row__csv_errors(csv, forest->errors, order[i]);
        view_row__csv_hooked(csv, model, node->method);
        if (model->header.recursion)
            csv__integer(csv, node->level_max);
        csv__end_record(csv);
    }
    free(order);
}

int view_tree__csv(const struct view *view)
{
    static const char *const heads[] = {"thread", "level",  "recursion", "kind",
                                        "class",  "method", "signature", "calls"};
    struct forest forest = plant(view);
    struct csv csv = {.out = view->screen.out};

    for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++)
        csv__word(&csv, heads[i]);
    view_row__csv_heads(&csv, view->model, "base");
    view_row__csv_heads(&csv, view->model, "cum");
    if (view->model->samples)
        csv__word(&csv, "mark");
    view_row__csv_error_heads(&csv, forest.errors);
    view_row__csv_hooked_head(&csv, view->model);
    if (view->model->header.recursion)
        csv__word(&csv, "recursion_max");
    csv__end_record(&csv);
    for (uint32_t i = 0; i < forest.count; i++)
        write_csv_tree(&forest, &csv, forest.threads[i]);
    release(&forest);
    return 0;
}
