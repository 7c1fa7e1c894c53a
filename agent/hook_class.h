/*
 * The class whose static native methods the hooks call: java.lang.TreadleHooks, defined into the
 * boot loader from bytes that are made here, so that the agent is one file. In java.lang since
 * every class loader asks the boot loader for that package, modules and OSGi bundles included.
 *
 *     public static native long enter(int method);   a token of the frame
 *     public static native void leave(long token);
 *     public static native void caught(long token);
 *     public static native void starting(Object virtualThread);   the caller starts it
 *     public static native void pinned(Object virtualThread);     it blocks its carrier
 */
#ifndef TREADLE_HOOK_CLASS_H
#define TREADLE_HOOK_CLASS_H

#include <jni.h>
#include <stdbool.h>

#define HOOK_CLASS "java/lang/TreadleHooks"

enum hook { HOOK_ENTER, HOOK_LEAVE, HOOK_CAUGHT, HOOK_STARTING, HOOK_PINNED, HOOK_COUNT };

/* Natives to bind in other classes of the boot loader, while we are at it. */
struct bound_natives {
    jclass class;
    const JNINativeMethod *methods;
    jint count;
};

/* Defines the class and links it to the hooks. `more`: or NULL. 0, or -ENOTSUP when the JVM
 * refuses. Once a JVM; any thread that may run Java. */
int hook_class__define(JNIEnv *jni, const JNINativeMethod hooks[HOOK_COUNT],
                       const struct bound_natives *more);

/* Is that internal name one of ours? */
bool hook_class__is_ours(const char *class_name);

#endif
