/*
 * Changes of loaded classes (RetransformClasses): hooks are put in, put back, or taken out. One
 * change at a time; each stops the JVM for some milliseconds. For a thread that may run Java and
 * wait.
 */
#ifndef TREADLE_CLASS_CHANGES_H
#define TREADLE_CLASS_CHANGES_H

#include <jni.h>
#include <stdbool.h>
#include <stdint.h>

struct class_hooks;

/* Puts hooks into all chosen classes, or takes all hooks out. A new start also puts hooks back into
 * methods that are off. A log line says which changes failed. */
void class_changes__insert(struct class_hooks *hooks, JNIEnv *jni);
void class_changes__remove(struct class_hooks *hooks, JNIEnv *jni);

/* Puts hooks back into these methods, which are off, in all loaded classes that have them; hooks of
 * methods that stay off are removed from these classes. Does nothing while no class is to have
 * hooks. */
void class_changes__renew(struct class_hooks *hooks, JNIEnv *jni, const uint32_t *methods,
                          uint32_t count);

/* Puts hooks where the holds of contended locks begin and end: into the classes with
 * CLASS_CONTENDED but those whose calls last, and, `locks`, into AbstractOwnableSynchronizer. */
void class_changes__hook_locks(struct class_hooks *hooks, JNIEnv *jni, bool locks);

#endif
