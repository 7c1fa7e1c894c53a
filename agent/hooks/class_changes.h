/*
 * Changes of loaded classes (RetransformClasses): hooks are put in, put back, or taken out. One
 * change at a time; each stops the JVM for some milliseconds. For a thread that may run Java and
 * wait.
 *
 * A JVM keeps memory of each change: entries of constant pools that HotSpot finds no match for and
 * adds, and on JDK 17 the old version of a class as long as code that was compiled from it. So
 * where there are quotas, a stop leaves the hooks in the classes for some time, silent. A start in
 * that time changes no class but for methods that are off. Later the hooks are taken out
 * (agent/budget/hook_renewal.h).
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

/* Silences all hooks, which stay in the classes. Classes that are loaded get theirs, silent as
 * well. False: there are no quotas, and nothing was done. */
bool class_changes__silence(struct class_hooks *hooks, JNIEnv *jni);

/* Takes the hooks out if class_hooks__silence_is_over still: there may have been a start meanwhile.
 */
void class_changes__remove_silent(struct class_hooks *hooks, JNIEnv *jni);

/* Puts hooks back into these methods, which are off, in all loaded classes that have them; hooks of
 * methods that stay off are removed from these classes. Does nothing while profiling is
 * stopped. */
void class_changes__renew(struct class_hooks *hooks, JNIEnv *jni, const uint32_t *methods,
                          uint32_t count);

/* Puts hooks where the holds of contended locks begin and end: into the classes with
 * CLASS_CONTENDED but those whose calls last, `locks`, into AbstractOwnableSynchronizer, and into
 * those of the kinds of shared locks (bits; agent/threads/shared_lock_methods.h). */
void class_changes__hook_locks(struct class_hooks *hooks, JNIEnv *jni, bool locks, uint32_t shared);

#endif
