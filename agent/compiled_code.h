/*
 * The code that the JIT compilers made: which method an address belongs to, and which methods are
 * inlined there, as the JVM tells with CompiledMethodLoad. Kept while the code is there, and for a
 * while after it was unloaded, for samples that are still on their way.
 *
 * The JVM's threads add, the profiler's own looks up; takes its own lock; not for handlers.
 */
#ifndef TREADLE_COMPILED_CODE_H
#define TREADLE_COMPILED_CODE_H

#include "agent/java_methods.h"

#include <jvmti.h>
#include <pthread.h>
#include <stdint.h>

#define COMPILED_CODE_BYTES_MAX (96u << 20) /* then inlined methods are no longer known */

/* A method in one context of inlining. */
struct code_scope {
    struct java_method *method;
    int32_t bci;
    uint32_t caller; /* 1 + index of the scope that it is inlined in; 0: none */
};

struct code_address {
    uint32_t offset; /* the address that the next instruction has */
    uint32_t scope;  /* index */
};

struct compiled_method {
    uint64_t begin;
    uint64_t end;
    uint64_t loaded_ns;
    uint64_t unloaded_ns; /* 0: it is there */
    struct java_method *method;
    struct code_scope *scopes;
    struct code_address *addresses; /* by offset */
    uint32_t scope_count;
    uint32_t address_count;
    ledger_ref code; /* its record; the merging thread's own */
};

struct compiled_code {
    pthread_mutex_t lock;
    struct compiled_method **methods; /* by address, none overlap */
    uint32_t count;
    uint32_t room;
    struct compiled_method **gone; /* unloaded or overwritten, oldest first */
    uint32_t gone_count;
    uint32_t gone_room;
    size_t bytes;
    struct java_methods *java;
    const struct ledger_time *time;
};

struct ledger_time;

void compiled_code__init(struct compiled_code *code, struct java_methods *java,
                         const struct ledger_time *time);

/* JVMTI's events. */
void compiled_code__loaded(struct compiled_code *code, jvmtiEnv *jvmti, jmethodID id, jint bytes,
                           const void *address, const void *compile_info);
void compiled_code__unloaded(struct compiled_code *code, const void *address);

/* Holds the lock until unlocked: what is found stays. */
void compiled_code__lock(struct compiled_code *code);
void compiled_code__unlock(struct compiled_code *code);

/* The code that had that address at that moment, or NULL. Under the lock, as the next two. */
struct compiled_method *compiled_code__find(struct compiled_code *code, uint64_t address,
                                            uint64_t when_ns);

/* The innermost scope at an address; NULL: nothing is known of inlining there. */
const struct code_scope *compiled_method__scope(const struct compiled_method *method,
                                                uint64_t address);

/* What was gone before that moment is needed no more. */
void compiled_code__forget(struct compiled_code *code, uint64_t before_ns);

#endif
