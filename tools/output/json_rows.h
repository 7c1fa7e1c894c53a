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

#endif
