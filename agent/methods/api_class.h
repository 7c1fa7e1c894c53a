/* The classes that push logical frames (agent/api). */
#ifndef TREADLE_API_CLASS_H
#define TREADLE_API_CLASS_H

#include <stdbool.h>

/* True of them, by their internal name or the dotted one: they have no nodes of their own. */
bool api_class__is(const char *class_name);

#endif
