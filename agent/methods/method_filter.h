/* Which methods have nodes: include= and exclude=, lists of globs over `pkg.Class.method`. Without
 * include= every method is included; exclude= then leaves methods out. Any thread; not in hooks. */
#ifndef TREADLE_METHOD_FILTER_H
#define TREADLE_METHOD_FILTER_H

#include "agent/methods/glob_list.h"

/* Owns its lists. All zero: every method. */
struct method_filter {
    struct glob_list *include; /* NULL: none was given */
    struct glob_list *exclude;
};

void method_filter__release(struct method_filter *filter);

/* Class names have dots. A name of more than a kilobyte needs an allocation; if that fails, the
 * result is false. */
bool method_filter__admits(const struct method_filter *filter, const char *class_name,
                           const char *method_name);

/* True if include= names the method, or all of its class. */
bool method_filter__names(const struct method_filter *filter, const char *class_name,
                          const char *method_name);

/* True if the filter can admit any method of the class; false saves a look at the class. */
bool method_filter__admits_some(const struct method_filter *filter, const char *class_name);

#endif
