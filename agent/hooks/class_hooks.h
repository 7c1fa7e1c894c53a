/*
 * events=instrument: hooks in classes. Hooks are put into classes as they are loaded and into
 * classes that are loaded already, and are taken out again, by rewriting class files
 * (agent/classfile/class_rewriter.h) when the JVM asks for it (ClassFileLoadHook;
 * agent/hooks/class_changes.h makes the JVM ask). A class without hooks again has its original
 * bytes.
 *
 * include= and exclude= choose the methods. Without include= the default set applies: no class of
 * the boot and platform loaders (the JDK's own), no trivial accessor. A method of latency= has
 * hooks in any case, unless exclude= names it. Not for hooks.
 */
#ifndef TREADLE_CLASS_HOOKS_H
#define TREADLE_CLASS_HOOKS_H

#include "agent/hooks/left_out_methods.h"
#include "agent/methods/generated_names.h"
#include "agent/methods/hook_class.h"
#include "agent/methods/hook_quota.h"
#include "agent/methods/method_filter.h"
#include "agent/methods/method_numbers.h"
#include "agent/methods/plan.h"
#include "agent/threads/lasting_calls.h"
#include "native/host/own_cost.h"
#include "native/ledger/ledger.h"
#include "native/ledger/ledger_time.h"

#include <jvmti.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#define OWNABLE_CLASS "java/util/concurrent/locks/AbstractOwnableSynchronizer"

/* For so long hooks stay in the classes after a stop. Who looks at a program in turns, by hand or
 * in a script, starts again within seconds; who is done with it does not want silent hooks, a few
 * nanoseconds a call, for long. One change of all classes a minute at most is left: on JDK 17 that
 * of one class leaves some 30 KB. */
#define SILENT_HOOKS_NS UINT64_C(60000000000)

struct class_hooks {
    /* what the hooks work with; set before they begin */
    jvmtiEnv *jvmti;
    struct ledger *ledger;
    const struct ledger_time *time;
    struct method_filter *filter;
    struct hook_quotas *quotas;
    struct hook_class *hook_class;
    struct plan *plan; /* or NULL */
    struct generated_names *generated;
    struct own_cost *own_cost;
    uint64_t max_mem; /* the ledger's bound, and that of the methods' names beside it */
    bool everywhere;  /* else hooks only in the JDK's class of virtual threads, for their starts */
    bool has_virtual_threads;
    bool hears_waits; /* waits=on */

    struct method_numbers methods;
    struct left_out_methods left_out;
    jobject platform_loader;      /* a global reference, or NULL */
    pthread_rwlock_t filter_lock; /* of the filter */
    pthread_mutex_t
        change_lock;       /* held while loaded classes are changed; taken before the other locks */
    jclass virtual_thread; /* a global reference to that class; NULL: there is none */
    _Atomic bool
        starts_wanted; /* that class is to have hooks: the program may make virtual threads */
    _Atomic bool locks_hooked;        /* AbstractOwnableSynchronizer is to have a hook */
    _Atomic uint32_t shared_hooked;   /* kinds (bits) of shared locks whose classes are, too */
    uint32_t shared_new;              /* those that get them just now; under change_lock */
    _Atomic bool wanted;              /* classes are to have hooks */
    _Atomic bool filter_is_new;       /* it was set since hooks were put in last */
    _Atomic uint64_t silent_since_ns; /* profiling is stopped since then, and the hooks are still in
                                         the classes; 0: it is not so. Written under change_lock */
    struct lasting_calls lasting;     /* during a change: the classes to be left as they are; under
                                         change_lock */
    const struct lasting_calls *busy; /* … while hooks of locks are put in; under change_lock */
    bool interfaces_may_change;       /* no other thread can be loading classes yet */
};

/* True if hooks have been silent for so long that they are to be taken out. Any thread. */
static inline bool class_hooks__silence_is_over(const struct class_hooks *hooks)
{
    uint64_t since_ns = atomic_load(&hooks->silent_since_ns);

    return since_ns && ledger_time__now_ns(hooks->time) - since_ns >= SILENT_HOOKS_NS;
}

/* To be called once, when the JVM can run Java. The natives become those of the hook class, see
 * hook_class__define. 0 or -errno, with a log line. */
int class_hooks__begin(struct class_hooks *hooks, JNIEnv *jni,
                       const JNINativeMethod natives[HOOK_COUNT], const struct bound_natives *more);

/* Sets the methods to be hooked from the next insert on. The two filters are swapped, unless they
 * are the same. */
void class_hooks__set_filter(struct class_hooks *hooks, struct method_filter *filter);

/* True of the boot and the platform loader. */
bool class_hooks__is_jdk_loader(const struct class_hooks *hooks, JNIEnv *jni, jobject loader);

/* True if the loaded class is to have hooks and has none yet. A choose_class of
 * agent/hooks/loaded_classes.h. */
bool class_hooks__is_to_be_hooked(struct class_hooks *hooks, JNIEnv *jni, jobject loader,
                                  const char *name);

/* A call_tree_resolve; context is the struct class_hooks, key is the number that the hooks pass. */
ledger_ref class_hooks__resolve(void *context, uint64_t key);

/* To be called when the JVM loads a class or changes a loaded one (is_loaded). *new_bytes becomes
 * the new class file, in memory of the JVM, if the class is to be changed. Any thread that loads
 * classes. */
void class_hooks__file_loaded(struct class_hooks *hooks, JNIEnv *jni, bool is_loaded,
                              jobject loader, const char *name, jint length,
                              const unsigned char *bytes, jint *new_length,
                              unsigned char **new_bytes);

#endif
