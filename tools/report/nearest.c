#include "tools/report/nearest.h"

#include "native/nearest_name.h"

#include <string.h>

const char *nearest__of(const char *wrong, const char *const *names, size_t count)
{
    size_t length = strlen(wrong);
    const char *best = NULL;
    size_t best_edits = length / 2 + 1;

    for (size_t i = 0; i < count; i++) {
        size_t edits = name__distance(wrong, names[i]);

        /* "faults" is nearer to "minor_faults" than six edits say. */
        if (length >= 3 && edits > 1 && strstr(names[i], wrong))
            edits = 1;
        if (edits < best_edits) {
            best_edits = edits;
            best = names[i];
        }
    }
    return best;
}
