#include "agent/hooks/loaded_classes.h"

#include "agent/hooks/class_hooks.h"
#include "agent/hooks/interface_hooks.h"
#include "agent/hooks/unhooked_classes.h"

#include <stdlib.h>
#include <string.h>

/* Classes transformed at a time. Each time stops the JVM: for some 13 ms whatever the number, and
 * for 0.05 ms more a class. With jython's 2,500 classes 64 at a time made 45 to 49 pauses, 0.7 to
 * 0.9 s in all, the longest 22 to 32 ms; 256 at a time 12 to 21 pauses, 0.3 to 0.4 s, the longest
 * 36 ms; 16 at a time 164 to 174 pauses, 3.1 to 4.6 s (JDK 17 and 25, -Xlog:safepoint). */
#define BATCH 64

struct transformation {
    struct class_hooks *hooks;
    JNIEnv *jni;
    void (*refused)(struct class_hooks *hooks, const char *name, jvmtiError error);
};

/* The internal name of a class, to be deallocated; NULL: of an array. */
static char *name_of(jvmtiEnv *jvmti, jclass class)
{
    char *signature = NULL;
    size_t length;

    if ((*jvmti)->GetClassSignature(jvmti, class, &signature, NULL) != JVMTI_ERROR_NONE)
        return NULL;
    length = strlen(signature);
    if (signature[0] != 'L' || signature[length - 1] != ';') {
        (*jvmti)->Deallocate(jvmti, (unsigned char *)signature);
        return NULL;
    }
    memmove(signature, signature + 1, length - 2);
    signature[length - 2] = '\0';
    return signature;
}

static bool is_modifiable(jvmtiEnv *jvmti, jclass class)
{
    jboolean modifiable = JNI_FALSE;

    return (*jvmti)->IsModifiableClass(jvmti, class, &modifiable) == JVMTI_ERROR_NONE && modifiable;
}

/* True if a class without hooks is to stay so: a loop of it lasts, or lasted at an earlier start. A
 * class that was looked at before gets hooks all the same: it may have had some, and without them
 * its numbers of calls would be too small, and nothing would say so. */
static bool must_stay_unhooked(struct class_hooks *hooks, jclass class, const char *name,
                               const struct numbered_class *known)
{
    struct numbered_class *noted;

    if ((!known || !numbered_class__is(known, CLASS_LOOPING)) &&
        (!lasting_calls__has(&hooks->lasting, name) ||
         (known && numbered_class__rewritten_ns(known))))
        return false;
    if (!known || !numbered_class__is(known, CLASS_COUNTED))
        unhooked_classes__note(hooks, class, name, UNHOOKED_LOOPING, CLASS_COUNTED);
    noted = method_numbers__find_class(&hooks->methods, name);
    if (noted)
        (void)numbered_class__mark(noted, CLASS_LOOPING);
    return true;
}

/* A class that a running loop is in stays as it is, from then on: without hooks, or with hooks that
 * are muted when they are not wanted (agent/hooks/interface_hooks.h). */
static bool must_stay_for_loop(struct class_hooks *hooks, JNIEnv *jni, jobject loader, jclass class,
                               const char *name)
{
    struct numbered_class *known = method_numbers__find_class(&hooks->methods, name);

    if (known && numbered_class__is(known, CLASS_KEPT))
        return true;
    if (!known || !numbered_class__is(known, CLASS_HOOKED))
        return must_stay_unhooked(hooks, class, name, known);
    if (!lasting_calls__has(&hooks->lasting, name))
        return false;
    interface_hooks__keep(hooks, known, class_hooks__is_jdk_loader(hooks, jni, loader));
    return true;
}

static bool is_chosen(struct class_hooks *hooks, JNIEnv *jni, choose_class choose, jclass class)
{
    jvmtiEnv *jvmti = hooks->jvmti;
    jobject loader = NULL;
    char *name = name_of(jvmti, class);
    bool chosen = false;

    if (name && (*jvmti)->GetClassLoader(jvmti, class, &loader) == JVMTI_ERROR_NONE)
        chosen = choose(hooks, jni, loader, name) && is_modifiable(jvmti, class) &&
                 !interface_hooks__must_stay(hooks, class, name) &&
                 !must_stay_for_loop(hooks, jni, loader, class, name);
    if (loader)
        (*jni)->DeleteLocalRef(jni, loader);
    (*jvmti)->Deallocate(jvmti, (unsigned char *)name);
    return chosen;
}

