/* Annotations (JVMS 4.7.16): parsed just far enough to find one by its type. One thread at a time.
 */
#ifndef TREADLE_ANNOTATIONS_H
#define TREADLE_ANNOTATIONS_H

#include "agent/classfile/class_file.h"
#include "agent/classfile/constant_pool.h"

/* The reader records whether the annotations were well-formed. */
void annotation__skip(struct class_reader *reader);

/* True if the content of a Runtime…Annotations attribute has one of these types. The types are
 * descriptors, ended by NULL. Parsing ends at malformed content, as in the JVM. */
bool annotations__have(struct class_reader content, const struct constant_pool *pool,
                       const char *const *types);

#endif
