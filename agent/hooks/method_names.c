#include "agent/hooks/method_names.h"

#include "agent/methods/api_class.h"
#include "agent/methods/class_name.h"
#include "agent/threads/virtual_threads.h"
#include "native/tree/call_tree.h"

#include <string.h>

/* "Ljava/util/HashMap$Node;" → "java.util.HashMap$Node", as Class.getName has it; in place. */
static const char *dotted(char *signature)
{
    size_t length = strlen(signature);

    class_name__to_dots(signature, length);
    if (length < 2 || signature[0] != 'L' || signature[length - 1] != ';')
        return signature;
    signature[length - 1] = '\0';
    return signature + 1;
}

static uint32_t filter_flags(const struct method_names *names, const char *class_name,
                             const char *name)
{
    if (strcmp(class_name, "java.lang.TreadleHooks") == 0 || api_class__is(class_name) ||
        (!virtual_threads__is_pinning(class_name, name) &&
         !method_filter__admits(names->filter, class_name, name)))
        return METHOD_EXCLUDED;
    return method_filter__measures(names->filter, class_name, name) ? METHOD_LATENCY : 0;
}

static ledger_ref add(const struct method_names *names, jmethodID method, const char *class_name,
                      const char *name, const char *signature, const char *source)
{
    struct ledger_method_names texts = {
        .class_name = class_name, .name = name, .signature = signature, .source = source};
    jboolean is_native = JNI_FALSE;
    uint32_t flags = 0;
    ledger_ref ref;

    (*names->jvmti)->IsMethodNative(names->jvmti, method, &is_native);
    if (is_native)
        flags |= METHOD_NATIVE;
    flags |= filter_flags(names, class_name, name);
    ref = ledger__add_method(names->ledger, (uint64_t)(uintptr_t)method, &texts, flags);
    return flags & METHOD_EXCLUDED ? CONTEXT_EXCLUDED : ref;
}

/* The local reference to the class goes when the callback returns. */
static ledger_ref add_in_class(const struct method_names *names, jmethodID method, const char *name,
                               const char *signature)
{
    jvmtiEnv *jvmti = names->jvmti;
    char *class_signature = NULL, *source = NULL;
    ledger_ref ref = 0;
    jclass declaring;

    if ((*jvmti)->GetMethodDeclaringClass(jvmti, method, &declaring) != JVMTI_ERROR_NONE)
        return 0;
    if ((*jvmti)->GetClassSignature(jvmti, declaring, &class_signature, NULL) == JVMTI_ERROR_NONE) {
        if ((*jvmti)->GetSourceFileName(jvmti, declaring, &source) != JVMTI_ERROR_NONE)
            source = NULL;
        ref = add(names, method, dotted(class_signature), name, signature, source);
        (*jvmti)->Deallocate(jvmti, (unsigned char *)source);
        (*jvmti)->Deallocate(jvmti, (unsigned char *)class_signature);
    }
    return ref;
}

ledger_ref method_names__resolve(void *context, uint64_t key)
{
    const struct method_names *names = context;
    jvmtiEnv *jvmti = names->jvmti;
    jmethodID method = (jmethodID)(uintptr_t)key;
    char *name = NULL, *signature = NULL;
    ledger_ref ref;

    if ((*jvmti)->GetMethodName(jvmti, method, &name, &signature, NULL) != JVMTI_ERROR_NONE)
        return 0;
    ref = add_in_class(names, method, name, signature);
    (*jvmti)->Deallocate(jvmti, (unsigned char *)name);
    (*jvmti)->Deallocate(jvmti, (unsigned char *)signature);
    return ref;
}
