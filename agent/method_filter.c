#include "agent/method_filter.h"

#include <stddef.h>
#include <string.h>

/* A text in two pieces: "pkg.Class" "." "method", of any length. */
struct full_name {
    const char *class_name;
    size_t class_length;
    const char *method_name; /* NULL: the class name is all there is */
};

static char char_at(const struct full_name *name, size_t index)
{
    if (index < name->class_length)
        return name->class_name[index];
    if (!name->method_name)
        return '\0';
    return index == name->class_length ? '.' : name->method_name[index - name->class_length - 1];
}

static bool matches(const char *glob, const char *glob_end, const struct full_name *name)
{
    const char *star = NULL;
    size_t at = 0, retry = 0;

    while (char_at(name, at)) {
        if (glob < glob_end && *glob == '*') {
            star = glob++;
            retry = at;
        } else if (glob < glob_end && *glob == char_at(name, at)) {
            glob++;
            at++;
        } else if (star) {
            glob = star + 1;
            at = ++retry;
        } else {
            return false;
        }
    }
    while (glob < glob_end && *glob == '*')
        glob++;
    return glob == glob_end;
}

bool glob__matches(const char *glob, const char *text)
{
    struct full_name name = {.class_name = text, .class_length = strlen(text)};

    return matches(glob, glob + strlen(glob), &name);
}

static bool any_matches(const char *list, const struct full_name *name)
{
    while (*list) {
        const char *end = strchrnul(list, ';');

        if (end > list && matches(list, end, name))
            return true;
        list = *end ? end + 1 : end;
    }
    return false;
}

bool method_filter__admits(const char *include, const char *exclude, const char *class_name,
                           const char *method_name)
{
    struct full_name name = {class_name, strlen(class_name), method_name};

    if (include && !any_matches(include, &name))
        return false;
    return !exclude || !any_matches(exclude, &name);
}

/* Can the glob match any "class_name.method"? Its part before the first star decides. */
static bool reaches_into(const char *glob, const char *glob_end, const char *class_name)
{
    struct full_name name = {class_name, strlen(class_name), ""};

    for (size_t at = 0; char_at(&name, at); at++, glob++) {
        if (glob == glob_end)
            return false;
        if (*glob == '*')
            return true;
        if (*glob != char_at(&name, at))
            return false;
    }
    return glob < glob_end;
}

/* Does the glob match every "class_name.method"? Only one that ends in a star can. */
static bool takes_whole(const char *glob, const char *glob_end, const char *class_name)
{
    struct full_name name = {class_name, strlen(class_name), ""};

    return glob_end[-1] == '*' && matches(glob, glob_end, &name);
}

static bool any_glob(const char *list, const char *class_name,
                     bool (*test)(const char *glob, const char *glob_end, const char *class_name))
{
    while (*list) {
        const char *end = strchrnul(list, ';');

        if (end > list && test(list, end, class_name))
            return true;
        list = *end ? end + 1 : end;
    }
    return false;
}

bool method_filter__admits_some(const char *include, const char *exclude, const char *class_name)
{
    if (include && !any_glob(include, class_name, reaches_into))
        return false;
    return !exclude || !any_glob(exclude, class_name, takes_whole);
}
