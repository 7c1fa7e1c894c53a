/* The waits view: what each thread's wall time consists of. */
#include "tools/output/csv.h"
#include "tools/output/json_rows.h"
#include "tools/report/memory.h"
#include "tools/report/quantity.h"
#include "tools/report/wait_parts.h"
#include "tools/views/view_rows.h"
#include "tools/views/view_samples.h"

#include <stdlib.h>
#include <string.h>

#define BAR_COLUMNS 20u

/* The parts that have columns, in their order; the mark is theirs in the bar. */
static const struct part_column {
    struct table_column head;
    enum wait_part part;
    char mark;
    bool if_any; /* the column is left out where no row has any */
    const char *meaning;
} part_columns[] = {
    {{"CPU", true, 0}, PART_CPU, '#', false, "CPU"},
    {{"RUNNABLE", true, 3}, PART_RUNNABLE, 'r', false, "runnable"},
    {{"MONITOR", true, 2}, PART_MONITOR, 'm', false, "monitor"},
    {{"OBJECT WAIT", true, 2}, PART_OBJECT_WAIT, 'w', false, "Object.wait"},
    {{"PARK", true, 2}, PART_PARK, 'p', false, "park"},
    {{"SLEEP", true, 2}, PART_SLEEP, 's', false, "sleep"},
    {{"I/O", true, 2}, PART_IO, 'i', false, "I/O"},
    {{"SAFEPOINT", true, 2}, PART_SAFEPOINT, 'g', true, "safepoint"},
    {{"UNMOUNTED", true, 2}, PART_UNMOUNTED, 'u', true, "unmounted"},
    {{"FAULT", true, 2}, PART_FAULT, 'f', true, "page faults"},
    {{"UNKNOWN", true, 1}, PART_UNKNOWN, '.', false, "unknown"},
};
#define PART_COLUMNS (sizeof(part_columns) / sizeof(part_columns[0]))

enum {
    COLUMN_OF_KIND = 1,
    COLUMN_OF_WALL,
    COLUMNS_BEFORE_PARTS,
};

/* The rows of part_columns that a table has. */
struct shown_parts {
    size_t of[PART_COLUMNS];
    size_t count;
};

static struct shown_parts choose_parts(const struct thread_rows *rows, uint32_t count)
{
    struct shown_parts shown = {.count = 0};

    for (size_t i = 0; i < PART_COLUMNS; i++) {
        bool any = !part_columns[i].if_any;

        for (uint32_t row = 0; row < count && !any; row++)
            any = wait_parts__of(&rows->rows[row]).ns[part_columns[i].part] != 0;
        if (any)
            shown.of[shown.count++] = i;
    }
    return shown;
}

/* Threads of the JVM itself and native ones wait most of their lives, for nothing that matters:
 * unless asked for, they stand behind all others. */
static void put_java_first(const struct report_model *model, struct thread_rows *rows)
{
    struct thread_row *others = memory__zeroed(rows->count, sizeof(*others));
    uint32_t java = 0, count = 0;

    for (uint32_t i = 0; i < rows->count; i++) {
        uint32_t kind = model->threads[rows->rows[i].first].kind;

        if (kind == THREAD_VM || kind == THREAD_NATIVE)
            others[count++] = rows->rows[i];
        else
            rows->rows[java++] = rows->rows[i];
    }
    memcpy(&rows->rows[java], others, count * sizeof(*others));
    free(others);
}

static struct thread_rows *arrange(const struct view *view, uint32_t *count)
{
    struct view sorted = *view;
    struct thread_rows *rows;

    if (!sorted.sort)
        sorted.sort = "waiting";
    rows = view_threads__rows(&sorted);
    if (!view->sort)
        put_java_first(view->model, rows);
    *count = view->top && view->top < rows->count ? view->top : rows->count;
    return rows;
}

/* Each part from where the parts before it end, both rounded: so the bar is never too long. */
static void write_bar(const struct wait_parts *parts, uint64_t wall_ns, char bar[BAR_COLUMNS + 1])
{
    double before_ns = 0;
    size_t at = 0;

    for (size_t i = 0; i < PART_COLUMNS && wall_ns; i++) {
        before_ns += (double)parts->ns[part_columns[i].part];
        size_t end = (size_t)(before_ns / (double)wall_ns * BAR_COLUMNS + 0.5);

        while (at < end && at < BAR_COLUMNS)
            bar[at++] = part_columns[i].mark;
    }
    bar[at] = '\0';
}

