#include "tools/top/top_lines.h"

#include "tools/output/text_table.h"
#include "tools/report/interval_order.h"
#include "tools/report/memory.h"
#include "tools/report/quantity.h"
#include "tools/report/report_balance.h"
#include "tools/report/wait_parts.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_COLUMNS_LEAST 18u
#define CELL_BYTES         128
#define KERNEL(id)         ((enum report_column)((unsigned)COLUMN_KERNEL + METRIC_##id))
#define LINE_BYTES         2048
#define TEXT_COLUMNS_MAX   200u

#define SHARE_COLUMNS 8u
#define TIME_COLUMNS  9u
#define WAITS_COLUMNS 30u
#define CALLS_COLUMNS 9u

struct cell {
    const struct interval *interval;
    const struct interval_row *row;
    char text[CELL_BYTES];
};

/* A column behind the name. It stands only where the ledger has what it needs. */
struct top_column {
    const char *title;
    unsigned width;
    unsigned rank;  /* 0: never left out; the highest goes first */
    uint64_t needs; /* COLUMN_BITs */
    bool of_virtual;
    bool is_text; /* begins at the left */
    void (*write)(struct cell *cell);
};

static const struct report_thread *thread_of(const struct cell *cell)
{
    return interval__thread(cell->interval, cell->row);
}

static void write_kind(struct cell *cell)
{
    snprintf(cell->text, CELL_BYTES, "%s", report_thread_kind__name(thread_of(cell)->kind));
}

static void write_share(struct cell *cell)
{
    uint64_t permille = interval_row__permille(cell->interval, cell->row);

    snprintf(cell->text, CELL_BYTES, "%" PRIu64 ".%" PRIu64 " %%", permille / 10, permille % 10);
}

static void write_ns(struct cell *cell, uint64_t ns)
{
    snprintf(cell->text, CELL_BYTES, "%s", quantity__ns(ns).text);
}

static void write_rate(struct cell *cell, uint64_t count)
{
    uint64_t rate = interval__per_second(cell->interval, count);

    snprintf(cell->text, CELL_BYTES, "%s", quantity__count(rate).text);
}

static void write_cpu(struct cell *cell)
{
    write_ns(cell, cell->row->value[COLUMN_CPU]);
}

static void write_waiting(struct cell *cell)
{
    write_ns(cell, cell->row->waiting_ns);
}

static void write_calls(struct cell *cell)
{
    write_rate(cell, cell->row->value[COLUMN_CALLS]);
}

static void write_delay(struct cell *cell)
{
    write_ns(cell, cell->row->value[KERNEL(RUN_QUEUE_DELAY)]);
}

static void write_switches(struct cell *cell)
{
    write_rate(cell, interval_row__switches(cell->row));
}

static void write_faults(struct cell *cell)
{
    write_rate(cell, interval_row__faults(cell->row));
}

static void write_mounts(struct cell *cell)
{
    if (thread_of(cell)->kind == THREAD_VIRTUAL)
        write_rate(cell, cell->row->mounts);
}

#define NEEDS(id) COLUMN_BIT(KERNEL(id))

/* "app.Queue" of "com.example.app.Queue" is Queue. */
static struct text short_class(struct text name)
{
    const char *dot = name.length ? memrchr(name.bytes, '.', name.length) : NULL;
    size_t before = dot ? (size_t)(dot + 1 - name.bytes) : 0;

    return (struct text){name.bytes + before, name.length - before};
}

/* For what the thread waits at this moment, and for whom: "monitor Queue of main". */
static void write_waits(struct cell *cell)
{
    const struct report_thread *thread = thread_of(cell);
    const struct report_block *block =
        report_blocks__find(cell->interval->now, cell->row->ended ? 0 : thread->block);
    const char *reason = wait_part__word(cell->row->ended ? 0 : thread->wait_reason);
    char *waits = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&waits, &length);

    if (!out)
        abort();
    fputs(reason ? reason : "", out);
    if (reason && block) {
        struct text lock = short_class(block->class_name);

        fprintf(out, " %.*s", (int)lock.length, lock.bytes);
        if (block->holder_known)
            fprintf(out, " of %.*s", (int)block->holder.length, block->holder.bytes);
    }
    fclose(out);
    char *shown = text__printable_middle((struct text){waits, length}, WAITS_COLUMNS);
    snprintf(cell->text, CELL_BYTES, "%s", shown);
    free(shown);
    free(waits);
}

static const struct top_column top_columns[] = {
    {"KIND", 8, 7, 0, false, false, write_kind},
    {"CPU", 7, 0, 0, false, false, write_share},
    {"TIME", 7, 1, 0, false, false, write_cpu},
    {"WAITING", 7, 3, 0, false, false, write_waiting},
    {"CALLS/S", 7, 2, 0, false, false, write_calls},
    {"MOUNTS/S", 8, 4, 0, true, false, write_mounts},
    {"SWITCH/S", 8, 5, NEEDS(VOLUNTARY_SWITCHES), false, false, write_switches},
    {"FAULTS/S", 8, 6, NEEDS(MINOR_FAULTS), false, false, write_faults},
    {"DELAY", 7, 4, NEEDS(RUN_QUEUE_DELAY), false, false, write_delay},
    {"WAITS FOR", WAITS_COLUMNS, 8, NEEDS(PARK), false, true, write_waits},
};
#define TOP_COLUMN_COUNT (sizeof(top_columns) / sizeof(top_columns[0]))
_Static_assert(TOP_COLUMN_COUNT <= TOP_COLUMNS_MAX, "a layout has room for each");

