/* The views of a diff for people. */
#include "native/metrics/kernel_metrics.h"
#include "tools/report/memory.h"
#include "tools/report/quantity.h"
#include "tools/views/view.h"
#include "tools/views/view_diff.h"
#include "tools/views/view_rows.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define LEVEL_COLUMNS  5u
#define INDENT_COLUMNS 2u
#define NAME_ROOM_MIN  24u

#define DIFF_COLUMNS_WITH_ERRORS 140u

void view_diff__interval(const struct diff_view *view, unsigned side, const char *before)
{
    const struct report_model *model = view->models[side];

    if (!model->since_ns)
        return;
    uint64_t since_ns = report_model__epoch_ns(model, model->since_ns);
    uint64_t until_ns = report_model__epoch_ns(model, report_model__asof_ns(model));
    fprintf(view->screen.out, "%sfrom the snapshot of %s to that of %s\n", before,
            quantity__moment(since_ns).text, quantity__moment(until_ns).text);
}

/* Two ledgers with other recursion= have other contexts for the same calls. */
static void write_recursion(const struct diff_view *view)
{
    uint32_t levels[DIFF_SIDES] = {view->models[DIFF_A]->header.recursion,
                                   view->models[DIFF_B]->header.recursion};
    char text[DIFF_SIDES][16];

    if (levels[DIFF_A] == levels[DIFF_B])
        return;
    for (unsigned side = DIFF_A; side < DIFF_SIDES; side++) {
        snprintf(text[side], sizeof(text[side]), "%" PRIu32, levels[side]);
        if (!levels[side])
            snprintf(text[side], sizeof(text[side]), "all");
    }
    fprintf(view->screen.out,
            "   recursion=%s in A, %s in B: contexts of recursive calls are not the same; methods "
            "can be compared\n",
            text[DIFF_A], text[DIFF_B]);
}

static void write_paths(const struct diff_view *view)
{
    static const char letters[] = {'A', 'B'};

    for (unsigned side = DIFF_A; side < DIFF_SIDES; side++) {
        struct text_store store = {0};
        struct text path = text__from_java(&store, view->paths[side], strlen(view->paths[side]));
        char *name = text__printable_middle(path, NAME_COLUMNS_MAX);
        char *command = text__printable_middle(view->models[side]->command, NAME_COLUMNS_MAX);

        fprintf(view->screen.out, "%s%c%s  %s", screen__bold(&view->screen), letters[side],
                screen__plain(&view->screen), name);
        fprintf(view->screen.out, command[0] ? "  (%s)\n" : "%s\n", command);
        view_diff__interval(view, side, "   ");
        free(command);
        free(name);
        text_store__release(&store);
    }
    if (view->normalized)
        fputs("   A's values are scaled: its total is B's, and so are its calls\n",
              view->screen.out);
    write_recursion(view);
    fputc('\n', view->screen.out);
}

static void write_end(const struct diff_view *view, uint32_t left_out, const char *what)
{
    if (left_out)
        fprintf(view->screen.out, "(%" PRIu32 " %s, not shown)\n", left_out, what);
    fputc('\n', view->screen.out);
}

/* "2", or "2 → 3". */
static struct quantity thread_counts(const struct diff_thread *row)
{
    struct quantity result;

    if (row->present[DIFF_A] == row->present[DIFF_B])
        snprintf(result.text, sizeof(result.text), "%" PRIu32, row->present[DIFF_A]);
    else
        snprintf(result.text, sizeof(result.text), "%" PRIu32 " %s %" PRIu32, row->present[DIFF_A],
                 text__is_utf8_locale() ? "→" : "->", row->present[DIFF_B]);
    return result;
}

static struct text thread_name(const struct diff_thread *row)
{
    return row->name.length ? row->name : (struct text){"(no name)", 9};
}

