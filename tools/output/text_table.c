#include "tools/output/text_table.h"

#include "tools/report/memory.h"

#include <errno.h>
#include <libsmartcols.h>
#include <stdlib.h>
#include <string.h>

#define GAP_COLUMNS      2u
#define NAME_COLUMNS_MIN 20u

struct text_table {
    struct table_column *columns;
    size_t column_count;
    char **cells; /* row * column_count + column; NULL: empty */
    size_t cell_room;
    const char **colours; /* by row */
    size_t colour_room;
    size_t row_count;
};

struct text_table *text_table__new(const struct table_column *columns, size_t count)
{
    struct text_table *table = memory__zeroed(1, sizeof(*table));

    table->columns = memory__zeroed(count, sizeof(*columns));
    memcpy(table->columns, columns, count * sizeof(*columns));
    table->column_count = count;
    return table;
}

void text_table__free(struct text_table *table)
{
    for (size_t i = 0; i < table->row_count * table->column_count; i++)
        free(table->cells[i]);
    free(table->cells);
    free((void *)table->colours);
    free(table->columns);
    free(table);
}

size_t text_table__add_row(struct text_table *table)
{
    size_t row = table->row_count++;
    size_t width = table->column_count;

    table->cells =
        memory__grown(table->cells, &table->cell_room, (row + 1) * width, sizeof(*table->cells));
    table->colours = memory__grown((void *)table->colours, &table->colour_room, row + 1,
                                   sizeof(*table->colours));
    memset(&table->cells[row * width], 0, width * sizeof(*table->cells));
    table->colours[row] = "";
    return row;
}

static void set(struct text_table *table, size_t row, size_t column, char *own)
{
    char **cell = &table->cells[row * table->column_count + column];
    free(*cell);

    *cell = own;
}

void text_table__set_name(struct text_table *table, size_t row, struct text name)
{
    set(table, row, 0, text__printable_middle(name, NAME_COLUMNS_MAX));
}

void text_table__set(struct text_table *table, size_t row, size_t column, const char *printable)
{
    size_t bytes = strlen(printable) + 1;
    char *copy = memory__zeroed(bytes, 1);

    memcpy(copy, printable, bytes);
    set(table, row, column, copy);
}

void text_table__set_colour(struct text_table *table, size_t row, const char *sequence)
{
    table->colours[row] = sequence;
}

static const char *cell_at(const struct text_table *table, size_t row, size_t column)
{
    const char *cell = table->cells[row * table->column_count + column];

    return cell ? cell : "";
}

static size_t width_of(const struct text_table *table, size_t column)
{
    size_t width = text__columns(table->columns[column].title);

    for (size_t row = 0; row < table->row_count; row++) {
        size_t cell = text__columns(cell_at(table, row, column));

        width = cell > width ? cell : width;
    }
    return width;
}

static size_t total_width(const struct text_table *table, const size_t *widths, const bool *out)
{
    size_t total = 0;

    for (size_t column = 0; column < table->column_count; column++)
        if (!out[column])
            total += widths[column] + GAP_COLUMNS;
    return total - GAP_COLUMNS;
}

/* The column to leave out next, or 0 when none may go. */
static size_t least_important(const struct text_table *table, const bool *out)
{
    size_t found = 0;

    for (size_t column = 1; column < table->column_count; column++)
        if (!out[column] && table->columns[column].rank > table->columns[found].rank)
            found = column;
    return found;
}

/* Decides what fits: which columns are left out, and how wide the names may be. */
static size_t fit(const struct text_table *table, size_t limit, bool *out)
{
    size_t *widths = memory__zeroed(table->column_count, sizeof(*widths));

    for (size_t column = 0; column < table->column_count; column++)
        widths[column] = width_of(table, column);
    size_t name = widths[0];
    while (limit && total_width(table, widths, out) > limit) {
        size_t excess = total_width(table, widths, out) - limit;

        if (excess <= name && name - excess >= NAME_COLUMNS_MIN) {
            name -= excess;
            break;
        }
        size_t victim = least_important(table, out);
        if (!victim) {
            name = excess + 8 < name ? name - excess : 8;
            break;
        }
        out[victim] = true;
    }
    free(widths);
    return name;
}

static int fill(struct libscols_table *lines, const struct text_table *table, size_t row,
                const bool *out, size_t name_columns)
{
    struct libscols_line *line = scols_table_new_line(lines, NULL);

    if (!line)
        return -ENOMEM;
    if (table->colours[row][0])
        scols_line_set_color(line, table->colours[row]);
    size_t shown = 0;
    for (size_t column = 0; column < table->column_count; column++) {
        if (out[column])
            continue;
        const char *cell = cell_at(table, row, column);
        char *cut = NULL;
        if (column == 0)
            cut = text__printable_middle((struct text){cell, strlen(cell)}, name_columns);
        int error = scols_line_set_data(line, shown++, cut ? cut : cell);
        free(cut);
        if (error)
            return error;
    }
    return 0;
}

static int build(struct libscols_table *lines, const struct text_table *table, const bool *out,
                 size_t name_columns, const struct screen *screen)
{
    scols_table_set_stream(lines, screen->out);
    scols_table_set_termforce(lines, SCOLS_TERMFORCE_NEVER);
    scols_table_enable_noencoding(lines, 1); /* the cells are printable already */
    scols_table_enable_colors(lines, screen->colour);
    scols_table_set_column_separator(lines, "  ");
    for (size_t column = 0; column < table->column_count; column++) {
        if (out[column])
            continue;
        struct libscols_column *head =
            scols_table_new_column(lines, table->columns[column].title, 0,
                                   table->columns[column].right ? SCOLS_FL_RIGHT : 0);
        if (!head)
            return -ENOMEM;
        if (screen->colour)
            scols_cell_set_color(scols_column_get_header(head), screen__bold(screen));
    }
    for (size_t row = 0; row < table->row_count; row++) {
        int error = fill(lines, table, row, out, name_columns);

        if (error)
            return error;
    }
    return 0;
}

static void say_what_is_left_out(const struct text_table *table, const bool *out,
                                 const struct screen *screen)
{
    const char *before = "(no room for: ";

    for (size_t column = 0; column < table->column_count; column++) {
        if (!out[column])
            continue;
        fprintf(screen->out, "%s%s", before, table->columns[column].title);
        before = ", ";
    }
    if (before[0] == ',')
        fputs(")\n", screen->out);
}

int text_table__print(struct text_table *table, const struct screen *screen)
{
    bool *out = memory__zeroed(table->column_count, sizeof(*out));
    size_t name_columns = fit(table, screen->columns, out);
    struct libscols_table *lines = scols_new_table();
    int error = lines ? build(lines, table, out, name_columns, screen) : -ENOMEM;

    if (!error)
        error = scols_print_table(lines);
    scols_unref_table(lines);
    if (!error)
        say_what_is_left_out(table, out, screen);
    free(out);
    return error;
}
