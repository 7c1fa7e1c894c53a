/*
 * Tables for people: columns aligned (by libsmartcols), cut to the terminal's width. What does not
 * fit goes in a fixed order: the name column shrinks first, then the least important columns are
 * left out.
 */
#ifndef TREADLE_TEXT_TABLE_H
#define TREADLE_TEXT_TABLE_H

#include "tools/report/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Where text goes: a terminal of so many columns, or a file (0: any width). */
struct screen {
    FILE *out;
    size_t columns;
    bool colour;
};

/* stdout, its width (COLUMNS, or asked of the terminal) and whether colour is welcome there. */
struct screen screen__stdout(void);

/* Escape sequences, "" where colour is not welcome. */
const char *screen__bold(const struct screen *screen);
const char *screen__dim(const struct screen *screen);
const char *screen__warn(const struct screen *screen);
const char *screen__plain(const struct screen *screen);

/* Names are cut to this where nothing else limits them. */
#define NAME_COLUMNS_MAX 120u

/* Writes `printable` in a field of `columns`, to the left or the right of it. */
void screen__left(const struct screen *screen, const char *printable, size_t columns);
void screen__right(const struct screen *screen, const char *printable, size_t columns);

struct table_column {
    const char *title;
    bool right;
    unsigned rank; /* 0: never left out; the highest goes first */
};

struct text_table;

/* Column 0 holds names: it is the one that shrinks. The columns are copied. */
struct text_table *text_table__new(const struct table_column *columns, size_t count);
void text_table__free(struct text_table *table);

/* Adds a row of empty cells; returns its index. */
size_t text_table__add_row(struct text_table *table);

/* Fills a cell: a name is made printable, other text is taken as it is. */
void text_table__set_name(struct text_table *table, size_t row, struct text name);
void text_table__set(struct text_table *table, size_t row, size_t column, const char *printable);
/* A row's colour, an escape sequence that outlives the table, or "". */
void text_table__set_colour(struct text_table *table, size_t row, const char *sequence);

/* Prints, and says in a last line what was left out, if anything was. 0 or -errno. */
int text_table__print(struct text_table *table, const struct screen *screen);

#endif
