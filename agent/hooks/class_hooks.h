/*
 * events=instrument: hooks in classes. They are put in as classes are loaded and into those that
 * are loaded already, and taken out again, by rewriting class files
 * (agent/classfile/class_rewriter.h) when the JVM asks for it (ClassFileLoadHook;
 * agent/hooks/class_changes.h has it ask). The bytes that a class gets back are the ones it had.
 *
 * Which methods: include= and exclude=. Without include the default set: no class of the boot and
 * platform loaders (the JDK's own), no trivial accessor. Not for hooks.
 */
#ifndef TREADLE_CLASS_HOOKS_H
#define TREADLE_CLASS_HOOKS_H

#include "agent/methods/method_filter.h"
#include "agent/methods/method_numbers.h"
#include "native/ledger/ledger_format.h"

#include <jvmti.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

struct agent;
struct class_listing;

struct class_hooks {
    struct method_numbers methods;
    jobject platform_loader;      /* a global reference, or NULL */
    pthread_rwlock_t filter_lock; /* of the filter in the agent's options */
    pthread_mutex_t change_lock;  /* while loaded classes are changed, taken before the others */
    bool everywhere;       /* else only in the JDK's class of virtual threads, for its starts */
    jclass virtual_thread; /* that class, a global reference; NULL: there is none */
    _Atomic bool starts_wanted; /* it is to have hooks: somebody may make virtual threads */
    _Atomic bool wanted;        /* classes are to have hooks */
    bool interfaces_may_change; /* nothing is loaded beside yet */
};

/* Once, when the JVM can run Java. 0 or -errno: a line was said. */
int class_hooks__begin(struct agent *agent, JNIEnv *jni, bool rebind_natives);

/* Other methods from the next insert on. The filter is exchanged with the one before. */
void class_hooks__set_filter(struct agent *agent, struct method_filter *filter);

/* Is the loaded class to have hooks, if it has none yet? A choose_class of
 * agent/hooks/loaded_classes.h.
 */
bool class_hooks__is_to_be_hooked(struct agent *agent, JNIEnv *jni, jobject loader,
                                  const char *name);

/* The JVM does not change the class: that is said, in the ledger and in a line. */
void class_hooks__note_refused(struct agent *agent, const char *name, jvmtiError error);

/* The class is an interface that is not changed any more: that is said in the ledger, with the
 * methods that have no hooks for that. */
void class_hooks__note_interface(struct agent *agent, const char *name,
                                 const struct class_listing *listing);

/* A call_tree_resolve: context is the struct agent, key the number that the hooks pass. */
ledger_ref class_hooks__resolve(void *context, uint64_t key);

/* A JVMTI callback. */
void JNICALL class_hooks__file_loaded(jvmtiEnv *jvmti, JNIEnv *jni, jclass class_being_redefined,
                                      jobject loader, const char *name, jobject protection_domain,
                                      jint length, const unsigned char *bytes, jint *new_length,
                                      unsigned char **new_bytes);

#endif
