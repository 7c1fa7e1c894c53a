/*
 * Where an HTML page goes.
 */
#ifndef TREADLE_HTML_OUTPUT_H
#define TREADLE_HTML_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

/* Writes a page; 0 or -errno if something other than writing failed. */
typedef int html_writer(const void *what, FILE *out);

/* True if a page may be written to `output`: not over the ledger that it is made from, and only to
 * a file. False after a line with the reason; `hint` says what to do. */
bool html_output__check(const char *output, const char *ledger, const char *hint);

/* Writes the page beside its place and renames it: no half page is ever there, and a ledger that
 * the page is made from is replaced only after it was read. Only the owner may read the page, as a
 * ledger. 0 or -errno. */
int html_output__write(const char *output, html_writer *writer, const void *what);

#endif
