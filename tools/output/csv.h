/*
 * CSV as RFC 4180 quotes it, one record a line. Control characters in names are written as visible
 * escapes, so a record never spans lines and a terminal is never at risk; and a text that begins
 * with =, +, - or @, which a spreadsheet takes for a formula, has an apostrophe before it, which
 * makes it a text there. JSON has names as they are.
 */
#ifndef TREADLE_CSV_H
#define TREADLE_CSV_H

#include "tools/report/text.h"

#include <stdint.h>
#include <stdio.h>

struct csv {
    FILE *out;
    size_t fields; /* in the record so far */
};

void csv__text(struct csv *csv, struct text text);
void csv__word(struct csv *csv, const char *word);
void csv__integer(struct csv *csv, uint64_t value);
void csv__signed(struct csv *csv, int64_t value);
void csv__empty(struct csv *csv);

/* Cells as they were written before, with their quotes and the commas between them. */
void csv__cells(struct csv *csv, const char *cells);
void csv__end_record(struct csv *csv);

#endif
