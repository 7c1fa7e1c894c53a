#include "agent/methods/api_class.h"

#include <string.h>

bool api_class__is(const char *class_name)
{
    size_t package = strlen("treadle");
    const char *name = class_name + package + 1, *end = name + strlen("Activity");

    if (strncmp(class_name, "treadle", package) != 0 ||
        (class_name[package] != '/' && class_name[package] != '.') ||
        strncmp(name, "Activity", strlen("Activity")) != 0)
        return false;
    return *end == '\0' || *end == '$';
}
