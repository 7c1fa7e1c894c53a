#include "tools/report/nearest.h"

#include <string.h>

#define NAME_MAX_BYTES 63u

static size_t least(size_t a, size_t b, size_t c)
{
    size_t smaller = a < b ? a : b;
    return smaller < c ? smaller : c;
}

/* Optimal string alignment distance. */
static size_t distance(const char *a, size_t a_length, const char *b, size_t b_length)
{
    size_t rows[3][NAME_MAX_BYTES + 1];
    for (size_t j = 0; j <= b_length; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= a_length; i++) {
        size_t *row = rows[i % 3];
        const size_t *above = rows[(i + 2) % 3];
        const size_t *above_that = rows[(i + 1) % 3];
        row[0] = i;
        for (size_t j = 1; j <= b_length; j++) {
            size_t replaced = above[j - 1] + (a[i - 1] != b[j - 1]);
            row[j] = least(above[j] + 1, row[j - 1] + 1, replaced);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
                above_that[j - 2] + 1 < row[j])
                row[j] = above_that[j - 2] + 1;
        }
    }
    return rows[a_length % 3][b_length];
}

const char *nearest__of(const char *wrong, const char *const *names, size_t count)
{
    size_t length = strlen(wrong);
    const char *best = NULL;
    size_t best_distance = length / 2 + 1;
    if (length > NAME_MAX_BYTES)
        return NULL;
    for (size_t i = 0; i < count; i++) {
        size_t name_length = strlen(names[i]);
        if (name_length > NAME_MAX_BYTES)
            continue;
        size_t edits = distance(wrong, length, names[i], name_length);
        /* "faults" is nearer to "minor_faults" than five edits say. */
        if (length >= 3 && strstr(names[i], wrong) && edits > 1)
            edits = 1;
        if (edits < best_distance) {
            best_distance = edits;
            best = names[i];
        }
    }
    return best;
}
