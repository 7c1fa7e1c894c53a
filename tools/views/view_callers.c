/* The callers view: a stanza a method, its parents above, its children below. */
#include "tools/output/json_rows.h"
#include "tools/report/memory.h"
#include "tools/report/quantity.h"
#include "tools/report/report_callers.h"
#include "tools/report/report_flat.h"
#include "tools/views/view_rows.h"
#include "tools/views/view_samples.h"

#include <stdlib.h>

struct book {
    const struct view *view;
    struct report_callers *callers;
    struct report_flat *flat;
    struct report_errors *errors;  /* of methods */
    struct method_values *stanzas; /* in the order they are shown in */
    uint32_t count;                /* of them, shown */
    uint32_t total;
    const struct flat_row **row_of; /* by method */
    /* indices of the chosen column, of calls and of samples in edges' values */
    size_t column;
    size_t calls;
    size_t samples;
    uint32_t written; /* rows of the current list of parents or children */
};

static struct book open_book(const struct view *view)
{
    const struct report_model *model = view->model;
    struct book book = {.view = view};
    struct report_errors *errors = report_errors__of_nodes(model, view->column);

    book.callers = report_callers__new(model, view->selected, errors);
    report_errors__free(errors);
    book.flat = report_flat__new(model, view->selected);
    book.errors = report_errors__of_methods(model, view->selected, view->column);
    book.column = report_callers__index(book.callers, view->column);
    book.calls = report_callers__index(book.callers, COLUMN_CALLS);
    book.samples = report_callers__index(book.callers,
                                         report_columns__samples_of(&model->header, view->column));
    book.stanzas = memory__zeroed(book.flat->row_count, sizeof(*book.stanzas));
    book.row_of = memory__zeroed(model->method_count, sizeof(struct flat_row *));
    for (uint32_t i = 0; i < book.flat->row_count; i++) {
        const struct flat_row *row = &book.flat->rows[i];

        book.row_of[row->method] = row;
        if (row->method != METHOD_OF_THREAD)
            book.stanzas[book.total++] =
                (struct method_values){row->method, row->base[COLUMN_CALLS],
                                       row->base[view->column], row->cum[view->column]};
    }
    view_rows__sort(book.stanzas, book.total, model, view->sort ? view->sort : "cum");
    book.count = view->top && view->top < book.total ? view->top : book.total;
    return book;
}

static void close_book(struct book *book)
{
    report_callers__free(book->callers);
    report_flat__free(book->flat);
    report_errors__free(book->errors);
    free(book->stanzas);
    free((void *)book->row_of);
}

enum role { PARENT, SELF, CHILD };

/* A row of the stanza of `self`. Values are those of edges, by index. */
struct stanza_row {
    enum role role;
    uint32_t self;
    uint32_t method;
    const uint64_t *base;
    const uint64_t *cum;
    uint64_t base_error;
    uint64_t cum_error;
};

/* Writes one row, in whichever form. */
typedef void row_writer(const struct book *book, const struct stanza_row *row);

/* Rows of a stanza go by weight: the heaviest caller and the heaviest child nearest to the top. */
struct weighed {
    const struct caller_edge *edge;
    uint64_t weight;
};

static int by_weight(const void *a, const void *b)
{
    const struct weighed *x = a;
    const struct weighed *y = b;

    if (x->weight != y->weight)
        return x->weight > y->weight ? -1 : 1;
    return x->edge < y->edge ? -1 : x->edge > y->edge;
}