static void add_thread(struct text_table *table, const struct diff_view *view,
                       const struct diff_thread *row)
{
    enum metric_unit unit = report_column__unit(view->diff->column);
    struct diff_pair value = view_diff__pair(view, row->value, row->at_least);
    struct diff_pair calls = {row->calls, row->at_least};
    const struct quantity cells[] = {
        thread_counts(row),
        view_diff__value(value, DIFF_A, unit),
        view_diff__value(value, DIFF_B, unit),
        view_diff__change(value, unit),
        view_diff__percent(value),
        view_diff__value(calls, DIFF_A, UNIT_COUNT),
        view_diff__value(calls, DIFF_B, UNIT_COUNT),
        view_diff__change(calls, UNIT_COUNT),
    };
    size_t at = text_table__add_row(table);

    text_table__set_name(table, at, thread_name(row));
    text_table__set(table, at, 1, report_thread_kind__name(row->kind));
    text_table__set(table, at, 2, view_diff__note(row->present[DIFF_A], row->present[DIFF_B]));
    for (size_t i = 0; i < sizeof(cells) / sizeof(cells[0]); i++)
        text_table__set(table, at, 3 + i, cells[i].text);
}

int view_diff_threads__text(const struct diff_view *view)
{
    static const struct table_column columns[] = {
        {"THREAD", false, 0}, {"KIND", false, 5},   {"", false, 2},       {"THREADS", true, 6},
        {"A", true, 1},       {"B", true, 1},       {"CHANGE", true, 0},  {"", true, 1},
        {"CALLS A", true, 4}, {"CALLS B", true, 4}, {"CALLS +-", true, 3}};
    const struct report_diff *diff = view->diff;
    uint32_t shown = view_diff__shown(view, diff->thread_count);
    struct text_table *table = text_table__new(columns, sizeof(columns) / sizeof(columns[0]));

    write_paths(view);
    fprintf(view->screen.out, "%sThreads%s, A, B and B - A in %s\n", screen__bold(&view->screen),
            screen__plain(&view->screen), report_column__name(diff->column));
    for (uint32_t i = 0; i < shown; i++)
        add_thread(table, view, &diff->threads[i]);
    int error = 0;
    if (shown)
        error = text_table__print(table, &view->screen);
    else
        view__no_threads(&view->screen);
    text_table__free(table);
    write_end(view, diff->thread_count - shown, "with smaller changes");
    return error ? error : view_diff_totals__text(view);
}

/* How far changes may be off stands behind them, where the screen is not narrow. */
static bool has_errors(const struct diff_view *view)
{
    return view->diff->has_errors &&
           (!view->screen.columns || view->screen.columns >= DIFF_COLUMNS_WITH_ERRORS);
}

static size_t number_columns(const struct diff_view *view)
{
    return DIFF_NUMBER_COLUMNS + (has_errors(view) ? 2 * DIFF_VALUE_COLUMNS : 0);
}

enum diff_cell {
    CELL_CALLS,
    CELL_A,
    CELL_B,
    CELL_MAIN,
    CELL_MAIN_ERROR,
    CELL_PERCENT,
    CELL_OTHER,
    CELL_OTHER_ERROR,
    CELLS
};

static void write_cells(const struct diff_view *view, const struct quantity cells[CELLS])
{
    screen__right(&view->screen, cells[CELL_CALLS].text, DIFF_CALLS_COLUMNS);
    for (unsigned i = CELL_A; i < CELLS; i++)
        if (has_errors(view) || (i != CELL_MAIN_ERROR && i != CELL_OTHER_ERROR))
            screen__right(&view->screen, cells[i].text, DIFF_VALUE_COLUMNS);
    fputs("  ", view->screen.out);
}

static struct quantity error_text(const struct diff_view *view, const double squares[DIFF_SIDES])
{
    struct quantity result = {""};
    uint64_t error = diff_change__error(squares);

    if (error)
        snprintf(result.text, sizeof(result.text), "%s%.24s", view_row__plus_minus(),
                 quantity__of(error, report_column__unit(view->diff->column)).text);
    return result;
}

struct diff_amount {
    struct diff_pair pair;
    const double *squares; /* of their errors, by side */
};

