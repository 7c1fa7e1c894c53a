/* Which methods have nodes: include= and exclude=, globs separated by `;` over `pkg.Class.method`.
 * Without include every method is in; exclude then takes out. Any thread; not in hooks. */
#ifndef TREADLE_METHOD_FILTER_H
#define TREADLE_METHOD_FILTER_H

#include <stdbool.h>

/* `*` stands for any number of any characters; everything else for itself. */
bool glob__matches(const char *glob, const char *text);

/* include and exclude: lists as the user wrote them, or NULL. */
bool method_filter__admits(const char *include, const char *exclude, const char *class_name,
                           const char *method_name);

/* Whether they can admit any method of the class: false spares the look at it. */
bool method_filter__admits_some(const char *include, const char *exclude, const char *class_name);

#endif
