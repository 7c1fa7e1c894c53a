/* Records with names: strings, methods, and the later names of threads. */
#include "native/ledger/ledger.h"

#include <string.h>

#define HASH_FACTOR UINT64_C(0x9e3779b97f4a7c15) /* 2^64 by the golden ratio */

/* Eight bytes a step: the methods of a class are one string of some kilobytes. Not portable between
 * byte orders, nor are ledgers. */
static uint32_t hash_bytes(const char *bytes, size_t length)
{
    uint64_t hash = length * HASH_FACTOR, word;

    for (; length >= sizeof(word); bytes += sizeof(word), length -= sizeof(word)) {
        memcpy(&word, bytes, sizeof(word));
        hash = (hash ^ word) * HASH_FACTOR;
        hash ^= hash >> 32;
    }
    word = 0;
    memcpy(&word, bytes, length);
    hash = (hash ^ word) * HASH_FACTOR;
    return (uint32_t)(hash >> 32);
}

static ledger_ref find_string(const struct ledger *ledger, const char *bytes, size_t length,
                              uint32_t hash)
{
    ledger_ref ref = atomic_load(&ledger->string_buckets[hash % LEDGER_STRING_BUCKETS]);

    while (ref) {
        const struct ledger_string *string = ledger__at(ledger, ref);

        if (string->hash == hash && string->length == length &&
            memcmp(string->bytes, bytes, length) == 0)
            break;
        ref = string->next_in_bucket;
    }
    return ref;
}

static void push(_Atomic(ledger_ref) *bucket, ledger_ref ref, ledger_ref *next)
{
    ledger_ref head = atomic_load(bucket);

    do {
        __atomic_store_n(next, head, __ATOMIC_RELAXED);
    } while (!atomic_compare_exchange_weak(bucket, &head, ref));
}

uint32_t ledger__string_cells(size_t length)
{
    return (uint32_t)((offsetof(struct ledger_string, bytes) + length + LEDGER_CELL_BYTES - 1) /
                      LEDGER_CELL_BYTES);
}

static void fill_string(struct ledger_string *string, const char *bytes, size_t length,
                        uint32_t hash)
{
    memcpy((char *)string + offsetof(struct ledger_string, bytes), bytes, length);
    string->hash = hash;
    string->length = (uint32_t)length;
}

void ledger__fill_string(struct ledger_string *string, const char *bytes, size_t length)
{
    fill_string(string, bytes, length, hash_bytes(bytes, length));
}

ledger_ref ledger__find_string(const struct ledger *ledger, const char *bytes, size_t length)
{
    return length > LEDGER_STRING_MAX
               ? 0
               : find_string(ledger, bytes, length, hash_bytes(bytes, length));
}

ledger_ref ledger__string(struct ledger *ledger, const char *bytes, size_t length)
{
    uint32_t hash, cells;
    struct ledger_string *string;
    ledger_ref ref;

    if (length > LEDGER_STRING_MAX)
        length = LEDGER_STRING_MAX;
    hash = hash_bytes(bytes, length);
    ref = find_string(ledger, bytes, length, hash);
    if (ref)
        return ref;
    cells = ledger__string_cells(length);
    ref = ledger__take_shared(ledger, LEDGER_STRINGS, cells);
    if (!ref)
        return 0;
    string = ledger__at(ledger, ref);
    fill_string(string, bytes, length, hash);
    push(&ledger->string_buckets[hash % LEDGER_STRING_BUCKETS], ref, &string->next_in_bucket);
    return ref;
}

static _Atomic(ledger_ref) *method_bucket(const struct ledger *ledger, uint64_t key)
{
    return &ledger->method_buckets[(key * 0x9e3779b97f4a7c15u) >> 50];
}

static ledger_ref find_method_from(const struct ledger *ledger, ledger_ref ref, uint64_t key)
{
    while (ref) {
        const struct ledger_method *method = ledger__at(ledger, ref);

        if (method->key == key)
            break;
        ref = method->next_in_bucket;
    }
    return ref;
}

ledger_ref ledger__find_method(const struct ledger *ledger, uint64_t key)
{
    return find_method_from(ledger, atomic_load(method_bucket(ledger, key)), key);
}

/* False: there is no room for the method's names. */
static bool name_method(struct ledger *ledger, const struct ledger_method_names *names,
                        struct ledger_method *named)
{
    named->class_name = ledger__string(ledger, names->class_name, strlen(names->class_name));
    named->name = ledger__string(ledger, names->name, strlen(names->name));
    named->signature = ledger__string(ledger, names->signature, strlen(names->signature));
    if (names->source)
        named->source = ledger__string(ledger, names->source, strlen(names->source));
    return named->class_name && named->name && named->signature;
}

/* The names come first: a record without them would stand for no method, and so would all its
 * nodes. */
ledger_ref ledger__add_method(struct ledger *ledger, uint64_t key,
                              const struct ledger_method_names *names, uint32_t flags)
{
    _Atomic(ledger_ref) *bucket = method_bucket(ledger, key);
    ledger_ref head = atomic_load(bucket);
    ledger_ref found = find_method_from(ledger, head, key);
    struct ledger_method named = {.key = key, .flags = flags}, *method;
    ledger_ref ref;

    if (found || !name_method(ledger, names, &named))
        return found;
    ref = ledger__take_shared(ledger, LEDGER_METHODS, 1);
    if (!ref)
        return 0;
    method = ledger__at(ledger, ref);
    *method = named;
    do {
        found = find_method_from(ledger, head, key);
        if (found) {
            method->flags = METHOD_DEAD;
            return found;
        }
        method->next_in_bucket = head;
    } while (!atomic_compare_exchange_weak(bucket, &head, ref));
    return ref;
}

static uint32_t latest_name_hash(const struct ledger *ledger, const struct ledger_thread *thread)
{
    const struct ledger_string *name = ledger__at(ledger, thread->name);

    return thread->rename_count ? thread->latest_name_hash : thread->name ? name->hash : 0;
}

void ledger__rename_thread(struct ledger *ledger, struct ledger_thread *thread, const char *bytes,
                           size_t length, uint64_t when_ns)
{
    struct ledger_rename *rename;
    uint32_t hash;
    ledger_ref ref;

    if (length > LEDGER_STRING_MAX)
        length = LEDGER_STRING_MAX;
    hash = hash_bytes(bytes, length);
    if (hash == latest_name_hash(ledger, thread))
        return;
    thread->latest_name_hash = hash;
    thread->rename_count++;
    if (thread->rename_count > LEDGER_RENAMES_MAX)
        return;
    ref = ledger__take_shared(ledger, LEDGER_RENAMES, 1);
    if (!ref)
        return;
    rename = ledger__at(ledger, ref);
    rename->name = ledger__string(ledger, bytes, length);
    rename->when_ns = when_ns;
    rename->older = thread->renames;
    __atomic_store_n(&thread->renames, ref, __ATOMIC_RELEASE);
}