/* The thread's name, and what it is if it is not one thread that runs. To be freed. */
static char *row_name(const struct top_view *view, const struct interval_row *row, size_t columns)
{
    const struct report_thread *thread = interval__thread(view->interval, row);
    char what[48] = "";

    if (thread->flags & THREAD_GROUP)
        snprintf(what, sizeof(what), " x%" PRIu64, thread->members);
    else if (row->ended)
        snprintf(what, sizeof(what), " (ended)");
    size_t width = strlen(what);
    char *name = text__printable_middle(thread->name, columns > width ? columns - width : 1);
    char *line = NULL;
    if (asprintf(&line, "%s%s", name, what) < 0)
        line = NULL;
    free(name);
    return line ? line : memory__zeroed(1, 1);
}

static size_t widest_name(const struct top_view *view)
{
    size_t widest = NAME_COLUMNS_LEAST;

    for (uint32_t i = 0; i < view->count; i++) {
        char *name = row_name(view, &view->interval->row[view->order[i]], (size_t)NAME_COLUMNS_MAX);
        size_t columns = text__columns(name);

        widest = columns > widest ? columns : widest;
        free(name);
    }
    return widest;
}

static void leave_out(struct top_layout *layout, size_t which)
{
    layout->count--;
    memmove(&layout->column[which], &layout->column[which + 1], layout->count - which);
}

static size_t width_of(const struct top_layout *layout)
{
    size_t width = 0;

    for (size_t i = 0; i < layout->count; i++)
        width += top_columns[layout->column[i]].width + 1;
    return width;
}

/* The column that is left out next; layout->count if none may be. */
static size_t least_important(const struct top_layout *layout)
{
    size_t least = layout->count;
    unsigned rank = 0;

    for (size_t i = 0; i < layout->count; i++)
        if (top_columns[layout->column[i]].rank > rank) {
            rank = top_columns[layout->column[i]].rank;
            least = i;
        }
    return least;
}

struct top_layout top_layout__of(const struct top_view *view)
{
    struct top_layout layout = {0};
    uint64_t known = report_columns__of_threads(&view->interval->now->header);
    bool of_virtual = report_model__has_virtual_threads(view->interval->now);

    for (size_t i = 0; i < TOP_COLUMN_COUNT; i++)
        if (!(top_columns[i].needs & ~known) && (!top_columns[i].of_virtual || of_virtual))
            layout.column[layout.count++] = (unsigned char)i;
    if (!view->columns) {
        layout.name_columns = widest_name(view);
        return layout;
    }
    while (width_of(&layout) + NAME_COLUMNS_LEAST + 1 > view->columns &&
           least_important(&layout) < layout.count)
        leave_out(&layout, least_important(&layout));
    size_t taken = width_of(&layout) + 1;
    layout.name_columns = view->columns > taken ? view->columns - taken : 1;
    return layout;
}

/* Any text, made printable and cut to the screen. */
static char *printable_line(const struct top_view *view, const char *text)
{
    return text__printable((struct text){text, strlen(text)}, view->columns);
}

static char *process_line(const struct top_view *view)
{
    const struct report_model *now = view->interval->now;
    char line[LINE_BYTES];

    snprintf(line, sizeof(line), "process %d  %s  in %s", (int)now->header.pid,
             view->interval->profiled_ns ? "" : "(profiling is stopped)",
             quantity__ns(view->interval->wall_ns).text);
    size_t taken = strlen(line);
    size_t room = !view->columns          ? TEXT_COLUMNS_MAX
                  : view->columns > taken ? view->columns - taken
                                          : 1;
    char *command = text__printable_middle(now->command, room);
    snprintf(line, sizeof(line), "process %d  %s%s  in %s", (int)now->header.pid, command,
             view->interval->profiled_ns ? "" : " (profiling is stopped)",
             quantity__ns(view->interval->wall_ns).text);
    free(command);
    return printable_line(view, line);
}

static char *cpu_line(const struct top_view *view)
{
    const struct interval *interval = view->interval;
    uint64_t permille = interval__per_second(interval, interval->cpu_ns) / 1000000u;
    char line[LINE_BYTES];

    snprintf(line, sizeof(line),
             "CPU %" PRIu64 ".%" PRIu64 " %%, user %s, system %s; %" PRIu32
             " threads, %s began, %s ended",
             permille / 10, permille % 10, quantity__ns(interval->user_ns).text,
             quantity__ns(interval->system_ns).text, interval->running,
             quantity__count(interval->started).text, quantity__count(interval->ended).text);
    return printable_line(view, line);
}

static uint64_t lost(const struct ledger_header *header)
{
    uint64_t sum = 0;

    for (unsigned i = 0; i < REPORT_LOSSES; i++)
        sum += report_loss__of(header, i).count;
    return sum;
}

