/*
 * Two ledgers compared as an HTML page: the page's head, its blocks, its end.
 * tools/html/ledger.js reads the blocks:
 *
 *   about           JSON: as of html_ledger.h, the columns being those that both have; `metric`,
 *                   the one to show first; `diff`: the totals as `treadle diff --json` has them
 *
 *   facts           UTF-8 text: the totals and balances of both sides
 *
 *   threads         JSON: the matched threads: name, kind, state, how many there are in A and B;
 *                   a_calls_at_least, b_calls_at_least, if calls are a lower bound
 *
 *   methods, trees, nodes
 *                   as of html_ledger.h, of the matched trees
 *
 *   sides           for each node the sum of: 1 if A has it, 2 if B has it, 4 if its calls in A are
 *                   a lower bound, 8 if its calls in B are
 *
 *   column-NAME-a, column-NAME-b
 *                   base values, as of html_ledger.h
 *   threads-NAME-a, threads-NAME-b
 *                   for each thread its own value, as of `treadle diff`
 */
#ifndef TREADLE_HTML_DIFF_H
#define TREADLE_HTML_DIFF_H

#include "native/ledger/ledger_reader.h"
#include "tools/page/html_page.h"
#include "tools/report/report_diff.h"

#include <stdio.h>

struct html_diff {
    const struct ledger_reader *readers[DIFF_SIDES];
    const struct html_page *page;
    const char *paths[DIFF_SIDES];
    const char *since[DIFF_SIDES]; /* an earlier snapshot, which is subtracted; or NULL */
    const char *threads;           /* --thread, or NULL */
    enum report_column column;     /* of nodes of both: the one to show first */
    bool normalize;
};

/* 0; -ESRCH if no thread matches, then nothing is written; or -ENOMEM. */
int html_diff__write(const struct html_diff *html, FILE *out);

#endif
