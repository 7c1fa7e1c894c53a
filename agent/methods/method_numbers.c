#include "agent/methods/method_numbers.h"

#include "native/hash_table.h"

#include <stdlib.h>
#include <string.h>

struct numbered_class {
    struct numbered_method *first;
    struct numbered_method *last;
    char *source;
    unsigned marks;        /* atomic; enum class_mark */
    uint64_t rewritten_ns; /* atomic */
    uint32_t listing;      /* the user's; atomic */
    bool is_shared;        /* it stands for all classes of a kind */
    UT_hash_handle hh;
    char name[];
};

void method_numbers__init(struct method_numbers *methods, size_t bytes_max)
{
    memset(methods, 0, sizeof(*methods));
    pthread_mutex_init(&methods->lock, NULL);
    methods->bytes_max = bytes_max;
}

/* Under the lock. */
static void *take(struct method_numbers *methods, size_t bytes)
{
    void *memory = methods->bytes + bytes <= methods->bytes_max ? calloc(1, bytes) : NULL;

    if (memory)
        __atomic_fetch_add(&methods->bytes, bytes, __ATOMIC_RELAXED);
    return memory;
}

static void give_back(struct method_numbers *methods, void *memory, size_t bytes)
{
    free(memory);
    __atomic_fetch_sub(&methods->bytes, bytes, __ATOMIC_RELAXED);
}

size_t method_numbers__bytes(const struct method_numbers *methods)
{
    return __atomic_load_n(&methods->bytes, __ATOMIC_RELAXED);
}

static void copy_text(char *to, struct class_text text)
{
    memcpy(to, text.bytes, text.length);
    to[text.length] = '\0';
}

static struct numbered_class *add_class(struct method_numbers *methods, struct class_text name)
{
    size_t bytes = sizeof(struct numbered_class) + name.length + 1;
    struct numbered_class *class = take(methods, bytes);

    if (!class)
        return NULL;
    copy_text(class->name, name);
    HASH_ADD_KEYPTR(hh, methods->classes, class->name, name.length, class);
    if (class->hh.tbl)
        return class;
    give_back(methods, class, bytes);
    return NULL;
}

/* Its name, or the one that it shares. */
static struct class_text known_as(struct method_numbers *methods, struct class_text name,
                                  bool is_made, struct shared_name *shared)
{
    if (!generated_names__shares(methods->generated, (const char *)name.bytes, name.length, is_made,
                                 shared))
        return name;
    return (struct class_text){(const uint8_t *)shared->text, (uint32_t)shared->length};
}

struct numbered_class *method_numbers__class(struct method_numbers *methods, struct class_text name)
{
    struct shared_name shared;
    struct class_text known = known_as(methods, name, true, &shared);
    struct numbered_class *class;

    pthread_mutex_lock(&methods->lock);
    HASH_FIND(hh, methods->classes, known.bytes, known.length, class);
    if (!class) {
        class = add_class(methods, known);
        if (class)
            class->is_shared = known.bytes != name.bytes;
    }
    pthread_mutex_unlock(&methods->lock);
    return class;
}

struct numbered_class *method_numbers__find_class(struct method_numbers *methods, const char *name)
{
    struct class_text text = {(const uint8_t *)name, (uint32_t)strlen(name)};
    struct shared_name shared;
    struct class_text known = known_as(methods, text, false, &shared);
    struct numbered_class *class;

    pthread_mutex_lock(&methods->lock);
    HASH_FIND(hh, methods->classes, known.bytes, known.length, class);
    pthread_mutex_unlock(&methods->lock);
    return class;
}

static bool is_text(const char *have, struct class_text text)
{
    return strlen(have) == text.length && memcmp(have, text.bytes, text.length) == 0;
}

/* A method of a class that shares its name, by the name and the descriptor that it may share. */
struct known_method {
    struct class_text name;
    struct class_text descriptor;
    struct shared_name shared_name;
    struct shared_name shared_descriptor;
};

static struct class_text member_known_as(struct method_numbers *methods,
                                         const struct numbered_class *class, struct class_text text,
                                         bool is_made, struct shared_name *shared)
{
    if (!generated_names__shares_member(methods->generated, class->name, class->hh.keylen,
                                        (const char *)text.bytes, text.length, is_made, shared))
        return text;
    return (struct class_text){(const uint8_t *)shared->text, (uint32_t)shared->length};
}

