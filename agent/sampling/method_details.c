#include "agent/sampling/method_details.h"

#include "agent/methods/class_name.h"
#include "native/hash_table.h"

#include <stdlib.h>
#include <string.h>

/* A method without a jmethodID, to be looked for in its class. */
struct sought {
    char *class_name; /* as JVMTI has it: "Ljava/util/Map;" */
    struct java_method *method;
    struct sought *next; /* of the same class */
    UT_hash_handle hh;
};

struct details {
    const struct ledger *ledger;
    struct java_method **methods; /* that lack them */
    size_t count;
    size_t room;
};

static bool was_on_top(const struct ledger *ledger, const struct java_method *method)
{
    ledger_ref ref = __atomic_load_n(&method->ref, __ATOMIC_ACQUIRE);

    return ref &&
           (method->was_on_top || ((const struct ledger_method *)ledger__at(ledger, ref))->places);
}

static void collect(void *context, struct java_method *method)
{
    struct details *details = context;

    if (method->detailed || !was_on_top(details->ledger, method))
        return;
    if (details->count == details->room) {
        size_t wider = details->room ? details->room * 2 : 256;
        struct java_method **grown =
            realloc(details->methods, wider * sizeof(struct java_method *));

        if (!grown)
            return;
        details->methods = grown;
        details->room = wider;
    }
    details->methods[details->count++] = method;
}

static ledger_ref lines_of(struct ledger *ledger, jvmtiEnv *jvmti, jmethodID id)
{
    jvmtiLineNumberEntry *table = NULL;
    ledger_ref ref = 0;
    uint16_t *pairs;
    jint count = 0;

    if ((*jvmti)->GetLineNumberTable(jvmti, id, &count, &table) != JVMTI_ERROR_NONE)
        return 0;
    pairs = calloc((size_t)count, 2 * sizeof(*pairs));
    for (jint i = 0; pairs && i < count; i++) {
        pairs[2 * i] = (uint16_t)table[i].start_location;
        pairs[2 * i + 1] = (uint16_t)table[i].line_number;
    }
    if (pairs && count)
        ref = ledger__string(ledger, (const char *)pairs, (size_t)count * 2 * sizeof(*pairs));
    free(pairs);
    (*jvmti)->Deallocate(jvmti, (unsigned char *)table);
    return ref;
}

static ledger_ref bytecodes_of(struct ledger *ledger, jvmtiEnv *jvmti, jmethodID id)
{
    unsigned char *bytecodes = NULL;
    ledger_ref ref = 0;
    jint count = 0;

    if ((*jvmti)->GetBytecodes(jvmti, id, &count, &bytecodes) != JVMTI_ERROR_NONE)
        return 0;
    if (count)
        ref = ledger__string(ledger, (const char *)bytecodes, (size_t)count);
    (*jvmti)->Deallocate(jvmti, bytecodes);
    return ref;
}

static ledger_ref source_of(struct ledger *ledger, jvmtiEnv *jvmti, JNIEnv *jni, jmethodID id)
{
    char *source = NULL;
    ledger_ref ref = 0;
    jclass class;

    if ((*jvmti)->GetMethodDeclaringClass(jvmti, id, &class) != JVMTI_ERROR_NONE)
        return 0;
    if ((*jvmti)->GetSourceFileName(jvmti, class, &source) == JVMTI_ERROR_NONE) {
        ref = ledger__string(ledger, source, strlen(source));
        (*jvmti)->Deallocate(jvmti, (unsigned char *)source);
    }
    (*jni)->DeleteLocalRef(jni, class);
    return ref;
}

static void record(struct ledger *ledger, jvmtiEnv *jvmti, JNIEnv *jni, struct java_method *method)
{
    struct ledger_method *into = ledger__at(ledger, method->ref);

    method->detailed = true;
    __atomic_store_n(&into->lines, lines_of(ledger, jvmti, method->id), __ATOMIC_RELEASE);
    __atomic_store_n(&into->bytecode, bytecodes_of(ledger, jvmti, method->id), __ATOMIC_RELEASE);
    if (!into->source)
        __atomic_store_n(&into->source, source_of(ledger, jvmti, jni, method->id),
                         __ATOMIC_RELEASE);
}

