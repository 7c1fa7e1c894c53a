#include "native/nearest_name.h"

#include <ctype.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>

#define WORD_MAX 63u

static bool same(char a, char b, bool fold)
{
    return fold ? tolower((unsigned char)a) == tolower((unsigned char)b) : a == b;
}

static unsigned distance_between(const char *a, const char *b, bool fold)
{
    size_t a_length = strlen(a), b_length = strlen(b);
    unsigned row[WORD_MAX + 1];

    if (a_length > WORD_MAX || b_length > WORD_MAX)
        return UINT_MAX;
    for (size_t j = 0; j <= b_length; j++)
        row[j] = (unsigned)j;
    for (size_t i = 1; i <= a_length; i++) {
        unsigned diagonal = row[0];

        row[0] = (unsigned)i;
        for (size_t j = 1; j <= b_length; j++) {
            unsigned best = diagonal + !same(a[i - 1], b[j - 1], fold);

            diagonal = row[j];
            if (row[j] + 1 < best)
                best = row[j] + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            row[j] = best;
        }
    }
    return row[b_length];
}

unsigned name__distance(const char *a, const char *b)
{
    return distance_between(a, b, false);
}

const char *name__nearest(const char *word, const char *const *names, size_t count)
{
    const char *nearest = NULL;
    unsigned shortest = UINT_MAX;

    for (size_t i = 0; i < count; i++) {
        unsigned distance;

        if (!names[i])
            continue;
        distance = distance_between(word, names[i], true);
        if (!nearest || distance < shortest) {
            shortest = distance;
            nearest = names[i];
        }
    }
    return nearest;
}
