/*
 * What treadle.Activity calls (agent/api): its native methods push and pop logical frames as hooks
 * push and pop calls. Each class loader may have such a class of its own. A class that is
 * initialised while the agent is here announces itself; classes that are older are looked for.
 * While profiling is stopped, the classes are switched off: then they call nothing.
 */
#ifndef TREADLE_ACTIVITY_HOOKS_H
#define TREADLE_ACTIVITY_HOOKS_H

#include <jni.h>
#include <stdbool.h>
#include <stdint.h>

struct agent;
struct kernel_thread;

#define ACTIVITY_CLASSES_MAX 64u

/* The classes known, as weak global references. Lock-free. */
struct activity_classes {
    jweak _Atomic known[ACTIVITY_CLASSES_MAX];
};

/* Binds the class's native methods, and switches the class on if profiling runs. The object may be
 * anything. A thread that may run Java, as for the other functions. */
void activity_hooks__bind(struct agent *agent, JNIEnv *jni, jobject class);

/* The same for all classes that are loaded already. */
void activity_hooks__find(struct agent *agent, JNIEnv *jni);

/* To be called after each start and stop of profiling: switches all classes on or off. */
void activity_hooks__turn(struct agent *agent, JNIEnv *jni);

/* For natives that do more than these. push, push_named: JNI natives; HOOK_TOKEN_NONE: nothing was
 * pushed. pop_slowly: of a token of push. is_of_epoch: of a token of push_named. */
jlong JNICALL activity_hooks__push(JNIEnv *jni, jclass class, jint frame);
jlong JNICALL activity_hooks__push_named(JNIEnv *jni, jclass class, jint frame);
void activity_hooks__pop_slowly(struct kernel_thread *mine, uint64_t token);
bool activity_hooks__is_of_epoch(const struct kernel_thread *mine, jlong token);

#endif