static void write_edges(struct book *book, enum role role, uint32_t method, row_writer *write)
{
    const struct report_callers *callers = book->callers;
    const uint32_t *first = role == PARENT ? callers->first_parent : callers->first_child;
    const struct caller_edge *edges = role == PARENT ? callers->by_callee : callers->by_caller;
    uint32_t count = first[method + 1] - first[method];
    struct weighed *weighed = memory__zeroed(count, sizeof(*weighed));

    for (uint32_t i = 0; i < count; i++) {
        const struct caller_edge *edge = &edges[first[method] + i];
        const uint64_t *cum = role == PARENT ? edge->parent_cum : edge->child_cum;

        weighed[i] = (struct weighed){edge, cum[book->column]};
    }
    qsort(weighed, count, sizeof(*weighed), by_weight);
    for (uint32_t i = 0; i < count; i++) {
        const struct caller_edge *edge = weighed[i].edge;
        bool up = role == PARENT;

        book->written = i;
        write(book, &(struct stanza_row){.role = role,
                                         .self = method,
                                         .method = up ? edge->caller : edge->callee,
                                         .base = edge->base,
                                         .cum = up ? edge->parent_cum : edge->child_cum,
                                         .base_error = edge->base_error,
                                         .cum_error = up ? edge->parent_error : edge->child_error});
    }
    free(weighed);
}

/* A flat row's values as edges have them: of the loaded columns only. */
static void compact(const struct report_callers *callers, const uint64_t *values, uint64_t *out)
{
    for (size_t i = 0; i < callers->column_count; i++)
        out[i] = values[callers->columns[i]];
}

static void write_self(struct book *book, uint32_t method, row_writer *write)
{
    uint64_t base[COLUMN_COUNT];
    uint64_t cum[COLUMN_COUNT];

    book->written = 0;
    compact(book->callers, book->row_of[method]->base, base);
    compact(book->callers, book->row_of[method]->cum, cum);
    write(book, &(struct stanza_row){.role = SELF,
                                     .self = method,
                                     .method = method,
                                     .base = base,
                                     .cum = cum,
                                     .base_error = book->errors ? book->errors->base[method] : 0,
                                     .cum_error = book->errors ? book->errors->cum[method] : 0});
}

static const char *mark_of(const struct book *book, uint32_t method)
{
    return flat_row__mark(book->row_of[method]);
}

/* Whose calls a row counts: parents' are those of the stanza's own method. */
static uint32_t called(const struct stanza_row *row)
{
    return row->role == PARENT ? row->self : row->method;
}

static void write_text_row(const struct book *book, const struct stanza_row *row)
{
    const struct view *view = book->view;
    uint64_t calls = row->base[book->calls];
    size_t taken = view_row__number_columns(view) + 4;
    size_t room = view->screen.columns > taken + 20 ? view->screen.columns - taken : 0;
    char *name = view_row__name_and_hook(view, row->method, room);

    fputs(row->role == SELF ? screen__bold(&view->screen) : "", view->screen.out);
    view_row__numbers(
        view, SHARE_OF_CUM,
        &(struct row_numbers){.calls = calls,
                              .at_least = calls && report_hooking__of(view->model, called(row)),
                              .base = row->base[book->column],
                              .cum = row->cum[book->column],
                              .base_error = row->base_error,
                              .cum_error = row->cum_error,
                              .samples = row->base[book->samples],
                              .mark = mark_of(book, row->method)});
    fprintf(view->screen.out, "%s%s%s\n", row->role == SELF ? "" : "    ", name,
            row->role == SELF ? screen__plain(&view->screen) : "");
    free(name);
}

int view_callers__text(const struct view *view)
{
    struct book book = open_book(view);

    view_row__title(view, "Callers and callees", "Base and Cum (of which Share)");
    fputs(screen__bold(&view->screen), view->screen.out);
    view_row__number_heads(view, SHARE_OF_CUM);
    fprintf(view->screen.out, "Name%s\n", screen__plain(&view->screen));
    for (uint32_t i = 0; i < book.count; i++) {
        uint32_t method = book.stanzas[i].method;

        fputc('\n', view->screen.out);
        write_edges(&book, PARENT, method, write_text_row);
        write_self(&book, method, write_text_row);
        write_edges(&book, CHILD, method, write_text_row);
    }
    if (book.count < book.total)
        fprintf(view->screen.out, "\n(%u more, not shown)\n", book.total - book.count);
    view_row__zero_note(view);
    view_samples__text(view);
    close_book(&book);
    return 0;
}

