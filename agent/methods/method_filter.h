/* Which methods have nodes: include= and exclude=, lists of globs over `pkg.Class.method`. Without
 * include every method is in; exclude then takes out. Any thread; not in hooks. */
#ifndef TREADLE_METHOD_FILTER_H
#define TREADLE_METHOD_FILTER_H

#include "agent/methods/glob_list.h"

/* Owns its lists. All zero: every method. */
struct method_filter {
    struct glob_list *include; /* NULL: none was given */
    struct glob_list *exclude;
};

void method_filter__release(struct method_filter *filter);

/* Class names have dots. A name of more than a kilobyte needs memory; without it, false. */
bool method_filter__admits(const struct method_filter *filter, const char *class_name,
                           const char *method_name);

/* Whether include= names the method, or all of its class. */
bool method_filter__names(const struct method_filter *filter, const char *class_name,
                          const char *method_name);

/* Whether they can admit any method of the class: false spares the look at it. */
bool method_filter__admits_some(const struct method_filter *filter, const char *class_name);

#endif