/* Calls, then A, B, B - A and per cent of `main`, then B - A of `other`. */
static void write_numbers(const struct diff_view *view, struct diff_pair calls,
                          struct diff_amount main, struct diff_amount other)
{
    enum metric_unit unit = report_column__unit(view->diff->column);
    const struct quantity cells[CELLS] = {
        [CELL_CALLS] = view_diff__change(calls, UNIT_COUNT),
        [CELL_A] = view_diff__value(main.pair, DIFF_A, unit),
        [CELL_B] = view_diff__value(main.pair, DIFF_B, unit),
        [CELL_MAIN] = view_diff__change(main.pair, unit),
        [CELL_MAIN_ERROR] = error_text(view, main.squares),
        [CELL_PERCENT] = view_diff__percent(main.pair),
        [CELL_OTHER] = view_diff__change(other.pair, unit),
        [CELL_OTHER_ERROR] = error_text(view, other.squares),
    };

    write_cells(view, cells);
}

static void write_heads(const struct diff_view *view, const char *main, const char *other)
{
    struct quantity cells[CELLS] = {{"Calls +-"}};

    snprintf(cells[CELL_A].text, QUANTITY_BYTES, "%s A", main);
    snprintf(cells[CELL_B].text, QUANTITY_BYTES, "%s B", main);
    snprintf(cells[CELL_MAIN].text, QUANTITY_BYTES, "%s +-", main);
    snprintf(cells[CELL_MAIN_ERROR].text, QUANTITY_BYTES, "%s", view_row__plus_minus());
    snprintf(cells[CELL_PERCENT].text, QUANTITY_BYTES, "%%");
    snprintf(cells[CELL_OTHER].text, QUANTITY_BYTES, "%s +-", other);
    snprintf(cells[CELL_OTHER_ERROR].text, QUANTITY_BYTES, "%s", view_row__plus_minus());
    write_cells(view, cells);
    fprintf(view->screen.out, "Name%s\n", screen__plain(&view->screen));
}

/* The method's name and, in brackets, what there is to note; cut to `room` columns, 0: any. */
static void write_name(const struct diff_view *view, uint32_t method, const char *kind,
                       const char *note, size_t room)
{
    struct text_store store = {0};
    struct text name = report_method__full_name(&store, &view->diff->methods[method]);
    size_t taken = (kind[0] ? strlen(kind) + 3 : 0) + (note[0] ? strlen(note) + 3 : 0);
    char *printable = text__printable_middle(name, room > taken ? room - taken
                                                   : room       ? 1
                                                                : NAME_COLUMNS_MAX);

    fputs(printable, view->screen.out);
    if (kind[0])
        fprintf(view->screen.out, " [%s]", kind);
    if (note[0])
        fprintf(view->screen.out, " [%s]", note);
    fputc('\n', view->screen.out);
    free(printable);
    text_store__release(&store);
}

/* As in the tree of a report, deep frames are not indented out of sight. */
static size_t indent_of(const struct diff_view *view, uint32_t depth)
{
    size_t taken = LEVEL_COLUMNS + number_columns(view);
    size_t columns = view->screen.columns ? view->screen.columns : taken + NAME_COLUMNS_MAX;
    size_t room = columns > taken + NAME_ROOM_MIN ? columns - taken - NAME_ROOM_MIN : 0;
    size_t indent = (size_t)depth * INDENT_COLUMNS;

    return indent < room ? indent : room;
}

static void write_node(const struct diff_view *view, const struct diff_node *node)
{
    size_t indent = indent_of(view, node->depth);
    size_t taken = LEVEL_COLUMNS + number_columns(view) + indent;
    bool plain = node->kind == NODE_ROOT || node->kind == NODE_EXACT || node->kind == NODE_GAP ||
                 node->kind == NODE_FOLDED;
    char level[24];

    snprintf(level, sizeof(level), "%" PRIu32, node->depth);
    screen__right(&view->screen, level, LEVEL_COLUMNS);
    struct diff_amount cum = {view_diff__pair(view, node->cum, node->cum_at_least),
                              node->cum_squares};
    struct diff_amount base = {view_diff__pair(view, node->base, node->at_least),
                               node->base_squares};
    write_numbers(view, (struct diff_pair){node->calls, node->at_least}, cum, base);
    screen__left(&view->screen, "", indent);
    write_name(view, node->method, plain ? "" : report_node_kind__name(node->kind),
               view_diff__note(node->present[DIFF_A], node->present[DIFF_B]),
               view->screen.columns > taken ? view->screen.columns - taken : 0);
}