static json_t *json_values(const struct book *book, const uint64_t *values)
{
    json_t *object = json_object();

    for (size_t i = 0; i < book->callers->column_count; i++) {
        enum report_column column = book->callers->columns[i];

        if (column != COLUMN_CALLS)
            json_object_set_new(object, report_column__key(column), json_row__integer(values[i]));
    }
    return object;
}

static void write_json_row(const struct book *book, const struct stanza_row *row)
{
    json_t *object = view_row__method(book->view->model, row->method);
    uint64_t values[COLUMN_COUNT] = {0};

    for (size_t i = 0; i < book->callers->column_count; i++)
        values[book->callers->columns[i]] = row->base[i];
    if (book->written > 0)
        fputc(',', book->view->screen.out);
    json_object_set_new(object, "calls", json_row__integer(row->base[book->calls]));
    view_row__add_hooked(object, book->view->model, called(row));
    view_row__add_samples(object, book->view, values, mark_of(book, row->method));
    json_object_set_new(object, "base", json_values(book, row->base));
    json_object_set_new(object, "cum", json_values(book, row->cum));
    if (book->errors) {
        json_object_set_new(object, "error_ns", json_row__integer(row->base_error));
        json_object_set_new(object, "cum_error_ns", json_row__integer(row->cum_error));
    }
    json_row__write(book->view->screen.out, object);
}

int view_callers__json(const struct view *view)
{
    struct book book = open_book(view);
    FILE *out = view->screen.out;

    fputs("{\"methods\":[", out);
    for (uint32_t i = 0; i < book.count; i++) {
        uint32_t method = book.stanzas[i].method;

        fputs(i ? ",\n{\"self\":" : "\n{\"self\":", out);
        write_self(&book, method, write_json_row);
        fputs(",\"parents\":[", out);
        write_edges(&book, PARENT, method, write_json_row);
        fputs("],\"children\":[", out);
        write_edges(&book, CHILD, method, write_json_row);
        fputs("]}", out);
    }
    fputs("]", out);
    view_samples__end_json(view);
    close_book(&book);
    return 0;
}

static void csv_values(struct csv *csv, const struct book *book, const uint64_t *values)
{
    for (size_t i = 0; i < book->callers->column_count; i++)
        if (book->callers->columns[i] != COLUMN_CALLS)
            csv__integer(csv, values[i]);
}

static void write_csv_row(const struct book *book, const struct stanza_row *row)
{
    static const char *const roles[] = {[PARENT] = "parent", [SELF] = "self", [CHILD] = "child"};
    struct csv csv = {.out = book->view->screen.out};

    view_row__csv_method(&csv, book->view->model, row->self);
    csv__word(&csv, roles[row->role]);
    view_row__csv_method(&csv, book->view->model, row->method);
    csv__integer(&csv, row->base[book->calls]);
    csv_values(&csv, book, row->base);
    csv_values(&csv, book, row->cum);
    if (book->errors) {
        csv__integer(&csv, row->base_error);
        csv__integer(&csv, row->cum_error);
    }
    view_row__csv_hooked(&csv, book->view->model, called(row));
    csv__end_record(&csv);
}

int view_callers__csv(const struct view *view)
{
    static const char *const heads[] = {"self_class", "self_method", "self_signature", "role",
                                        "class",      "method",      "signature",      "calls"};
    struct book book = open_book(view);
    struct csv csv = {.out = view->screen.out};

    for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++)
        csv__word(&csv, heads[i]);
    view_row__csv_heads(&csv, view->model, "base");
    view_row__csv_heads(&csv, view->model, "cum");
    view_row__csv_error_heads(&csv, book.errors);
    view_row__csv_hooked_head(&csv, view->model);
    csv__end_record(&csv);
    for (uint32_t i = 0; i < book.count; i++) {
        uint32_t method = book.stanzas[i].method;

        write_edges(&book, PARENT, method, write_csv_row);
        write_self(&book, method, write_csv_row);
        write_edges(&book, CHILD, method, write_csv_row);
    }
    close_book(&book);
    return 0;
}
