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
