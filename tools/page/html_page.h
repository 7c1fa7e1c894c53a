/*
 * The pages of `treadle html` and `treadle timeline --html`: HTML, style and program as the build
 * put them together, with a gap for the data. They are part of this program, so that page and
 * program always fit and nothing has to be found at run time.
 */
#ifndef TREADLE_HTML_PAGE_H
#define TREADLE_HTML_PAGE_H

#include <stdbool.h>
#include <stddef.h>

struct html_page {
    const char *before; /* what comes before the data */
    size_t before_bytes;
    const char *after;
    size_t after_bytes;
};

/* The page of ledgers. False if the build had no page to put in; *missing then says what it needs,
 * in a clause. */
bool html_page__get(struct html_page *page, const char **missing);

/* The same for the page of timelines. */
bool html_page__get_timeline(struct html_page *page, const char **missing);

#endif