static char *signature_of(const char *class_name)
{
    size_t length = strlen(class_name);
    char *signature = malloc(length + 3);

    if (!signature)
        return NULL;
    signature[0] = 'L';
    memcpy(signature + 1, class_name, length);
    class_name__to_slashes(signature + 1, length);
    signature[length + 1] = ';';
    signature[length + 2] = '\0';
    return signature;
}

static void seek(struct sought **all, struct java_method *method)
{
    struct sought *sought = calloc(1, sizeof(*sought)), *first;

    if (!sought)
        return;
    sought->method = method;
    sought->class_name = signature_of(method->class_name);
    if (!sought->class_name) {
        free(sought);
        return;
    }
    /* uthash's hash, at which the analyzer loses count.
     * NOLINTBEGIN(clang-analyzer-core.UndefinedBinaryOperatorResult,clang-analyzer-core.uninitialized.Assign)
     */
    HASH_FIND_STR(*all, sought->class_name, first);
    if (first) {
        sought->next = first->next;
        first->next = sought;
        return;
    }
    HASH_ADD_KEYPTR(hh, *all, sought->class_name, strlen(sought->class_name), sought);
    /* NOLINTEND(clang-analyzer-core.UndefinedBinaryOperatorResult,clang-analyzer-core.uninitialized.Assign)
     */
    if (!sought->hh.tbl) {
        free(sought->class_name);
        free(sought);
    }
}

static void match_methods(jvmtiEnv *jvmti, jclass class, const struct sought *first)
{
    jmethodID *ids = NULL;
    jint count = 0;

    if ((*jvmti)->GetClassMethods(jvmti, class, &count, &ids) != JVMTI_ERROR_NONE)
        return;
    for (jint i = 0; i < count; i++) {
        char *name = NULL, *signature = NULL;

        if ((*jvmti)->GetMethodName(jvmti, ids[i], &name, &signature, NULL) != JVMTI_ERROR_NONE)
            continue;
        for (const struct sought *sought = first; sought; sought = sought->next)
            if (strcmp(sought->method->name, name) == 0 &&
                strcmp(sought->method->signature, signature) == 0)
                sought->method->id = ids[i];
        (*jvmti)->Deallocate(jvmti, (unsigned char *)name);
        (*jvmti)->Deallocate(jvmti, (unsigned char *)signature);
    }
    (*jvmti)->Deallocate(jvmti, (unsigned char *)ids);
}

static void match_class(jvmtiEnv *jvmti, jclass class, struct sought *all)
{
    struct sought *sought;
    char *signature = NULL;

    if ((*jvmti)->GetClassSignature(jvmti, class, &signature, NULL) != JVMTI_ERROR_NONE)
        return;
    HASH_FIND_STR(all, signature, sought);
    if (sought)
        match_methods(jvmti, class, sought);
    (*jvmti)->Deallocate(jvmti, (unsigned char *)signature);
}

static void match_loaded(jvmtiEnv *jvmti, JNIEnv *jni, struct sought *all)
{
    jclass *classes = NULL;
    jint count = 0;

    if (!all || (*jvmti)->GetLoadedClasses(jvmti, &count, &classes) != JVMTI_ERROR_NONE)
        return;
    for (jint i = 0; i < count; i++) {
        match_class(jvmti, classes[i], all);
        (*jni)->DeleteLocalRef(jni, classes[i]);
    }
    (*jvmti)->Deallocate(jvmti, (unsigned char *)classes);
}

static void drop(struct sought *all)
{
    struct sought *sought, *following;

    HASH_ITER (hh, all, sought, following) {
        /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc) */
        HASH_DEL(all, sought);
        while (sought) {
            struct sought *next = sought->next;

            free(sought->class_name);
            free(sought);
            sought = next;
        }
    }
}

void method_details__record(struct java_methods *methods, struct ledger *ledger, jvmtiEnv *jvmti,
                            JNIEnv *jni)
{
    struct details details = {.ledger = ledger};
    struct sought *all = NULL;

    java_methods__each(methods, collect, &details);
    for (size_t i = 0; i < details.count; i++)
        if (!details.methods[i]->id)
            seek(&all, details.methods[i]);
    match_loaded(jvmti, jni, all);
    for (size_t i = 0; i < details.count; i++)
        if (details.methods[i]->id)
            record(ledger, jvmti, jni, details.methods[i]);
    drop(all);
    free(details.methods);
}
