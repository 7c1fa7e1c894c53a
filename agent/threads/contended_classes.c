#include "agent/threads/contended_classes.h"

#include "agent/threads/lock_waits.h"

#include <string.h>

#define NAME_BYTES   1024u
#define HOLDER_NODES 3u /* of the holder's path: where it may have entered the monitor */

static void want_class(struct java_threads *threads, struct numbered_class *class)
{
    if (class && !numbered_class__is(class, CLASS_MONITORS) &&
        numbered_class__mark(class, CLASS_CONTENDED))
        atomic_store(&threads->locks->holds.classes_wanted, true);
}

/* Of the methods on the innermost nodes of a path. */
static void want_classes(struct java_threads *threads, ledger_ref ref)
{
    for (unsigned i = 0; ref && i < HOLDER_NODES; i++) {
        const struct ledger_node *node = ledger__at(threads->ledger, ref);
        ledger_ref method = __atomic_load_n(&node->method, __ATOMIC_RELAXED);
        const struct ledger_method *record = ledger__at(threads->ledger, method);
        const struct numbered_method *numbered =
            method && !(record->flags & ~(uint32_t)METHOD_LATENCY)
                ? method_numbers__get(threads->methods, (uint32_t)record->key)
                : NULL;

        if (numbered)
            want_class(threads, numbered->class);
        ref = __atomic_load_n(&node->parent, __ATOMIC_RELAXED);
    }
}

/* Of the method that the calling thread runs. */
static void want_own_class(struct java_threads *threads, JNIEnv *jni)
{
    jvmtiEnv *jvmti = threads->jvmti;
    char *signature = NULL, name[NAME_BYTES];
    jmethodID method = NULL;
    jclass class = NULL;
    jlocation location;
    size_t length;

    if ((*jvmti)->GetFrameLocation(jvmti, NULL, 0, &method, &location) != JVMTI_ERROR_NONE ||
        (*jvmti)->GetMethodDeclaringClass(jvmti, method, &class) != JVMTI_ERROR_NONE)
        return;
    if ((*jvmti)->GetClassSignature(jvmti, class, &signature, NULL) == JVMTI_ERROR_NONE) {
        length = strlen(signature);
        if (length > 2 && length < NAME_BYTES) {
            memcpy(name, signature + 1, length - 2);
            name[length - 2] = '\0';
            want_class(threads, method_numbers__find_class(threads->methods, name));
        }
    }
    (*jvmti)->Deallocate(jvmti, (unsigned char *)signature);
    (*jni)->DeleteLocalRef(jni, class);
}

void contended_classes__want(struct java_threads *threads, JNIEnv *jni, ledger_ref owner_node)
{
    want_own_class(threads, jni);
    want_classes(threads, owner_node);
}
