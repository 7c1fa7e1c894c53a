/*
 * What the agent asks of a JVM, played: methods that JVMTI names, and methods as HotSpot has them
 * in memory.
 */
#ifndef TREADLE_TEST_FAKE_JVM_H
#define TREADLE_TEST_FAKE_JVM_H

#include "agent/hotspot/code_cache.h"

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

static jvmtiEnv fake_jvmti __attribute__((unused)) = &fake_functions;

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

/* A compiled method as JDK 17 has it: all in one piece, at the beginning of a heap of one segment.
 */
struct fake_description {
    int32_t pc_offset;
    int32_t scope_offset;
};

struct fake_nmethod {
    uint64_t used; /* the block's */
    const char *name;
    int32_t size;
    int32_t frame_size;
    int32_t frame_complete;
    int32_t code_offset;
    const void *method;
    int32_t compile_id;
    int32_t metadata_offset;
    int32_t descriptions_offset;
    int32_t dependencies_offset;
    const uint8_t *scopes;
    int8_t level;
    const void *metadata[4];
    uint8_t scope_bytes[64];
    struct fake_description descriptions[8];
    char code[64];
};

struct fake_heap {
    const char *low_boundary;
    const char *high_boundary;
    const char *low;
    const char *high;
    const uint8_t *segment_map; /* a VirtualSpace's _low, which is all that is asked of it */
    int32_t log2_segment_size;
    uint8_t segments[1];
    _Alignas(64) struct fake_nmethod nmethod;
};

#define FAKE_BLOB(field)                                                                           \
    ((int32_t)(offsetof(struct fake_nmethod, field) - offsetof(struct fake_nmethod, name)))

static int32_t fake_version = 17;

static const struct vm_structs fake_structs = {
    .vm_major_version = &fake_version,
    .heap_memory = 0,
    .space_low_boundary = offsetof(struct fake_heap, low_boundary),
    .space_high_boundary = offsetof(struct fake_heap, high_boundary),
    .space_low = offsetof(struct fake_heap, low),
    .space_high = offsetof(struct fake_heap, high),
    .heap_segment_map = offsetof(struct fake_heap, segment_map) - offsetof(struct fake_heap, low),
    .heap_log2_segment_size = offsetof(struct fake_heap, log2_segment_size),
    .block_used = 0,
    .block_bytes = offsetof(struct fake_nmethod, name),
    .blob_name = FAKE_BLOB(name),
    .blob_size = FAKE_BLOB(size),
    .blob_frame_size = FAKE_BLOB(frame_size),
    .blob_frame_complete = FAKE_BLOB(frame_complete),
    .blob_frame_complete_bytes = 4,
    .blob_code_begin = -1,
    .blob_code_offset = FAKE_BLOB(code_offset),
    .blob_data_offset = -1,
    .blob_mutable_data = -1,
    .nmethod_immutable_data = -1,
    .nmethod_method = FAKE_BLOB(method),
    .nmethod_level = FAKE_BLOB(level),
    .nmethod_compile_id = FAKE_BLOB(compile_id),
    .nmethod_metadata_offset = FAKE_BLOB(metadata_offset),
    .nmethod_metadata_offset_bytes = 4,
    .nmethod_pcs_offset = FAKE_BLOB(descriptions_offset),
    .nmethod_dependencies_offset = FAKE_BLOB(dependencies_offset),
    .nmethod_scopes_data_begin = FAKE_BLOB(scopes),
    .pc_bytes = sizeof(struct fake_description),
    .pc_offset = offsetof(struct fake_description, pc_offset),
    .pc_scope_offset = offsetof(struct fake_description, scope_offset),
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

/* An empty heap, and the cache that has it alone. The heap must stay where it is. */
static inline void fake_heap__make(struct fake_heap *heap, struct code_cache *cache)
{
    memset(heap, 0, sizeof *heap);
    heap->low_boundary = heap->low = (const char *)&heap->nmethod;
    heap->high_boundary = heap->high = heap->low + sizeof heap->nmethod;
    heap->segment_map = heap->segments;
    heap->log2_segment_size = 16;
    *cache = (struct code_cache){.structs = &fake_structs,
                                 .heap_count = 1,
                                 .heaps = {(const char *)heap},
                                 .low = (uint64_t)(uintptr_t)heap->low,
                                 .high = (uint64_t)(uintptr_t)heap->high};
}

/* A compiled method without descriptions. */
static inline struct fake_nmethod *fake_nmethod__make(struct fake_heap *heap, const void *method,
                                                      int32_t compile_id)
{
    struct fake_nmethod *nmethod = &heap->nmethod;
    memset(nmethod, 0, sizeof *nmethod);
    nmethod->used = 1;
    nmethod->name = "nmethod";
    nmethod->size = (int32_t)(sizeof *nmethod - offsetof(struct fake_nmethod, name));
    nmethod->code_offset = FAKE_BLOB(code);
    nmethod->method = method;
    nmethod->compile_id = compile_id;
    nmethod->level = 4;
    nmethod->metadata_offset = FAKE_BLOB(metadata);
    nmethod->scopes = nmethod->scope_bytes;
    nmethod->descriptions_offset = nmethod->dependencies_offset = FAKE_BLOB(descriptions);
    return nmethod;
}

/* One more description, for addresses up to that offset: of the scope written there. */
static inline void fake_nmethod__describe(struct fake_nmethod *nmethod, int32_t pc_offset,
                                          int32_t scope_offset)
{
    size_t count = (size_t)(nmethod->dependencies_offset - nmethod->descriptions_offset) /
                   sizeof *nmethod->descriptions;
    nmethod->descriptions[count] = (struct fake_description){pc_offset, scope_offset};
    nmethod->dependencies_offset += (int32_t)sizeof *nmethod->descriptions;
}

#endif
