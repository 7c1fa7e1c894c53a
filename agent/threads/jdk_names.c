#include "agent/threads/jdk_names.h"

#include <stddef.h>

jclass jdk_names__class(JNIEnv *jni, const char *name)
{
    jclass found = (*jni)->FindClass(jni, name);
    jclass global = found ? (*jni)->NewGlobalRef(jni, found) : NULL;

    if ((*jni)->ExceptionCheck(jni))
        (*jni)->ExceptionClear(jni);
    (*jni)->DeleteLocalRef(jni, found);
    return global;
}

jfieldID jdk_names__field(JNIEnv *jni, const char *class_name, const char *name, const char *type)
{
    jclass class = (*jni)->FindClass(jni, class_name);
    jfieldID field = class ? (*jni)->GetFieldID(jni, class, name, type) : NULL;

    if ((*jni)->ExceptionCheck(jni))
        (*jni)->ExceptionClear(jni);
    (*jni)->DeleteLocalRef(jni, class);
    return field;
}
