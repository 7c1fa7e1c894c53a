/*
 * HotSpot's code cache: which piece of code contains an address. Everything here only reads, is
 * async-signal-safe and must be called in a fault guard: the memory may change while it is read.
 */
#ifndef TREADLE_CODE_CACHE_H
#define TREADLE_CODE_CACHE_H

#include "agent/hotspot/vm_structs.h"

#include <stdbool.h>
#include <stdint.h>

#define CODE_HEAPS_MAX 8u

struct code_cache {
    const struct vm_structs *structs;
    uint32_t heap_count;
    const char *heaps[CODE_HEAPS_MAX];
    uint64_t low, high; /* all heaps lie between, at their largest size */
};

enum blob_kind {
    BLOB_METHOD,        /* a compiled method */
    BLOB_NATIVE_METHOD, /* the wrapper that calls a native method from compiled code */
    BLOB_INTERPRETER,
    BLOB_OTHER, /* other code of the JVM; frame_bytes 0: it may or may not have a frame */
};

struct code_blob {
    enum blob_kind kind;
    const char *name;
    const char *begin; /* the blob; what it starts with is not code */
    uint64_t code;     /* first instruction */
    uint64_t end;
    uint64_t frame_bytes;
    uint64_t frame_complete; /* offset from `code`; before it, the frame is not set up */
    const void *method;      /* Method *, of methods */
    int8_t level;            /* 1 to 3: C1; 4: C2; else -1 */
    uint32_t compile_id;     /* of methods: the compilation's number; else 0 */
};

/* Distinguishes compilations at the same address: the Method, and as many bits of the compilation's
 * number as fit. 56 bits. */
#define CODE_IDENTITY_METHOD_BITS 44u /* of addresses of 47 bits, the last three of them zero */

static inline uint64_t code_blob__identity(const struct code_blob *blob)
{
    return ((uint64_t)(uintptr_t)blob->method >> 3 | (uint64_t)blob->compile_id
                                                         << CODE_IDENTITY_METHOD_BITS) &
           0xffffffffffffff;
}

static inline const void *code_identity__method(uint64_t identity)
{
    uint64_t method = identity & ((UINT64_C(1) << CODE_IDENTITY_METHOD_BITS) - 1);

    return (const void *)(uintptr_t)(method << 3);
}

/* Not async-signal-safe; call it when the JVM runs. False: the code cache cannot be read. */
bool code_cache__open(struct code_cache *cache, const struct vm_structs *structs);

static inline bool code_cache__may_hold(const struct code_cache *cache, uint64_t address)
{
    return address >= cache->low && address < cache->high;
}

/* False: the address is in no piece of code. */
bool code_cache__find(const struct code_cache *cache, uint64_t address, struct code_blob *blob);

#endif
