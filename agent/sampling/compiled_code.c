#include "agent/sampling/compiled_code.h"

#include "native/fault_guard.h"
#include "native/hash_table.h"

#include <stdlib.h>
#include <string.h>

struct code_key {
    uint64_t address;
    uint64_t identity;
};

struct known_code {
    struct code_key key; /* its first address */
    struct compiled_method method;
    UT_hash_handle hh;
};

struct known_place {
    struct code_key key;
    struct compiled_place place;
    UT_hash_handle hh;
    struct code_scope scopes[];
};

void compiled_code__init(struct compiled_code *code, const struct code_cache *cache,
                         struct java_methods *java)
{
    memset(code, 0, sizeof(*code));
    code->cache = cache;
    code->java = java;
}

/* In a fault guard. */
static bool find_blob(const struct compiled_code *code, const struct code_key *key,
                      struct code_blob *blob)
{
    return code_cache__find(code->cache, key->address, blob) &&
           (blob->kind == BLOB_METHOD || blob->kind == BLOB_NATIVE_METHOD) &&
           code_blob__identity(blob) == key->identity;
}

/* False: it is not there. */
static bool read_raw(struct compiled_code *code, const struct code_key *key)
{
    struct fault_guard guard;
    volatile bool found = false;

    code->reading.count = 0;
    if (fault_guard__enter(&guard) == 0) {
        found = find_blob(code, key, &code->reading.blob);
        if (found && code->reading.blob.kind == BLOB_METHOD)
            code->reading.count = code_scopes__read(code->cache->structs, &code->reading.blob,
                                                    key->address, code->reading.raw);
    }
    fault_guard__leave(&guard);
    return found;
}

static bool is_there_still(const struct compiled_code *code, const struct code_key *key)
{
    struct fault_guard guard;
    struct code_blob blob;
    volatile bool found = false;

    if (fault_guard__enter(&guard) == 0)
        found = find_blob(code, key, &blob) && blob.begin == code->reading.blob.begin;
    fault_guard__leave(&guard);
    return found;
}

/* If a method has no name, only the method that was compiled is known. */
static void name_scopes(struct compiled_code *code)
{
    struct java_method *method = NULL;

    for (uint32_t i = 0; i < code->reading.count; i++) {
        method = java_methods__by_address(code->java, code->reading.raw[i].method);
        if (!method)
            break;
        code->reading.scopes[i] = (struct code_scope){method, code->reading.raw[i].bci};
    }
    if (method)
        return;
    method = java_methods__by_address(code->java, code->reading.blob.method);
    code->reading.count = method != NULL;
    code->reading.scopes[0] = (struct code_scope){method, -1};
}

/* The addresses are few in which samples are taken again and again. */
static void forget_places(struct compiled_code *code)
{
    struct known_place *place, *next;

    HASH_ITER (hh, code->places, place, next) {
        /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): it is the table's until it is out of it */
        HASH_DEL(code->places, place);
        free(place);
    }
    code->place_bytes = 0;
}

static struct compiled_method *add_code(struct compiled_code *code, uint64_t identity,
                                        uint64_t when_ns)
{
    struct code_key key = {code->reading.blob.code, identity};
    struct known_code *known;

    /* NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult): uthash's hash */
    HASH_FIND(hh, code->known, &key, sizeof(key), known);
    if (known)
        return &known->method;
    known = calloc(1, sizeof(*known));
    if (!known)
        return NULL;
    known->key = key;
    known->method =
        (struct compiled_method){.begin = code->reading.blob.code,
                                 .end = code->reading.blob.end,
                                 .loaded_ns = when_ns,
                                 .method = code->reading.scopes[code->reading.count - 1].method};
    HASH_ADD(hh, code->known, key, sizeof(known->key), known);
    if (known->hh.tbl)
        return &known->method;
    free(known);
    return NULL;
}

static const struct compiled_place *add_place(struct compiled_code *code,
                                              const struct code_key *key,
                                              struct compiled_method *method)
{
    size_t bytes = sizeof(struct known_place) + code->reading.count * sizeof(struct code_scope);
    struct known_place *place;

    if (HASH_COUNT(code->places) >= COMPILED_PLACES_MAX)
        forget_places(code);
    place = calloc(1, bytes);
    if (!place)
        return NULL;
    memcpy(place->scopes, code->reading.scopes, code->reading.count * sizeof(*place->scopes));
    place->key = *key;
    place->place = (struct compiled_place){method, code->reading.count, place->scopes};
    /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): the table has let go of what was freed */
    HASH_ADD(hh, code->places, key, sizeof(place->key), place);
    if (place->hh.tbl) {
        code->place_bytes += bytes;
        return &place->place;
    }
    free(place);
    return NULL;
}

const struct compiled_place *compiled_code__find(struct compiled_code *code, uint64_t address,
                                                 uint64_t identity, uint64_t when_ns)
{
    struct code_key key = {address, identity};
    struct compiled_method *method;
    struct known_place *known;

    /* NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult): uthash's hash */
    HASH_FIND(hh, code->places, &key, sizeof(key), known);
    if (known)
        return &known->place;
    if (!read_raw(code, &key)) {
        code->lost++;
        return NULL;
    }
    name_scopes(code);
    if (!code->reading.count || !is_there_still(code, &key)) {
        code->lost++;
        return NULL;
    }
    method = add_code(code, identity, when_ns);
    return method ? add_place(code, &key, method) : NULL;
}

void compiled_code__tidy(struct compiled_code *code)
{
    struct known_code *known, *next;

    if (HASH_COUNT(code->known) < COMPILED_CODES_MAX)
        return;
    forget_places(code);
    HASH_ITER (hh, code->known, known, next) {
        /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): it is the table's until it is out of it */
        HASH_DEL(code->known, known);
        free(known);
    }
}

size_t compiled_code__bytes(const struct compiled_code *code)
{
    return HASH_COUNT(code->known) * sizeof(struct known_code) + code->place_bytes;
}
