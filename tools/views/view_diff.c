/* What the views of a diff have in common: how a change looks, and the totals of both sides. */
#include "tools/views/view_diff.h"

#include "native/metrics/kernel_metrics.h"
#include "tools/output/json_rows.h"
#include "tools/report/report_balance.h"
#include "tools/views/view_losses.h"

#include <inttypes.h>
#include <string.h>

#define FACTOR_FROM 100u /* from here on a factor says more than per cent */

const struct diff_view_kind diff_view_kinds[] = {
    {"threads", true, view_diff_threads__text, view_diff_threads__json, view_diff_threads__csv},
    {"tree", false, view_diff_tree__text, view_diff_tree__json, view_diff_tree__csv},
    {"flat", false, view_diff_flat__text, view_diff_flat__json, view_diff_flat__csv},
    {"latency", true, view_diff_latency__text, view_diff_latency__json, view_diff_latency__csv},
};
const size_t diff_view_kind_count = sizeof(diff_view_kinds) / sizeof(diff_view_kinds[0]);

uint32_t view_diff__shown(const struct diff_view *view, uint32_t count)
{
    return view->top && view->top < count ? view->top : count;
}

static struct quantity with_sign(struct diff_change change, struct quantity size)
{
    struct quantity result;
    const char *sign = change.size == 0 ? "" : change.less ? "-" : "+";

    snprintf(result.text, sizeof(result.text), "%s%.*s", sign, (int)sizeof(result.text) - 2,
             size.text);
    return result;
}

struct diff_pair view_diff__pair(const struct diff_view *view, const uint64_t values[DIFF_SIDES],
                                 const bool at_least[DIFF_SIDES])
{
    return (struct diff_pair){values, view->diff->column == COLUMN_CALLS ? at_least : NULL};
}

static struct quantity marked(const char *mark, struct quantity number)
{
    struct quantity result;

    snprintf(result.text, sizeof(result.text), "%s%.*s", mark, (int)sizeof(result.text) - 4,
             number.text);
    return result;
}

struct quantity view_diff__value(struct diff_pair pair, unsigned side, enum metric_unit unit)
{
    const char *mark = text__is_utf8_locale() ? "≥" : ">=";

    return marked(pair.at_least && pair.at_least[side] ? mark : "",
                  quantity__of(pair.values[side], unit));
}

/* More calls of B make a change larger, more calls of A make it smaller. */
static const char *mark_of(struct diff_pair pair)
{
    bool is_utf8 = text__is_utf8_locale();

    if (!pair.at_least || (!pair.at_least[DIFF_A] && !pair.at_least[DIFF_B]))
        return "";
    if (pair.at_least[DIFF_A] && pair.at_least[DIFF_B])
        return "?";
    if (pair.at_least[DIFF_B])
        return is_utf8 ? "≥" : ">=";
    return is_utf8 ? "≤" : "<=";
}

struct quantity view_diff__change(struct diff_pair pair, enum metric_unit unit)
{
    struct diff_change change = diff_change__of(pair.values);

    return marked(mark_of(pair), with_sign(change, quantity__of(change.size, unit)));
}

struct quantity view_diff__percent(struct diff_pair pair)
{
    struct diff_change change = diff_change__of(pair.values);
    struct quantity result = {""};
    uint64_t a = pair.values[DIFF_A];
    uint64_t b = pair.values[DIFF_B];

    if (a && !change.less && change.size / FACTOR_FROM >= a)
        snprintf(result.text, sizeof(result.text), "x %.3g", (double)b / (double)a);
    else if (a)
        result = with_sign(change, quantity__share(change.size, a));
    return a ? marked(mark_of(pair), result) : result;
}

int64_t view_diff__signed(const uint64_t values[DIFF_SIDES])
{
    struct diff_change change = diff_change__of(values);
    int64_t size = change.size > INT64_MAX ? INT64_MAX : (int64_t)change.size;

    return change.less ? -size : size;
}

const char *view_diff__note(bool in_a, bool in_b)
{
    return in_a == in_b ? "" : in_b ? "new" : "gone";
}

static void add_line(struct text_table *table, const char *name, const char *a, const char *b,
                     const char *change, const char *percent)
{
    size_t row = text_table__add_row(table);

    text_table__set_name(table, row, (struct text){name, strlen(name)});
    text_table__set(table, row, 1, a);
    text_table__set(table, row, 2, b);
    text_table__set(table, row, 3, change);
    text_table__set(table, row, 4, percent);
}

static void add_pair(struct text_table *table, const char *name, struct diff_pair pair,
                     enum metric_unit unit)
{
    add_line(table, name, view_diff__value(pair, DIFF_A, unit).text,
             view_diff__value(pair, DIFF_B, unit).text, view_diff__change(pair, unit).text,
             view_diff__percent(pair).text);
}

static void add_values(struct text_table *table, const char *name,
                       const uint64_t values[DIFF_SIDES], enum metric_unit unit)
{
    add_pair(table, name, (struct diff_pair){values, NULL}, unit);
}

/* A balance is out either way, so its difference is no amount that could be subtracted. */
static void add_differences(struct text_table *table,
                            const struct report_balance balances[DIFF_SIDES])
{
    char text[DIFF_SIDES][64];

    for (unsigned side = DIFF_A; side < DIFF_SIDES; side++) {
        int64_t ns = balances[side].difference_ns;
        uint64_t size = ns < 0 ? -(uint64_t)ns : (uint64_t)ns;

        snprintf(text[side], sizeof(text[side]), "%s%s (%" PRId64 " ppm)",
                 ns < 0   ? "-"
                 : ns > 0 ? "+"
                          : "",
                 quantity__ns(size).text, balances[side].difference_ppm);
        if (balances[side].kernel_ns == 0)
            snprintf(text[side], sizeof(text[side]), "not known");
    }
    add_line(table, "difference (kernel - charged)", text[DIFF_A], text[DIFF_B], "", "");
}

