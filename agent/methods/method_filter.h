/* Which methods have nodes: include= and exclude=, lists of globs over `pkg.Class.method`. Without
 * include= every method is included; exclude= then leaves methods out. Methods of latency= are
 * included, too. Any thread; not in hooks. */
#ifndef TREADLE_METHOD_FILTER_H
#define TREADLE_METHOD_FILTER_H

#include "native/glob_list.h"

/* Owns include and exclude. All zero: every method. */
struct method_filter {
    struct glob_list *include; /* NULL: none was given */
    struct glob_list *exclude;
    const struct glob_list *latency; /* methods whose calls are measured; NULL: none */
};

void method_filter__release(struct method_filter *filter);

/* Class names have dots. A name of more than a kilobyte needs an allocation; if that fails, the
 * result is false. */
bool method_filter__admits(const struct method_filter *filter, const char *class_name,
                           const char *method_name);

/* True if latency= has the method. */
bool method_filter__measures(const struct method_filter *filter, const char *class_name,
                             const char *method_name);

/* True if latency= may have a method of the class. */
bool method_filter__measures_some(const struct method_filter *filter, const char *class_name);

/* True if include= names the method, or all of its class, or latency= has it. */
bool method_filter__names(const struct method_filter *filter, const char *class_name,
                          const char *method_name);

/* True if the filter can admit any method of the class; false saves a look at the class. */
bool method_filter__admits_some(const struct method_filter *filter, const char *class_name);

#endif
