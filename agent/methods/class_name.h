/* Conversion of class names between the form of class files (`java/util/Map`) and the form that
 * people write (`java.util.Map`). */
#ifndef TREADLE_CLASS_NAME_H
#define TREADLE_CLASS_NAME_H

#include <stddef.h>

static inline void class_name__replace(char *name, size_t length, char old, char new)
{
    for (size_t i = 0; i < length; i++)
        if (name[i] == old)
            name[i] = new;
}

/* A character of a name in either form, as people write it. */
static inline char class_name__dotted(char c)
{
    return c == '/' ? '.' : c;
}

static inline void class_name__to_dots(char *name, size_t length)
{
    class_name__replace(name, length, '/', '.');
}

static inline void class_name__to_slashes(char *name, size_t length)
{
    class_name__replace(name, length, '.', '/');
}

#endif
