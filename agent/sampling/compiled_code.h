/*
 * The code that the JIT compilers made, for samples in it: its method, and the methods that are
 * inlined at an address. Read from the JVM's own structures when a sample needs it, and cached.
 *
 * Code may be freed between a sample and its merging; then only the method is known that the sample
 * itself names. One user at a time; not for handlers.
 */
#ifndef TREADLE_COMPILED_CODE_H
#define TREADLE_COMPILED_CODE_H

#include "agent/hotspot/code_cache.h"
#include "agent/hotspot/code_scopes.h"
#include "agent/sampling/java_methods.h"

#include <stdint.h>

#define COMPILED_PLACES_MAX 65536u /* beyond this the cache of addresses is cleared */
#define COMPILED_CODES_MAX  16384u /* beyond this the cache of pieces of code is cleared */

struct compiled_method {
    uint64_t begin;
    uint64_t end;
    uint64_t loaded_ns; /* of the first sample in it */
    struct java_method *method;
    ledger_ref code; /* its record; the merging thread's own */
};

/* A method in one context of inlining. */
struct code_scope {
    struct java_method *method;
    int32_t bci; /* -1: not known */
};

/* An address and the scopes there, innermost first; at least one. */
struct compiled_place {
    struct compiled_method *code;
    uint32_t scope_count;
    const struct code_scope *scopes;
};

/* What was read from the JVM's memory, to be believed if the code is there still. */
struct code_reading {
    struct code_blob blob;
    struct raw_scope raw[CODE_SCOPES_MAX];
    struct code_scope scopes[CODE_SCOPES_MAX];
    uint32_t count;
};

struct compiled_code {
    const struct code_cache *cache;
    struct java_methods *java;
    struct known_code *known;   /* uthash, by where the code begins and what it is */
    struct known_place *places; /* uthash, by address and what the code is */
    size_t place_bytes;
    uint64_t lost;               /* frames whose code had been freed */
    struct code_reading reading; /* of the running call; too large for the stack */
};

void compiled_code__init(struct compiled_code *code, const struct code_cache *cache,
                         struct java_methods *java);

/* Finds what is at an address of the code with that identity (code_blob__identity), for a sample
 * taken at that time (ledger's clock). NULL: the code has been freed, which is counted, or there is
 * no memory. The result is valid until the next call; its `code` for good. */
const struct compiled_place *compiled_code__find(struct compiled_code *code, uint64_t address,
                                                 uint64_t identity, uint64_t when_ns);

/* Clears the caches if they are too large. Earlier results become invalid. */
void compiled_code__tidy(struct compiled_code *code);

/* Memory in use. */
size_t compiled_code__bytes(const struct compiled_code *code);

#endif
