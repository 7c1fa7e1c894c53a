/* What the hooks need of the JDK's own classes. For a thread that may run Java. */
#ifndef TREADLE_JDK_CLASSES_H
#define TREADLE_JDK_CLASSES_H

#include <jni.h>

/* Global references: to the platform class loader, and to the class of virtual threads, loaded but
 * not initialised; NULL where the JVM has none. */
jobject jdk_classes__platform_loader(JNIEnv *jni);
jclass jdk_classes__virtual_thread(JNIEnv *jni);

#endif
