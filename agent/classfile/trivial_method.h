/* What a method's code does at all: less work than a hook; with monitors. Any thread. */
#ifndef TREADLE_TRIVIAL_METHOD_H
#define TREADLE_TRIVIAL_METHOD_H

#include "agent/classfile/class_rewriter.h"

/* Getters, setters, constants and empty methods: at most 8 bytes of code from the first instruction
 * to a return, without calls, new objects, jumps, throws or monitors. */
bool class_method__is_trivial(const struct class_method *method);

/* A synchronized method, or one that enters monitors. */
bool class_method__has_monitors(const struct class_method *method);

#endif