static void add_balances(struct text_table *table, const struct diff_view *view)
{
    static const struct {
        const char *name;
        size_t offset;
    } rows[] = {
        {"kernel CPU of the process", offsetof(struct report_balance, kernel_ns)},
        {"charged to Java threads", offsetof(struct report_balance, java_ns)},
        {"charged to VM threads", offsetof(struct report_balance, vm_ns)},
        {"charged to native threads", offsetof(struct report_balance, native_ns)},
        {"after a thread's last look", offsetof(struct report_balance, last_moments_ns)},
    };
    struct report_balance balances[DIFF_SIDES] = {report_balance__of(view->models[DIFF_A]),
                                                  report_balance__of(view->models[DIFF_B])};

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        uint64_t values[DIFF_SIDES];

        for (unsigned side = DIFF_A; side < DIFF_SIDES; side++)
            memcpy(&values[side], (const char *)&balances[side] + rows[i].offset,
                   sizeof(values[side]));
        add_values(table, rows[i].name, values, UNIT_NS);
    }
    add_differences(table, balances);
}

int view_diff_totals__text(const struct diff_view *view)
{
    static const struct table_column columns[] = {
        {"TOTALS", false, 0}, {"A", true, 0}, {"B", true, 0}, {"CHANGE", true, 0}, {"", true, 1}};
    const struct report_diff *diff = view->diff;
    struct text_table *table = text_table__new(columns, sizeof(columns) / sizeof(columns[0]));
    char name[96];
    uint64_t wall_ns[DIFF_SIDES];
    uint64_t skipped[DIFF_SIDES];

    for (unsigned side = DIFF_A; side < DIFF_SIDES; side++) {
        wall_ns[side] = report_process__wall_ns(view->models[side]);
        skipped[side] = view->models[side]->skipped;
    }
    add_values(table, "wall time of the process", wall_ns, UNIT_NS);
    snprintf(name, sizeof(name), "%s of the threads shown%s", report_column__name(diff->column),
             view->normalized ? ", before scaling" : "");
    add_pair(table, name, view_diff__pair(view, diff->total, diff->total_at_least),
             report_column__unit(diff->column));
    if (diff->column != COLUMN_CALLS)
        add_pair(table, "calls of the threads shown",
                 (struct diff_pair){diff->total_calls, diff->total_at_least}, UNIT_COUNT);
    add_balances(table, view);
    if (skipped[DIFF_A] || skipped[DIFF_B])
        add_values(table, "lost: records unreadable", skipped, UNIT_COUNT);
    int error = text_table__print(table, &view->screen);
    text_table__free(table);
    return error;
}

static json_t *side_json(const struct diff_view *view, unsigned side)
{
    const struct report_model *model = view->models[side];
    struct report_balance balance = report_balance__of(model);
    json_t *object = json_object();
    json_t *charged = json_object();
    struct text path = {view->paths[side], strlen(view->paths[side])};
    struct text_store store = {0};

    json_object_set_new(object, "path",
                        json_row__text(text__from_java(&store, path.bytes, path.length)));
    text_store__release(&store);
    json_object_set_new(object, "pid", json_integer(model->header.pid));
    json_object_set_new(object, "command", json_row__text(model->command));
    if (model->since_ns)
        json_object_set_new(object, "since_ns",
                            json_row__integer(report_model__epoch_ns(model, model->since_ns)));
    if (model->header.recursion)
        json_object_set_new(object, "recursion", json_integer(model->header.recursion));
    json_object_set_new(object, "wall_ns", json_row__integer(report_process__wall_ns(model)));
    json_object_set_new(object, "total", json_row__integer(view->diff->total[side]));
    json_object_set_new(object, "calls", json_row__integer(view->diff->total_calls[side]));
    if (view->diff->total_at_least[side])
        json_object_set_new(object, "calls_at_least", json_true());
    json_object_set_new(charged, "kernel_cpu_ns", json_row__integer(balance.kernel_ns));
    json_object_set_new(charged, "charged_cpu_ns", json_row__integer(balance.charged_ns));
    json_object_set_new(charged, "charged_java_ns", json_row__integer(balance.java_ns));
    json_object_set_new(charged, "charged_vm_ns", json_row__integer(balance.vm_ns));
    json_object_set_new(charged, "charged_native_ns", json_row__integer(balance.native_ns));
    json_object_set_new(charged, "last_moments_ns", json_row__integer(balance.last_moments_ns));
    json_object_set_new(charged, "difference_ppm", json_integer(balance.difference_ppm));
    json_object_set_new(charged, "skipped_records", json_row__integer(model->skipped));
    json_object_set_new(object, "balance", charged);
    view_losses__add_to(object, model);
    return object;
}

json_t *view_diff_totals__json(const struct diff_view *view)
{
    json_t *object = json_object();

    json_object_set_new(object, "metric", json_string(report_column__csv_name(view->diff->column)));
    json_object_set_new(object, "normalized", json_boolean(view->normalized));
    json_object_set_new(object, "a", side_json(view, DIFF_A));
    json_object_set_new(object, "b", side_json(view, DIFF_B));
    return object;
}
