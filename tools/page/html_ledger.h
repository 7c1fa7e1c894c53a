/*
 * A ledger as an HTML page: the page's head, its blocks, its end. tools/html/ledger.js reads the
 * blocks:
 *
 * about: JSON, the ledger's name, the columns, what was lost.
 *
 * facts: UTF-8 text, what the report has above and below its threads table.
 *
 * threads: JSON, the threads view as `treadle report --json` has it.
 *
 * thread-order: for each thread in that order, its number in `trees`.
 *
 * locks, blockers: JSON, those views as `treadle report --json` has them, if waits=on.
 *
 * methods: JSON, an array of [class, full name, signature, source].
 *
 * trees: for each thread with nodes its number and the number of its nodes.
 *
 * nodes: for each node, in tree order: its mark; how many levels its parent stands above the node
 * before it (0: that node is its parent); its method. For a root, the first node of each tree, the
 * levels are 0 and mean nothing.
 *
 * levels: for each node that stands for deeper levels of recursion than its own: how many nodes lie
 * between it and the node before, and its highest level.
 *
 * column-NAME: for each base value that is not 0: how many nodes lie between, and the value.
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
    const char *since;            /* an earlier snapshot, which is subtracted; or NULL */
};

/* 0; -ESRCH if no thread matches, then nothing is written; or -ENOMEM. */
int html_ledger__write(const struct html_ledger *html, FILE *out);

#endif
