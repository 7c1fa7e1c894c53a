/*
 * Hooks in interfaces stay as they are once other threads may load classes. While HotSpot (17 and
 * 25, and any in between) defines a class, it keeps pointers to the methods of the interfaces that
 * the class implements; to change such an interface at that moment frees these methods, and the JVM
 * crashes in DefaultMethods::generate_default_methods. So
 *
 *   - an interface gets hooks as it is loaded, or before the program's first thread runs, or never;
 *   - while all hooks are taken out, and where a later filter leaves a method out, its hooks are
 *     muted (agent/methods/hook_class.h): a call then costs some loads, and is not heard.
 *
 * Hooks in a class whose loop lasts at a stop (agent/threads/lasting_calls.h) stay from then on in
 * the same way.
 *
 * For the thread that changes classes, under class_hooks.change_lock. Not for hooks.
 */
#ifndef TREADLE_INTERFACE_HOOKS_H
#define TREADLE_INTERFACE_HOOKS_H

#include "agent/methods/method_numbers.h"

#include <jvmti.h>
#include <stdbool.h>

struct class_hooks;
struct method_filter;

/* True if the loaded class is an interface that must not be changed. An interface that has code and
 * no hooks is noted as left alone. `name` is internal. */
bool interface_hooks__must_stay(struct class_hooks *hooks, jclass class, const char *name);

/* To be called when the class got the hooks that were passed to method_numbers__set_hooked: an
 * interface keeps them from now on. Any thread. */
void interface_hooks__keep(struct class_hooks *hooks, struct numbered_class *class, bool is_jdk);

/* True if the filter admits the method, which keeps its hooks. */
bool interface_hooks__admits(const struct method_filter *filter,
                             const struct numbered_method *method);

/* Mutes all kept hooks. */
void interface_hooks__hold(struct class_hooks *hooks, JNIEnv *jni);

/* Unmutes the kept hooks of methods that the filter admits, and counts these methods in the
 * ledger's header if the filter is new. */
void interface_hooks__release(struct class_hooks *hooks, JNIEnv *jni);

#endif
