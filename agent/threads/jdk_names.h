/*
 * Classes and fields of the JDK by their names, which not every JDK has. What is missing is NULL;
 * no exception stays pending. For the start of something, not for hooks.
 */
#ifndef TREADLE_JDK_NAMES_H
#define TREADLE_JDK_NAMES_H

#include <jni.h>

/* A global reference, or NULL. */
jclass jdk_names__class(JNIEnv *jni, const char *name);

/* An instance field of that type, by its signature. */
jfieldID jdk_names__field(JNIEnv *jni, const char *class_name, const char *name, const char *type);

#endif