static void know(struct method_numbers *methods, const struct numbered_class *class,
                 struct class_text name, struct class_text descriptor, bool is_made,
                 struct known_method *known)
{
    known->name = name;
    known->descriptor = descriptor;
    if (!class->is_shared)
        return;
    known->name = member_known_as(methods, class, name, is_made, &known->shared_name);
    known->descriptor =
        member_known_as(methods, class, descriptor, is_made, &known->shared_descriptor);
}

/* FNV-1a [G. Fowler, L. C. Noll, K.-P. Vo], from the hash of the class's name on. */
static uint32_t hash_of(const struct numbered_class *class, const struct known_method *known)
{
    uint32_t hash = 2166136261u ^ class->hh.hashv;

    for (uint32_t i = 0; i < known->name.length; i++)
        hash = (hash ^ known->name.bytes[i]) * 16777619u;
    for (uint32_t i = 0; i < known->descriptor.length; i++)
        hash = (hash ^ known->descriptor.bytes[i]) * 16777619u;
    return hash;
}

static struct numbered_method **bucket_of(struct method_numbers *methods, uint32_t hash)
{
    return &methods->buckets[(hash ^ hash >> 16) % METHOD_NUMBERS_BUCKETS];
}

/* Under the lock. */
static struct numbered_method *find_method(struct method_numbers *methods,
                                           const struct numbered_class *class,
                                           const struct known_method *known, uint32_t hash)
{
    struct numbered_method *method = *bucket_of(methods, hash);

    while (method &&
           (method->hash != hash || method->class != class || !is_text(method->name, known->name) ||
            !is_text(method->descriptor, known->descriptor)))
        method = method->next_in_bucket;
    return method;
}

/* Under the lock. Numbers begin at 1: 0 is the key of roots. */
static bool give_number(struct method_numbers *methods, struct numbered_method *method)
{
    uint32_t id = methods->count + 1;
    struct numbered_method ***chunk;

    if (id / METHOD_NUMBERS_CHUNK >= METHOD_NUMBERS_CHUNKS)
        return false;
    chunk = &methods->chunk[id / METHOD_NUMBERS_CHUNK];
    if (!*chunk) {
        struct numbered_method **made =
            take(methods, METHOD_NUMBERS_CHUNK * sizeof(struct numbered_method *));

        if (!made)
            return false;
        __atomic_store_n(chunk, made, __ATOMIC_RELEASE);
    }
    method->id = methods->count = id;
    __atomic_store_n(&(*chunk)[id % METHOD_NUMBERS_CHUNK], method, __ATOMIC_RELEASE);
    return true;
}

static struct numbered_method *add_method(struct method_numbers *methods,
                                          struct numbered_class *class,
                                          const struct known_method *known, uint32_t hash)
{
    struct class_text name = known->name, descriptor = known->descriptor;
    size_t bytes = sizeof(struct numbered_method) + name.length + descriptor.length + 2;
    struct numbered_method *method = take(methods, bytes), **bucket = bucket_of(methods, hash);

    if (!method)
        return NULL;
    method->class = class;
    method->hash = hash;
    method->name = (char *)(method + 1);
    method->descriptor = method->name + name.length + 1;
    copy_text(method->name, name);
    copy_text(method->descriptor, descriptor);
    if (!give_number(methods, method)) {
        give_back(methods, method, bytes);
        return NULL;
    }
    if (class->last)
        class->last->next = method;
    else
        class->first = method;
    class->last = method;
    method->next_in_bucket = *bucket;
    *bucket = method;
    return method;
}

uint32_t method_numbers__id(struct method_numbers *methods, struct numbered_class *class,
                            struct class_text name, struct class_text descriptor)
{
    struct known_method known;
    struct numbered_method *method;
    uint32_t hash;

    know(methods, class, name, descriptor, true, &known);
    hash = hash_of(class, &known);
    pthread_mutex_lock(&methods->lock);
    method = find_method(methods, class, &known, hash);
    if (!method)
        method = add_method(methods, class, &known, hash);
    pthread_mutex_unlock(&methods->lock);
    return method ? method->id : 0;
}

uint32_t method_numbers__find_id(struct method_numbers *methods, struct numbered_class *class,
                                 struct class_text name, struct class_text descriptor)
{
    const struct numbered_method *method;
    struct known_method known;

    know(methods, class, name, descriptor, false, &known);
    pthread_mutex_lock(&methods->lock);
    method = find_method(methods, class, &known, hash_of(class, &known));
    pthread_mutex_unlock(&methods->lock);
    return method ? method->id : 0;
}

