/*
 * The valid name that a misspelt one was probably meant to be.
 */
#ifndef TREADLE_NEAREST_H
#define TREADLE_NEAREST_H

#include <stddef.h>

/* Returns the closest of `count` names by number of edits; a name that contains the word counts as
 * close. NULL if no name is close enough to be suggested. */
const char *nearest__of(const char *wrong, const char *const *names, size_t count);

#endif
