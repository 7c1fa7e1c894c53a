/* Annotations (JVMS 4.7.16), as far as one must know them to find one. One thread at a time. */
#ifndef TREADLE_ANNOTATIONS_H
#define TREADLE_ANNOTATIONS_H

#include "agent/classfile/class_file.h"
#include "agent/classfile/constant_pool.h"

/* The reader knows whether it was well-formed. */
void annotation__skip(struct class_reader *reader);

/* Whether the content of a Runtime…Annotations attribute has one of these types, descriptors with a
 * NULL behind the last. What is malformed is not looked at any further, as by the JVM. */
bool annotations__have(struct class_reader content, const struct constant_pool *pool,
                       const char *const *types);

#endif