/* "worker-7", "worker-# ×12" */
static void set_name(struct text_table *table, size_t line, const struct thread_row *row)
{
    struct text none = {"(no name)", 9};
    char *name = text__printable_middle(row->name.length ? row->name : none, 80);
    char *shown = NULL;

    if (row->count > 1 &&
        asprintf(&shown, "%s %s%u", name, text__is_utf8_locale() ? "×" : "x", row->count) < 0)
        shown = NULL;
    text_table__set(table, line, 0, shown ? shown : name);
    free(shown);
    free(name);
}

static void add_row(struct text_table *table, const struct view *view,
                    const struct shown_parts *shown, const struct thread_row *row)
{
    const struct report_thread *thread = &view->model->threads[row->first];
    struct wait_parts parts = wait_parts__of(row);
    size_t line = text_table__add_row(table);
    char bar[BAR_COLUMNS + 1];

    set_name(table, line, row);
    text_table__set(table, line, COLUMN_OF_KIND, report_thread_kind__name(thread->kind));
    text_table__set(table, line, COLUMN_OF_WALL, quantity__ns(row->value[COLUMN_WALL]).text);
    for (size_t i = 0; i < shown->count; i++) {
        enum wait_part part = part_columns[shown->of[i]].part;
        bool known = wait_part__is_known(&view->model->header, part);

        text_table__set(table, line, COLUMNS_BEFORE_PARTS + i,
                        known ? quantity__ns(parts.ns[part]).text : "-");
    }
    write_bar(&parts, row->value[COLUMN_WALL], bar);
    text_table__set(table, line, COLUMNS_BEFORE_PARTS + shown->count, bar);
    if (row->running == 0)
        text_table__set_colour(table, line, screen__dim(&view->screen));
}

static void write_legend(const struct view *view, const struct shown_parts *shown)
{
    for (size_t i = 0; i < shown->count; i++)
        fprintf(view->screen.out, "%s%c %s", i ? ", " : "parts: ", part_columns[shown->of[i]].mark,
                part_columns[shown->of[i]].meaning);
    fputc('\n', view->screen.out);
}

/* "by the kernel: CPU, runnable; by events: …" */
static void write_sources(const struct view *view, const struct shown_parts *shown)
{
    static const char *const sources[][2] = {{"kernel", "the kernel's figures: "},
                                             {"events", "measured from begin to end: "},
                                             {"inferred", "inferred: "},
                                             {"rest", "what is left: "}};
    const char *before = "";

    for (size_t source = 0; source < sizeof(sources) / sizeof(sources[0]); source++) {
        const char *between = sources[source][1];

        for (size_t i = 0; i < shown->count; i++) {
            if (strcmp(wait_part__source(part_columns[shown->of[i]].part), sources[source][0]) != 0)
                continue;
            fprintf(view->screen.out, "%s%s%s", before, between,
                    part_columns[shown->of[i]].meaning);
            before = "";
            between = ", ";
        }
        if (strcmp(between, ", ") == 0)
            before = "; ";
    }
    fputc('\n', view->screen.out);
}

static int print_table(const struct view *view, const struct thread_rows *rows, uint32_t count)
{
    struct table_column heads[COLUMNS_BEFORE_PARTS + PART_COLUMNS + 1] = {
        {"THREAD", false, 0}, {"KIND", false, 5}, {"WALL", true, 0}};
    struct shown_parts shown = choose_parts(rows, count);
    struct text_table *table;
    int error;

    for (size_t i = 0; i < shown.count; i++)
        heads[COLUMNS_BEFORE_PARTS + i] = part_columns[shown.of[i]].head;
    heads[COLUMNS_BEFORE_PARTS + shown.count] = (struct table_column){"PARTS", false, 4};
    table = text_table__new(heads, COLUMNS_BEFORE_PARTS + shown.count + 1);
    for (uint32_t i = 0; i < count; i++)
        add_row(table, view, &shown, &rows->rows[i]);
    error = text_table__print(table, &view->screen);
    text_table__free(table);
    if (!error && count < rows->count)
        fprintf(view->screen.out, "(%u more, not shown)\n", rows->count - count);
    if (!error) {
        write_legend(view, &shown);
        write_sources(view, &shown);
    }
    return error;
}