void method_numbers__set_hooked(struct method_numbers *methods, struct numbered_class *class,
                                const uint32_t *ids, uint32_t count)
{
    bool others = class->is_shared && numbered_class__is(class, CLASS_SEEN);

    pthread_mutex_lock(&methods->lock);
    for (struct numbered_method *method = class->first; method && !others; method = method->next)
        __atomic_store_n(&method->hooked, false, __ATOMIC_RELEASE);
    for (uint32_t i = 0; i < count; i++) {
        struct numbered_method **chunk = methods->chunk[ids[i] / METHOD_NUMBERS_CHUNK];

        if (ids[i])
            __atomic_store_n(&chunk[ids[i] % METHOD_NUMBERS_CHUNK]->hooked, true, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&methods->lock);
}

void method_numbers__keep(struct method_numbers *methods, struct numbered_class *class)
{
    pthread_mutex_lock(&methods->lock);
    for (struct numbered_method *method = class->first; method; method = method->next)
        __atomic_store_n(&method->kept, __atomic_load_n(&method->hooked, __ATOMIC_RELAXED),
                         __ATOMIC_RELEASE);
    pthread_mutex_unlock(&methods->lock);
}

void method_numbers__hear_kept(const struct method_numbers *methods, uint32_t id, bool heard)
{
    struct numbered_method **chunk =
        __atomic_load_n(&methods->chunk[id / METHOD_NUMBERS_CHUNK], __ATOMIC_ACQUIRE);

    __atomic_store_n(&chunk[id % METHOD_NUMBERS_CHUNK]->hooked, heard, __ATOMIC_RELEASE);
}

bool numbered_method__is_kept(const struct numbered_method *method)
{
    return __atomic_load_n(&method->kept, __ATOMIC_ACQUIRE);
}

bool numbered_method__is_hooked(const struct numbered_method *method)
{
    return __atomic_load_n(&method->hooked, __ATOMIC_ACQUIRE) &&
           (__atomic_load_n(&method->class->marks, __ATOMIC_ACQUIRE) &
            (CLASS_HOOKED | CLASS_REFUSED)) == CLASS_HOOKED;
}

const struct numbered_method *method_numbers__get(const struct method_numbers *methods, uint32_t id)
{
    struct numbered_method **chunk;

    if (id / METHOD_NUMBERS_CHUNK >= METHOD_NUMBERS_CHUNKS)
        return NULL;
    chunk = __atomic_load_n(&methods->chunk[id / METHOD_NUMBERS_CHUNK], __ATOMIC_ACQUIRE);
    return chunk ? __atomic_load_n(&chunk[id % METHOD_NUMBERS_CHUNK], __ATOMIC_ACQUIRE) : NULL;
}

const char *numbered_class__name(const struct numbered_class *class)
{
    return class->name;
}

const char *numbered_class__source(const struct numbered_class *class)
{
    return __atomic_load_n(&class->source, __ATOMIC_ACQUIRE);
}

void numbered_class__set_source(struct method_numbers *methods, struct numbered_class *class,
                                struct class_text source)
{
    pthread_mutex_lock(&methods->lock);
    if (!class->source && source.length) {
        char *copy = take(methods, source.length + 1u);

        if (copy) {
            copy_text(copy, source);
            __atomic_store_n(&class->source, copy, __ATOMIC_RELEASE);
        }
    }
    pthread_mutex_unlock(&methods->lock);
}

uint32_t *numbered_class__listing(struct numbered_class *class)
{
    return &class->listing;
}

uint64_t numbered_class__rewritten_ns(const struct numbered_class *class)
{
    return __atomic_load_n(&class->rewritten_ns, __ATOMIC_RELAXED);
}

void numbered_class__set_rewritten(struct numbered_class *class, uint64_t now_ns)
{
    __atomic_store_n(&class->rewritten_ns, now_ns, __ATOMIC_RELAXED);
}

bool numbered_class__is(const struct numbered_class *class, enum class_mark mark)
{
    return __atomic_load_n(&class->marks, __ATOMIC_ACQUIRE) & mark;
}

bool numbered_class__mark(struct numbered_class *class, enum class_mark mark)
{
    return !(__atomic_fetch_or(&class->marks, (unsigned)mark, __ATOMIC_ACQ_REL) & mark);
}

void method_numbers__unmark(struct method_numbers *methods, enum class_mark mark)
{
    struct numbered_class *class, *next;

    pthread_mutex_lock(&methods->lock);
    HASH_ITER (hh, methods->classes, class, next)
        __atomic_fetch_and(&class->marks, ~(unsigned)mark, __ATOMIC_ACQ_REL);
    pthread_mutex_unlock(&methods->lock);
}
