#include "native/nearest_name.h"

#include <limits.h>
#include <string.h>

#define WORD_MAX 63u

unsigned name__distance(const char *a, const char *b)
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
            unsigned best = diagonal + (a[i - 1] != b[j - 1]);

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

const char *name__nearest(const char *word, const char *const *names, size_t count)
{
    const char *nearest = NULL;
    unsigned shortest = UINT_MAX;

    for (size_t i = 0; i < count; i++) {
        unsigned distance = names[i] ? name__distance(word, names[i]) : UINT_MAX;

        if (distance < shortest) {
            shortest = distance;
            nearest = names[i];
        }
    }
    return nearest;
}