static void write_tree(const struct diff_view *view, const struct diff_thread *row,
                       const bool *shown)
{
    const struct report_diff *diff = view->diff;
    const char *note = view_diff__note(row->present[DIFF_A], row->present[DIFF_B]);
    uint32_t hidden = 0;

    if (row->first_node == row->end_node || !shown[row->first_node])
        return;
    char *name = text__printable_middle(thread_name(row), 80);
    fprintf(view->screen.out, "\n%s%s%s  (%s, threads: %s)%s%s%s\n", screen__bold(&view->screen),
            name, screen__plain(&view->screen), report_thread_kind__name(row->kind),
            thread_counts(row).text, note[0] ? " [" : "", note, note[0] ? "]" : "");
    free(name);
    for (uint32_t i = row->first_node; i < row->end_node; i++)
        if (shown[i])
            write_node(view, &diff->nodes[i]);
        else
            hidden++;
    if (hidden)
        fprintf(view->screen.out,
                "(%" PRIu32 " contexts of this thread changed less or not, not "
                "shown)\n",
                hidden);
}

int view_diff_tree__text(const struct diff_view *view)
{
    const struct report_diff *diff = view->diff;
    bool *shown = report_diff__changed(diff, view->top);
    uint32_t hidden = 0;

    write_paths(view);
    fprintf(view->screen.out, "%sCall trees%s, Base and Cum in %s, +- is B - A\n",
            screen__bold(&view->screen), screen__plain(&view->screen),
            report_column__name(diff->column));
    fputs(screen__bold(&view->screen), view->screen.out);
    screen__right(&view->screen, "Level", LEVEL_COLUMNS);
    write_heads(view, "Cum", "Base");
    for (uint32_t i = 0; i < diff->thread_count; i++) {
        const struct diff_thread *row = &diff->threads[i];

        write_tree(view, row, shown);
        hidden += row->first_node == row->end_node || !shown[row->first_node];
    }
    free(shown);
    fputc('\n', view->screen.out);
    write_end(view, hidden, "threads changed less or not");
    return view_diff_totals__text(view);
}

static bool is_changed(const struct diff_flat_row *row)
{
    return row->base[DIFF_A] != row->base[DIFF_B] || row->cum[DIFF_A] != row->cum[DIFF_B] ||
           row->calls[DIFF_A] != row->calls[DIFF_B] || row->present[DIFF_A] != row->present[DIFF_B];
}

int view_diff_flat__text(const struct diff_view *view)
{
    uint32_t count;
    uint32_t shown = 0;
    struct diff_flat_row *rows = report_diff__flat(view->diff, &count);
    size_t taken = number_columns(view);
    size_t room = view->screen.columns > taken + 20 ? view->screen.columns - taken : 0;

    write_paths(view);
    fprintf(view->screen.out, "%sMethods%s, Base and Cum in %s, +- is B - A\n",
            screen__bold(&view->screen), screen__plain(&view->screen),
            report_column__name(view->diff->column));
    fputs(screen__bold(&view->screen), view->screen.out);
    write_heads(view, "Base", "Cum");
    for (uint32_t i = 0; i < count && (!view->top || shown < view->top); i++) {
        const struct diff_flat_row *row = &rows[i];

        if (!is_changed(row))
            continue;
        struct diff_amount base = {view_diff__pair(view, row->base, row->at_least),
                                   row->base_squares};
        struct diff_amount cum = {view_diff__pair(view, row->cum, row->cum_at_least),
                                  row->cum_squares};
        write_numbers(view, (struct diff_pair){row->calls, row->at_least}, base, cum);
        write_name(view, row->method, "",
                   view_diff__note(row->present[DIFF_A], row->present[DIFF_B]), room);
        shown++;
    }
    free(rows);
    write_end(view, count - shown, "changed less or not");
    return view_diff_totals__text(view);
}
