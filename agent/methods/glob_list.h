/*
 * A list of globs, looked up in a time that does not grow with it. The globs are kept by their
 * literal part, which is what stands before the first star: a text is looked up by each of its
 * beginnings that is as long as some literal part, in a hash table, and compared with the globs
 * found there only. A name without a star is found at once, by the whole text.
 *
 * Read by any thread once it is made; not in hooks.
 */
#ifndef TREADLE_GLOB_LIST_H
#define TREADLE_GLOB_LIST_H

#include <stdbool.h>
#include <stddef.h>

/* `*` stands for any number of any characters; everything else for itself. */
bool glob__matches(const char *glob, size_t glob_length, const char *text, size_t text_length);

struct glob_list;

/* Globs separated by `;`. An item `@FILE` stands for the globs of that file, one a line; `#` at the
 * beginning of a line or behind a blank begins a comment. 0, or -errno with one line in message. */
int glob_list__new(struct glob_list **list, const char *text, char *message, size_t message_bytes);
void glob_list__delete(struct glob_list *list); /* NULL is fine */

/* Whether one of the globs matches the text. Adds the number of table look-ups and of comparisons
 * with globs to *looks, which may be NULL. */
bool glob_list__matches(const struct glob_list *list, const char *text, size_t length,
                        unsigned *looks);

/* Whether the list has the text itself, or all that begins as the text does up to its last dot
 * (`pkg.Class.*`): somebody thought of it. */
bool glob_list__names(const struct glob_list *list, const char *text, size_t length);

/* For all texts that begin with `scope`, which ends in a dot, and have at least one character more,
 * none of them a dot. False: no glob matches any of them. */
bool glob_list__reaches_into(const struct glob_list *list, const char *scope, size_t length);

/* True: one glob matches all of them. */
bool glob_list__takes_whole(const struct glob_list *list, const char *scope, size_t length);

#endif
