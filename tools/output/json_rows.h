/*
 * JSON that does not have to fit in memory: the brackets are written here, each row by jansson.
 * All of it is ASCII (other characters as \uXXXX), so it is harmless on a terminal, too.
 */
#ifndef TREADLE_JSON_ROWS_H
#define TREADLE_JSON_ROWS_H

#include "tools/report/report_columns.h"
#include "tools/report/text.h"

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>

/* Values for json_object_set_new. Integers beyond JSON's 63 bits are cut to the largest. */
json_t *json_row__integer(uint64_t value);
json_t *json_row__text(struct text text);

/* Writes one value and releases it. */
void json_row__write(FILE *out, json_t *row);

/* Writes an object's members without its braces, so that more can follow; releases it. */
void json_row__write_members(FILE *out, json_t *object);

/* Rows of a tree, each an object with its children in a member `children`: the brackets follow from
 * the depth of each row and of the next one. Set `out`, and `open` to 0, to begin. */
struct json_tree {
    FILE *out;
    uint32_t open; /* rows whose children are being written */
};

/* Writes a row's members and releases them. Rows come in tree order; the first has depth 0. */
void json_tree__write_row(struct json_tree *tree, uint32_t depth, json_t *members);

/* Closes all rows that are open. */
void json_tree__end(struct json_tree *tree);

#endif
