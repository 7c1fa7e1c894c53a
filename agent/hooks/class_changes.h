/*
 * Changes of classes that are loaded already (RetransformClasses): hooks are put into them, put
 * back, or taken out. One change at a time; each stops the JVM for some milliseconds. On a thread
 * that may run Java and wait.
 */
#ifndef TREADLE_CLASS_CHANGES_H
#define TREADLE_CLASS_CHANGES_H

#include <jni.h>
#include <stdint.h>

struct agent;

/* Puts them in or takes them out, everywhere; a new start is a new chance for methods that are off.
 * A line says what could not be done. */
void class_changes__insert(struct agent *agent, JNIEnv *jni);
void class_changes__remove(struct agent *agent, JNIEnv *jni);

/* Hooks are put back into these methods, which are off: into their classes as they are loaded now,
 * which lose the hooks of those that stay off. Does nothing while classes are to have none. */
void class_changes__renew(struct agent *agent, JNIEnv *jni, const uint32_t *methods,
                          uint32_t count);

#endif
