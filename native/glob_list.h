/*
 * A list of globs with a lookup time that does not grow with the list. The globs are stored by
 * their literal part, the part before the first star. A lookup takes each beginning of the text
 * whose length is that of some literal part, finds it in a hash table, and compares the text with
 * the globs found there only. A glob without a star is found at once, by the whole text.
 *
 * Read by any thread once the list is made; not in hooks.
 */
#ifndef TREADLE_GLOB_LIST_H
#define TREADLE_GLOB_LIST_H

#include <stdbool.h>
#include <stddef.h>

/* `*` stands for any number of any characters; everything else for itself. */
bool glob__matches(const char *glob, size_t glob_length, const char *text, size_t text_length);

struct glob_list;

/* Makes a list from globs separated by `;`. An item `@FILE` stands for the globs in that file, one
 * a line; `#` at the beginning of a line or after a blank begins a comment. 0, or -errno with one
 * line in message. */
int glob_list__new(struct glob_list **list, const char *text, char *message, size_t message_bytes);
void glob_list__delete(struct glob_list *list); /* NULL is fine */

/* True if both were made from the same text, and from files with the same content. NULL is a list
 * of its own kind. */
bool glob_list__is_same(const struct glob_list *a, const struct glob_list *b);

/* True if one of the globs matches the text. Adds the number of table lookups and of comparisons
 * with globs to *looks, which may be NULL. */
bool glob_list__matches(const struct glob_list *list, const char *text, size_t length,
                        unsigned *looks);

/* True if the list contains the text itself, or the glob for everything up to the text's last dot
 * (`pkg.Class.*`): the user named it deliberately. */
bool glob_list__names(const struct glob_list *list, const char *text, size_t length);

/* Both functions are about all texts that begin with `scope`, which ends in a dot, followed by at
 * least one character, none of them a dot. False: no glob matches any of these texts. */
bool glob_list__reaches_into(const struct glob_list *list, const char *scope, size_t length);

/* True: one glob matches all of these texts. */
bool glob_list__takes_whole(const struct glob_list *list, const char *scope, size_t length);

#endif
