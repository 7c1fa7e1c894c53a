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

bool method_filter__admits(const struct method_filter *filter, const char *class_name,
                           const char *method_name)
{
    struct full_name name;
    bool admits;

    full_name__make(&name, class_name, method_name);
    admits =
        name.text &&
        (!filter->include || glob_list__matches(filter->include, name.text, name.length, NULL)) &&
        (!filter->exclude || !glob_list__matches(filter->exclude, name.text, name.length, NULL));
    full_name__release(&name);
    return admits;
}

bool method_filter__names(const struct method_filter *filter, const char *class_name,
                          const char *method_name)
{
    struct full_name name;
    bool names;

    if (!filter->include)
        return false;
    full_name__make(&name, class_name, method_name);
    names = name.text && glob_list__names(filter->include, name.text, name.length);
    full_name__release(&name);
    return names;
}

bool method_filter__admits_some(const struct method_filter *filter, const char *class_name)
{
    struct full_name scope;
    bool some;

    full_name__make(&scope, class_name, "");
    some =
        scope.text &&
        (!filter->include || glob_list__reaches_into(filter->include, scope.text, scope.length)) &&
        (!filter->exclude || !glob_list__takes_whole(filter->exclude, scope.text, scope.length));
    full_name__release(&scope);
    return some;
}