static void write_budget(FILE *out, const struct ledger_header *header)
{
    uint64_t timed = header->timed_waits, waits = header->heard_waits + header->unheard_waits;
    uint64_t told = timed + header->unheard_virtual;
    uint64_t untold = header->unheard_waits > told ? header->unheard_waits - told : 0;

    if (untold)
        fprintf(out,
                "%s of the waits are in UNKNOWN: the budget had no room for their reasons "
                "(overhead=)\n",
                quantity__share(untold, waits).text);
    if (header->unheard_virtual)
        fprintf(
            out,
            "%s of the waits are waits of virtual threads without a reason, in UNMOUNTED, or in "
            "UNKNOWN where the carrier waited, too: the budget had no room for them (overhead=)\n",
            quantity__share(header->unheard_virtual, waits).text);
    if (timed)
        fprintf(out,
                "%s of the waits have the time from begin to end, with the CPU time in between%s\n",
                quantity__share(timed, waits).text,
                header->heard_waits ? ": the budget had no room for more (overhead=)" : "");
}

/* What of the waits is in UNKNOWN, and why. */
static void write_unheard(const struct view *view)
{
    const struct ledger_header *header = &view->model->header;

    if (!wait_part__is_known(header, PART_PARK))
        fputs("monitors, Object.wait, park, sleep and I/O are in UNKNOWN: their reasons need "
              "waits=on\n",
              view->screen.out);
    else
        write_budget(view->screen.out, header);
}

int view_waits__text(const struct view *view)
{
    uint32_t count;
    struct thread_rows *rows = arrange(view, &count);
    int error = 0;

    fprintf(view->screen.out, "%sWhat wall time consists of%s\n", screen__bold(&view->screen),
            screen__plain(&view->screen));
    if (view->model->header.overhead_ppm)
        view_head__text(view);
    fputc('\n', view->screen.out);
    if (count)
        error = print_table(view, rows, count);
    else
        view__no_threads(&view->screen);
    if (!error)
        write_unheard(view);
    view_samples__text(view);
    thread_rows__free(rows);
    return error;
}

static json_t *row_object(const struct view *view, const struct thread_row *row)
{
    const struct report_thread *thread = &view->model->threads[row->first];
    struct wait_parts parts = wait_parts__of(row);
    json_t *object = json_object(), *waits = json_object();

    for (enum wait_part part = 0; part < WAIT_PARTS; part++)
        json_object_set_new(waits, wait_part__key(part), json_row__integer(parts.ns[part]));
    json_object_set_new(object, "name", json_row__text(row->name));
    json_object_set_new(object, "kind", json_string(report_thread_kind__name(thread->kind)));
    json_object_set_new(object, "terminated", json_boolean(row->running == 0));
    json_object_set_new(object, "count", json_integer(row->count));
    json_object_set_new(object, "wall_ns", json_row__integer(row->value[COLUMN_WALL]));
    json_object_set_new(object, "waits", waits);
    return object;
}

int view_waits__json(const struct view *view)
{
    uint32_t count;
    struct thread_rows *rows = arrange(view, &count);
    FILE *out = view->screen.out;

    fputs("{\"threads\":[", out);
    for (uint32_t i = 0; i < count; i++) {
        fputs(i ? ",\n" : "\n", out);
        json_row__write(out, row_object(view, &rows->rows[i]));
    }
    fputs("],\n\"sources\":{", out);
    for (enum wait_part part = 0; part < WAIT_PARTS; part++)
        fprintf(out, "%s\"%s\":\"%s\"", part ? "," : "", wait_part__key(part),
                wait_part__source(part));
    fputs("}", out);
    view_samples__end_json(view);
    thread_rows__free(rows);
    return 0;
}

int view_waits__csv(const struct view *view)
{
    static const char *const heads[] = {"thread", "kind", "count", "running", "wall_ns"};
    struct csv csv = {.out = view->screen.out};
    uint32_t count;
    struct thread_rows *rows = arrange(view, &count);

    for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++)
        csv__word(&csv, heads[i]);
    for (enum wait_part part = 0; part < WAIT_PARTS; part++)
        csv__word(&csv, wait_part__key(part));
    csv__end_record(&csv);
    for (uint32_t i = 0; i < count; i++) {
        const struct thread_row *row = &rows->rows[i];
        struct wait_parts parts = wait_parts__of(row);

        csv__text(&csv, row->name);
        csv__word(&csv, report_thread_kind__name(view->model->threads[row->first].kind));
        csv__integer(&csv, row->count);
        csv__integer(&csv, row->running);
        csv__integer(&csv, row->value[COLUMN_WALL]);
        for (enum wait_part part = 0; part < WAIT_PARTS; part++)
            csv__integer(&csv, parts.ns[part]);
        csv__end_record(&csv);
    }
    thread_rows__free(rows);
    return 0;
}
