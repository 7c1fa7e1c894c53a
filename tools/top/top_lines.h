/*
 * What `treadle top` shows, line by line, as printable text: for the screen and for a file.
 */
#ifndef TREADLE_TOP_LINES_H
#define TREADLE_TOP_LINES_H

#include "tools/report/interval.h"
#include "tools/report/interval_path.h"

#include <stddef.h>

#define TOP_COLUMNS_MAX 10u
#define TOP_HEAD_LINES  3u

struct top_view {
    const struct interval *interval;
    const uint32_t *order; /* indices of the rows to show */
    uint32_t count;
    size_t columns; /* of the screen; 0: any width */
};

/* The columns behind the name for which the screen has room. */
struct top_layout {
    size_t name_columns;
    unsigned char column[TOP_COLUMNS_MAX];
    size_t count;
};

struct top_layout top_layout__of(const struct top_view *view);

/* Each line is the caller's to free, without a newline, and no wider than the screen. */
char *top_line__head(const struct top_view *view, unsigned line);
char *top_line__titles(const struct top_view *view, const struct top_layout *layout);
char *top_line__row(const struct top_view *view, const struct top_layout *layout,
                    const struct interval_row *row);
/* `above`: steps of the path that are not shown, at its beginning. */
char *top_line__path_title(const struct top_view *view, const struct interval_row *row,
                           const struct interval_path *path, uint32_t above);
char *top_line__step(const struct top_view *view, const struct interval_path *path, uint32_t step);

#endif
