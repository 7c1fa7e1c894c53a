/* The name that somebody probably meant. Any thread; allocates nothing. */
#ifndef TREADLE_NEAREST_NAME_H
#define TREADLE_NEAREST_NAME_H

#include <stddef.h>

/* The number of insertions, deletions and replacements between two words [V. Levenshtein, 1966];
 * words longer than 63 bytes count as far from everything. */
unsigned name__distance(const char *a, const char *b);

/* Returns the name nearest to `word` among `count` names, ignoring case, or NULL if there is none.
 * NULL names are skipped. */
const char *name__nearest(const char *word, const char *const *names, size_t count);

#endif
