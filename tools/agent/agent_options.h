/*
 * The agent's option string, "key=value,key=value", put together from the command line.
 */
#ifndef TREADLE_AGENT_OPTIONS_H
#define TREADLE_AGENT_OPTIONS_H

#include <stddef.h>

struct agent_options {
    char *text; /* NULL while empty */
};

/* Appends key=value, or a bare key when value is NULL. The commas of a metrics list become '+',
 * which the agent takes as well; any other comma would end the value there: -EINVAL. */
int agent_options__add(struct agent_options *options, const char *key, const char *value);

/* Returns a list of globs in which each `@FILE` is absolute, because the JVM may work in another
 * folder; to be freed. NULL with errno set, and *file the file that cannot be found. Absolute
 * paths are not checked: the JVM may see files that this process does not see. */
char *agent_options__globs(const char *list, const char **file);
void agent_options__release(struct agent_options *options);

/*
 * Returns the absolute path of the agent's library: $TREADLE_AGENT, else beside this program in a
 * build tree, else where it is installed. To be freed; NULL if there is none, and `tried` then
 * lists the places that were tried.
 */
char *agent_library__find(char *tried, size_t tried_bytes);

#endif
