/*
 * The code that the JIT compilers made, as samples meet it: whose it is, and which methods are
 * inlined at an address. Read from the JVM's own structures when a sample needs it, and kept.
 *
 * Code may be thrown away between a sample and its merging; then only the method is known that the
 * sample itself names. One user at a time; not for handlers.
 */
#ifndef TREADLE_COMPILED_CODE_H
#define TREADLE_COMPILED_CODE_H

#include "agent/hotspot/code_cache.h"
#include "agent/sampling/java_methods.h"

#include <stdint.h>

#define COMPILED_PLACES_MAX 65536u /* then what is known of addresses is looked up anew */
#define COMPILED_CODES_MAX  16384u /* … and of pieces of code, ditto */

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

/* An address, and the scopes there: one at least, innermost first. */
struct compiled_place {
    struct compiled_method *code;
    uint32_t scope_count;
    const struct code_scope *scopes;
};

struct compiled_code {
    const struct code_cache *cache;
    struct java_methods *java;
    struct known_code *known;   /* uthash, by where the code begins and what it is */
    struct known_place *places; /* uthash, by address and what the code is */
    size_t place_bytes;
    uint64_t lost; /* frames whose code was gone */
};

void compiled_code__init(struct compiled_code *code, const struct code_cache *cache,
                         struct java_methods *java);

/* What is at an address of the code of that identity (code_blob__identity), which a sample met at
 * that moment (ledger's clock). NULL: it is gone, which is counted, or there is no memory. What is
 * returned holds until the next call; its `code` for good. */
const struct compiled_place *compiled_code__find(struct compiled_code *code, uint64_t address,
                                                 uint64_t identity, uint64_t when_ns);

/* Forgets all if it is too much. What was found is gone with it. */
void compiled_code__tidy(struct compiled_code *code);

/* Memory in use. */
size_t compiled_code__bytes(const struct compiled_code *code);

#endif