static char *balance_line(const struct top_view *view)
{
    const struct interval *interval = view->interval;
    uint64_t lost_before = lost(&interval->before->header);
    uint64_t lost_now = lost(&interval->now->header);
    char losses[96] = "nothing lost";
    char line[LINE_BYTES];

    if (lost_now)
        snprintf(losses, sizeof(losses), "%s losses, %s of them now",
                 quantity__count(lost_now).text,
                 quantity__count(lost_now > lost_before ? lost_now - lost_before : 0).text);
    int length =
        snprintf(line, sizeof(line), "balance: kernel %s, charged %s; %s; %s calls/s",
                 quantity__ns(interval->cpu_ns).text, quantity__ns(interval->charged_ns).text,
                 losses, quantity__count(interval__per_second(interval, interval->calls)).text);
    if (interval->cut)
        snprintf(line + length, sizeof(line) - (size_t)length, "; %s cut",
                 quantity__counted(interval->cut, "row").text);
    return printable_line(view, line);
}

char *top_line__head(const struct top_view *view, unsigned line)
{
    static char *(*const lines[TOP_HEAD_LINES])(const struct top_view *) = {process_line, cpu_line,
                                                                            balance_line};

    return lines[line](view);
}

/* A line that is written through a stream; finish() gives it out. */
struct line {
    char *text;
    size_t bytes;
    struct screen screen;
};

static void begin(struct line *line)
{
    *line = (struct line){0};
    line->screen.out = open_memstream(&line->text, &line->bytes);
    if (!line->screen.out)
        abort();
}

static char *finish(struct line *line)
{
    (void)fclose(line->screen.out);
    while (line->bytes && line->text[line->bytes - 1] == ' ')
        line->text[--line->bytes] = '\0';
    return line->text;
}

static void put(const struct screen *screen, const struct top_column *column, const char *text)
{
    if (column->is_text)
        screen__left(screen, text, column->width);
    else
        screen__right(screen, text, column->width);
}

char *top_line__titles(const struct top_view *view, const struct top_layout *layout)
{
    struct line line;
    char title[48];

    begin(&line);
    (void)view;
    snprintf(title, sizeof(title), "%.*s", (int)layout->name_columns, "THREAD");
    screen__left(&line.screen, title, layout->name_columns);
    for (size_t i = 0; i < layout->count; i++) {
        fputc(' ', line.screen.out);
        put(&line.screen, &top_columns[layout->column[i]], top_columns[layout->column[i]].title);
    }
    return finish(&line);
}

char *top_line__row(const struct top_view *view, const struct top_layout *layout,
                    const struct interval_row *row)
{
    struct line line;
    char *name = row_name(view, row, layout->name_columns);

    begin(&line);
    screen__left(&line.screen, name, layout->name_columns);
    free(name);
    for (size_t i = 0; i < layout->count; i++) {
        const struct top_column *column = &top_columns[layout->column[i]];
        struct cell cell = {view->interval, row, ""};

        column->write(&cell);
        fputc(' ', line.screen.out);
        put(&line.screen, column, cell.text);
    }
    return finish(&line);
}

char *top_line__path_title(const struct top_view *view, const struct interval_row *row,
                           const struct interval_path *path, uint32_t above)
{
    char *name = row_name(view, row, view->columns ? view->columns / 2 : NAME_COLUMNS_MAX);
    char line[LINE_BYTES];

    if (path->count && above)
        snprintf(line, sizeof(line), "hot path of %s below %s: cum, base, calls", name,
                 quantity__counted(above, "frame").text);
    else if (path->count)
        snprintf(line, sizeof(line), "hot path of %s: cum, base, calls", name);
    else
        snprintf(line, sizeof(line), "%s consumed no CPU", name);
    free(name);
    return printable_line(view, line);
}

char *top_line__step(const struct top_view *view, const struct interval_path *path, uint32_t step)
{
    const struct interval_step *at = &path->steps[step];
    const struct report_model *now = view->interval->now;
    struct text_store texts = {0};
    struct text name = report_method__full_name(&texts, &now->methods[now->nodes[at->node].method]);
    size_t taken = SHARE_COLUMNS + 2 * TIME_COLUMNS + CALLS_COLUMNS + 3;
    size_t room = view->columns > taken ? view->columns - taken : 1;
    char *printable = text__printable_middle(name, view->columns ? room : NAME_COLUMNS_MAX);
    struct line line;

    begin(&line);
    screen__right(&line.screen, quantity__share(at->cum_ns, path->steps[0].cum_ns).text,
                  SHARE_COLUMNS);
    screen__right(&line.screen, quantity__ns(at->cum_ns).text, TIME_COLUMNS);
    screen__right(&line.screen, quantity__ns(at->base_ns).text, TIME_COLUMNS);
    screen__right(&line.screen,
                  quantity__count(interval__per_second(view->interval, at->calls)).text,
                  CALLS_COLUMNS);
    fprintf(line.screen.out, "/s %s", printable);
    free(printable);
    text_store__release(&texts);
    return finish(&line);
}
