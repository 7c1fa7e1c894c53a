#include "agent/hooks/jdk_classes.h"

#include <stddef.h>

/* A reference to the platform class loader; NULL where the JVM has none. */
jobject jdk_classes__platform_loader(JNIEnv *jni)
{
    jclass class = (*jni)->FindClass(jni, "java/lang/ClassLoader");
    jmethodID get = class ? (*jni)->GetStaticMethodID(jni, class, "getPlatformClassLoader",
                                                      "()Ljava/lang/ClassLoader;")
                          : NULL;
    jobject loader = get ? (*jni)->CallStaticObjectMethod(jni, class, get) : NULL;

    if ((*jni)->ExceptionCheck(jni)) {
        (*jni)->ExceptionClear(jni);
        return NULL;
    }
    return loader ? (*jni)->NewGlobalRef(jni, loader) : NULL;
}

/* Not initialized, as FindClass would do: that
 * makes the scheduler and its threads, which most programs never need. Not where there is none: a
 * debugger that waits for exceptions would stop at the one that tells so. */
jclass jdk_classes__virtual_thread(JNIEnv *jni)
{
    jobject loaded = NULL;
    jclass class = (*jni)->FindClass(jni, "java/lang/Class");
    jmethodID for_name =
        class ? (*jni)->GetStaticMethodID(jni, class, "forName",
                                          "(Ljava/lang/String;ZLjava/lang/ClassLoader;)"
                                          "Ljava/lang/Class;")
              : NULL;
    jstring name = for_name ? (*jni)->NewStringUTF(jni, "java.lang.VirtualThread") : NULL;

    if (name)
        loaded = (*jni)->CallStaticObjectMethod(jni, class, for_name, name, JNI_FALSE, NULL);
    if ((*jni)->ExceptionCheck(jni)) {
        (*jni)->ExceptionClear(jni);
        return NULL;
    }
    return loaded ? (*jni)->NewGlobalRef(jni, loaded) : NULL;
}
