/*
 * What the agent asks of a JVM, played: methods that JVMTI names, and methods as HotSpot has them
 * in memory.
 */
#ifndef TREADLE_TEST_FAKE_JVM_H
#define TREADLE_TEST_FAKE_JVM_H

#include "agent/vm_structs.h"

#include <jvmti.h>
#include <jvmticmlr.h>
#include <stdlib.h>
#include <string.h>

/* ---- JVMTI: a jmethodID, and a jclass, is the address of one of these ---- */

struct fake_id {
    const char *class_signature; /* NULL: the method is gone */
    const char *name;
    const char *signature;
};

static inline jmethodID id_of(const struct fake_id *method)
{
    return (jmethodID)(uintptr_t)method;
}

static jvmtiError JNICALL fake_declaring_class(jvmtiEnv *env, jmethodID method, jclass *class)
{
    const struct fake_id *fake = (const struct fake_id *)(const void *)method;
    (void)env;
    *class = (jclass)(uintptr_t)method;
    return fake->class_signature != NULL ? JVMTI_ERROR_NONE : JVMTI_ERROR_INVALID_METHODID;
}

static jvmtiError JNICALL fake_method_name(jvmtiEnv *env, jmethodID method, char **name,
                                           char **signature, char **generic)
{
    const struct fake_id *fake = (const struct fake_id *)(const void *)method;
    (void)env, (void)generic;
    *name = strdup(fake->name);
    *signature = strdup(fake->signature);
    return JVMTI_ERROR_NONE;
}

static jvmtiError JNICALL fake_class_signature(jvmtiEnv *env, jclass class, char **signature,
                                               char **generic)
{
    const struct fake_id *fake = (const struct fake_id *)(const void *)class;
    (void)env, (void)generic;
    *signature = strdup(fake->class_signature);
    return JVMTI_ERROR_NONE;
}

static jvmtiError JNICALL fake_deallocate(jvmtiEnv *env, unsigned char *memory)
{
    (void)env;
    free(memory);
    return JVMTI_ERROR_NONE;
}

static const struct jvmtiInterface_1_ fake_functions = {
    .GetMethodDeclaringClass = fake_declaring_class,
    .GetMethodName = fake_method_name,
    .GetClassSignature = fake_class_signature,
    .Deallocate = fake_deallocate,
};

static jvmtiEnv fake_jvmti = &fake_functions;

/* ---- HotSpot's own ---- */

struct fake_symbol {
    uint16_t length;
    char body[254];
};

struct fake_pool {
    const void *holder;
    int32_t length;
    const void *entries[2];
};

struct fake_constant {
    const struct fake_pool *constants;
    uint16_t code_size;
    uint16_t name;
    uint16_t signature;
};

/* A Method with all that belongs to it. */
struct fake_method {
    const struct fake_constant *constant;
    struct fake_constant own_constant;
    struct fake_pool pool;
    const struct fake_symbol *klass_name; /* the holder is here */
    struct fake_symbol symbols[3];
};

static const struct vm_structs fake_structs = {
    .method_const = offsetof(struct fake_method, constant),
    .const_constants = offsetof(struct fake_constant, constants),
    .const_code_size = offsetof(struct fake_constant, code_size),
    .const_name = offsetof(struct fake_constant, name),
    .const_signature = offsetof(struct fake_constant, signature),
    .pool_holder = offsetof(struct fake_pool, holder),
    .pool_length = offsetof(struct fake_pool, length),
    .pool_bytes = offsetof(struct fake_pool, entries),
    .klass_name = 0,
    .symbol_length = offsetof(struct fake_symbol, length),
    .symbol_body = offsetof(struct fake_symbol, body),
};

static inline void fake_method__make(struct fake_method *method, const char *class_name,
                                     const char *name, const char *signature)
{
    const char *const texts[3] = {class_name, name, signature};
    for (int i = 0; i < 3; i++) {
        method->symbols[i].length = (uint16_t)strlen(texts[i]);
        memcpy(method->symbols[i].body, texts[i], strlen(texts[i]));
    }
    method->klass_name = &method->symbols[0];
    method->pool = (struct fake_pool){.holder = &method->klass_name,
                                      .length = 2,
                                      .entries = {&method->symbols[1], &method->symbols[2]}};
    method->own_constant = (struct fake_constant){
        .constants = &method->pool, .code_size = 100, .name = 0, .signature = 1};
    method->constant = &method->own_constant;
}

#endif
