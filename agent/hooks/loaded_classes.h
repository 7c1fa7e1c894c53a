/* Retransformation of loaded classes: the classes into which hooks are to be put, or out of which
 * they are to be taken, are passed to the JVM. Slow; not for hooks. */
#ifndef TREADLE_LOADED_CLASSES_H
#define TREADLE_LOADED_CLASSES_H

#include <jvmti.h>
#include <stdbool.h>

struct class_hooks;

/* Whether the loaded class is to be transformed; name is internal, without L and ;. */
typedef bool (*choose_class)(struct class_hooks *hooks, JNIEnv *jni, jobject loader,
                             const char *name);

/* The classes in the JVM's list, by identity, since several loaders may have classes of one name.
 */
struct listed_classes {
    jint *hashes; /* sorted */
    jint count;
};

/* Transforms the chosen classes, except interfaces that must stay (agent/hooks/interface_hooks.h)
 * and classes in `listed`, which lists all loaded classes afterwards; NULL: no list; zero it before
 * the first call. Returns the number of transformed classes. `refused` is called for each class
 * that the JVM refused. */
jint loaded_classes__transform(struct class_hooks *hooks, JNIEnv *jni, choose_class choose,
                               void (*refused)(struct class_hooks *hooks, const char *name,
                                               jvmtiError error),
                               struct listed_classes *listed);

void listed_classes__release(struct listed_classes *listed);

#endif
