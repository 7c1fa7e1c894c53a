/*
 * A ledger as an HTML page: what comes before, its blocks, what comes after. The blocks, which
 * tools/html/ledger.js reads:
 *
 *   about         JSON: the ledger's name, the columns, what was lost
 *   facts         UTF-8 text: what the report has above and below its threads table
 *   threads       JSON: the threads view as `treadle report --json` has it
 *   thread-order  for each of its threads, in its order: the number that `trees` knows it by
 *   methods       JSON: an array of [class, full name, signature, source]
 *   trees         for each thread with nodes: its number, how many nodes
 *   nodes         for each node, in tree order: its mark, how many levels further up its parent
 *                 stands than the node before it (0: it is its child), its method; of roots, the
 *                 first of each tree, the 0 is a filler
 *   levels        of nodes that stand for deeper levels of recursion than their own: how many nodes
 * lie between, the highest level column-NAME   base values that are not 0: how many nodes lie
 * between, the value
 */
#ifndef TREADLE_HTML_LEDGER_H
#define TREADLE_HTML_LEDGER_H

#include "tools/page/html_moments.h"
#include "tools/page/html_page.h"

#include <stdio.h>

struct html_ledger {
    const struct html_page *page;
    struct html_moments *moments; /* the last of them is the ledger */
    const char *threads;          /* --thread, or NULL */
    const char *since;            /* an earlier snapshot, which is taken off; or NULL */
};

/* 0; -ESRCH if no thread matches, then nothing is written; or -ENOMEM. */
int html_ledger__write(const struct html_ledger *html, FILE *out);

#endif
