#include "agent/methods/method_filter.h"

#include <stdlib.h>
#include <string.h>

/* "pkg.Class.method", of any length. */
struct full_name {
    char *text; /* NULL: no memory */
    size_t length;
    char room[1024];
};

static void full_name__make(struct full_name *name, const char *class_name, const char *method_name)
{
    size_t class_length = strlen(class_name), method_length = strlen(method_name);

    name->length = class_length + 1 + method_length;
    name->text = name->length <= sizeof(name->room) ? name->room : malloc(name->length);
    if (!name->text)
        return;
    memcpy(name->text, class_name, class_length);
    name->text[class_length] = '.';
    memcpy(name->text + class_length + 1, method_name, method_length);
}

static void full_name__release(struct full_name *name)
{
    if (name->text != name->room)
        free(name->text);
}

void method_filter__release(struct method_filter *filter)
{
    glob_list__delete(filter->include);
    glob_list__delete(filter->exclude);
    memset(filter, 0, sizeof(*filter));
}

static bool has(const struct glob_list *list, const struct full_name *name)
{
    return list && glob_list__matches(list, name->text, name->length, NULL);
}

bool method_filter__admits(const struct method_filter *filter, const char *class_name,
                           const char *method_name)
{
    struct full_name name;
    bool admits;

    full_name__make(&name, class_name, method_name);
    admits = name.text && !has(filter->exclude, &name) &&
             (!filter->include || has(filter->include, &name) || has(filter->latency, &name));
    full_name__release(&name);
    return admits;
}

bool method_filter__measures(const struct method_filter *filter, const char *class_name,
                             const char *method_name)
{
    struct full_name name;
    bool measures;

    if (!filter->latency)
        return false;
    full_name__make(&name, class_name, method_name);
    measures = name.text && has(filter->latency, &name);
    full_name__release(&name);
    return measures;
}

bool method_filter__names(const struct method_filter *filter, const char *class_name,
                          const char *method_name)
{
    struct full_name name;
    bool names;

    if (!filter->include && !filter->latency)
        return false;
    full_name__make(&name, class_name, method_name);
    names = name.text &&
            (has(filter->latency, &name) ||
             (filter->include && glob_list__names(filter->include, name.text, name.length)));
    full_name__release(&name);
    return names;
}

static bool reaches_into(const struct glob_list *list, const struct full_name *scope)
{
    return list && glob_list__reaches_into(list, scope->text, scope->length);
}

bool method_filter__measures_some(const struct method_filter *filter, const char *class_name)
{
    struct full_name scope;
    bool some;

    if (!filter->latency)
        return false;
    full_name__make(&scope, class_name, "");
    some = scope.text && reaches_into(filter->latency, &scope);
    full_name__release(&scope);
    return some;
}

bool method_filter__admits_some(const struct method_filter *filter, const char *class_name)
{
    struct full_name scope;
    bool some;

    full_name__make(&scope, class_name, "");
    some = scope.text &&
           (!filter->include || reaches_into(filter->include, &scope) ||
            reaches_into(filter->latency, &scope)) &&
           (!filter->exclude || !glob_list__takes_whole(filter->exclude, scope.text, scope.length));
    full_name__release(&scope);
    return some;
}
