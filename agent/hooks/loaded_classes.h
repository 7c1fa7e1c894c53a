/* Classes that are loaded already: given to the JVM to be transformed again, those that hooks are
 * to be put into or taken out of. Takes its time; not for hooks. */
#ifndef TREADLE_LOADED_CLASSES_H
#define TREADLE_LOADED_CLASSES_H

#include <jvmti.h>
#include <stdbool.h>

struct agent;

/* Whether the loaded class is to be transformed; name is internal, without L and ;. */
typedef bool (*choose_class)(struct agent *agent, JNIEnv *jni, jobject loader, const char *name);

/* Classes that were in the JVM's list: by identity, since loaders have classes of one name. */
struct listed_classes {
    jint *hashes; /* sorted */
    jint count;
};

/* But for interfaces, see agent/hooks/interface_hooks.h, and for those that are listed; these are
 * all that there are afterwards. `listed`: NULL, or begins as zeros. How many were transformed;
 * those that the JVM refused, each alone, are told to `refused`. */
jint loaded_classes__transform(struct agent *agent, JNIEnv *jni, choose_class choose,
                               void (*refused)(struct agent *agent, const char *name,
                                               jvmtiError error),
                               struct listed_classes *listed);

void listed_classes__release(struct listed_classes *listed);

#endif
