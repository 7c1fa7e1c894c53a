#include "tools/output/json_rows.h"

json_t *json_row__integer(uint64_t value)
{
    return json_integer(value > INT64_MAX ? (json_int_t)INT64_MAX : (json_int_t)value);
}

json_t *json_row__text(struct text text)
{
    return json_stringn(text.bytes, text.length);
}

void json_row__write(FILE *out, json_t *row)
{
    json_dumpf(row, out, JSON_COMPACT | JSON_ENSURE_ASCII);
    json_decref(row);
}

void json_row__write_members(FILE *out, json_t *object)
{
    json_dumpf(object, out, JSON_COMPACT | JSON_ENSURE_ASCII | JSON_EMBED);
    json_decref(object);
}
