/*
 * Where an HTML page goes.
 */
#ifndef TREADLE_HTML_OUTPUT_H
#define TREADLE_HTML_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

/* Writes a page; 0 or -errno if something other than writing failed. */
typedef int html_writer(const void *what, FILE *out);

/* Whether a page may go to `output`: not over the ledger that it is made from, nor to what is no
 * file. False after a line that says so, `hint` being what to do. */
bool html_output__check(const char *output, const char *ledger, const char *hint);

/* Written beside its place and then put there: never half a page, and never over a ledger that it
 * is made from before that was read. Nobody else may read it, as is so of ledgers. 0 or -errno. */
int html_output__write(const char *output, html_writer *writer, const void *what);

#endif