/* If the JVM refuses one class, it refuses all that are passed with it: so they are passed in
 * halves until the refused class is alone.
 */
static void transform(const struct transformation *transformation, const jclass *classes,
                      jint count)
{
    jvmtiEnv *jvmti = transformation->hooks->jvmti;
    jvmtiError error = (*jvmti)->RetransformClasses(jvmti, count, classes);

    if (error == JVMTI_ERROR_NONE)
        return;
    if (count > 1) {
        transform(transformation, classes, count / 2);
        transform(transformation, classes + count / 2, count - count / 2);
    } else {
        char *name = name_of(jvmti, classes[0]);

        transformation->refused(transformation->hooks, name ? name : "?", error);
        (*jvmti)->Deallocate(jvmti, (unsigned char *)name);
    }
}

/* The references go at once: classes that nobody else holds can be unloaded meanwhile. */
static void transform_batch(const struct transformation *transformation, const jclass *classes,
                            jint count)
{
    transform(transformation, classes, count);
    for (jint i = 0; i < count; i++)
        (*transformation->jni)->DeleteLocalRef(transformation->jni, classes[i]);
}

static int by_value(const void *left, const void *right)
{
    jint a = *(const jint *)left, b = *(const jint *)right;

    return (a > b) - (a < b);
}

static jint hash_of(jvmtiEnv *jvmti, jclass class)
{
    jint hash = 0;

    (void)(*jvmti)->GetObjectHashCode(jvmti, class, &hash);
    return hash;
}

static bool is_listed(const struct listed_classes *listed, jvmtiEnv *jvmti, jclass class)
{
    jint hash;

    if (!listed || !listed->hashes)
        return false;
    hash = hash_of(jvmti, class);
    return bsearch(&hash, listed->hashes, (size_t)listed->count, sizeof(hash), by_value) != NULL;
}

/* Without memory none is known: some are transformed twice. */
static jint *hashes_of(jvmtiEnv *jvmti, const jclass *classes, jint count)
{
    jint *hashes = malloc((size_t)count * sizeof(*hashes));

    for (jint i = 0; hashes && i < count; i++)
        hashes[i] = hash_of(jvmti, classes[i]);
    if (hashes)
        qsort(hashes, (size_t)count, sizeof(*hashes), by_value);
    return hashes;
}

void listed_classes__release(struct listed_classes *listed)
{
    free(listed->hashes);
    *listed = (struct listed_classes){0};
}

jint loaded_classes__transform(struct class_hooks *hooks, JNIEnv *jni, choose_class choose,
                               void (*refused)(struct class_hooks *hooks, const char *name,
                                               jvmtiError error),
                               struct listed_classes *listed)
{
    struct transformation transformation = {.hooks = hooks, .jni = jni, .refused = refused};
    jvmtiEnv *jvmti = hooks->jvmti;
    struct listed_classes now = {0};
    jclass *classes;
    jint chosen = 0;
    uint64_t began;

    if ((*jvmti)->GetLoadedClasses(jvmti, &now.count, &classes) != JVMTI_ERROR_NONE)
        return 0;
    if (listed)
        now.hashes = hashes_of(jvmti, classes, now.count);
    for (jint i = 0; i < now.count; i++)
        if (!is_listed(listed, jvmti, classes[i]) && is_chosen(hooks, jni, choose, classes[i]))
            classes[chosen++] = classes[i];
        else
            (*jni)->DeleteLocalRef(jni, classes[i]);
    began = own_cost__begin_classes(hooks->own_cost, true);
    for (jint done = 0; done < chosen; done += BATCH)
        transform_batch(&transformation, classes + done,
                        chosen - done < BATCH ? chosen - done : BATCH);
    own_cost__end_classes(hooks->own_cost, began);
    (*jvmti)->Deallocate(jvmti, (unsigned char *)classes);
    if (listed) {
        listed_classes__release(listed);
        *listed = now;
    }
    return chosen;
}
