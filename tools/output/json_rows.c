#include "tools/output/json_rows.h"

#include <stdbool.h>

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

static void close_rows(struct json_tree *tree, uint32_t depth)
{
    for (; tree->open > depth; tree->open--)
        fputs("]}", tree->out);
}

void json_tree__write_row(struct json_tree *tree, uint32_t depth, json_t *members)
{
    bool is_first = tree->open == depth;

    close_rows(tree, depth);
    fputs(is_first ? "\n{" : ",\n{", tree->out);
    json_row__write_members(tree->out, members);
    fputs(",\"children\":[", tree->out);
    tree->open = depth + 1;
}

void json_tree__end(struct json_tree *tree)
{
    close_rows(tree, 0);
}
