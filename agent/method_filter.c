#include "agent/method_filter.h"

#include <stdio.h>
#include <string.h>

static bool matches(const char *glob, const char *glob_end, const char *text)
{
    const char *star = NULL, *retry = NULL;

    while (*text) {
        if (glob < glob_end && *glob == '*') {
            star = glob++;
            retry = text;
        } else if (glob < glob_end && *glob == *text) {
            glob++;
            text++;
        } else if (star) {
            glob = star + 1;
            text = ++retry;
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
    return matches(glob, glob + strlen(glob), text);
}

static bool any_matches(const char *list, const char *text)
{
    while (*list) {
        const char *end = strchrnul(list, ';');

        if (end > list && matches(list, end, text))
            return true;
        list = *end ? end + 1 : end;
    }
    return false;
}

bool method_filter__admits(const char *include, const char *exclude, const char *class_name,
                           const char *method_name)
{
    char full[2048];

    snprintf(full, sizeof full, "%s.%s", class_name, method_name);
    if (include && !any_matches(include, full))
        return false;
    return !exclude || !any_matches(exclude, full);
}
