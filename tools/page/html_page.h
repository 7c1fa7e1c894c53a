/*
 * The page of `treadle html`: HTML, style and program as the build put them together, with a gap
 * for the ledger. It is part of this program, so that the two always fit and nothing has to be
 * found at run time.
 */
#ifndef TREADLE_HTML_PAGE_H
#define TREADLE_HTML_PAGE_H

#include <stdbool.h>
#include <stddef.h>

struct html_page {
    const char *before; /* what comes before the ledger */
    size_t before_bytes;
    const char *after;
    size_t after_bytes;
};

/* False if the build had no page to put in; *missing then says what it needs, in a clause. */
bool html_page__get(struct html_page *page, const char **missing);

#endif
