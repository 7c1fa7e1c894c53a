#include "agent/sampling/java_methods.h"

#include "agent/methods/class_name.h"
#include "native/fault_guard.h"
#include "native/hash_table.h"

#include <stdlib.h>
#include <string.h>

#define BUCKETS 16384u

struct id_entry {
    jmethodID id;
    struct java_method *method;
    UT_hash_handle hh;
};

/* What stood there when the method was named: if it still does, it is that method still. */
struct address_identity {
    const void *const_method;
    const void *holder;
    const void *name;
    const void *signature;
};

struct address_entry {
    const void *address;
    struct address_identity identity;
    struct java_method *method;
    UT_hash_handle hh;
};

struct name {
    const char *bytes;
    size_t length;
};

void java_methods__init(struct java_methods *methods, const struct vm_structs *structs)
{
    memset(methods, 0, sizeof(*methods));
    pthread_mutex_init(&methods->lock, NULL);
    methods->structs = structs;
    methods->buckets = calloc(BUCKETS, sizeof(struct java_method *));
}

static struct name name_of(const char *text)
{
    return (struct name){text, strlen(text)};
}

/* FNV-1a [G. Fowler, L. C. Noll, K.-P. Vo]. */
static uint32_t hash_on(uint32_t hash, struct name name, char separator)
{
    for (size_t i = 0; i < name.length; i++)
        hash = (hash ^ (unsigned char)class_name__dotted(name.bytes[i])) * 16777619u;
    return (hash ^ (unsigned char)separator) * 16777619u;
}

static bool is_called(const char *text, struct name name, bool dotted)
{
    for (size_t i = 0; i < name.length; i++) {
        char c = dotted ? class_name__dotted(name.bytes[i]) : name.bytes[i];

        if (text[i] != c)
            return false;
    }
    return text[name.length] == '\0';
}

static char *copy(char **into, struct name name, bool dotted)
{
    char *at = *into;

    for (size_t i = 0; i < name.length; i++)
        at[i] = dotted ? class_name__dotted(name.bytes[i]) : name.bytes[i];
    at[name.length] = '\0';
    *into += name.length + 1;
    return at;
}

/* Under the lock, as all below. The class's name may have slashes. */
static struct java_method *find(const struct java_methods *methods, uint32_t hash,
                                struct name class_name, struct name name, struct name signature)
{
    struct java_method *method = methods->buckets[hash % BUCKETS];

    while (method && !(method->hash == hash && is_called(method->name, name, false) &&
                       is_called(method->class_name, class_name, true) &&
                       is_called(method->signature, signature, false)))
        method = method->next;
    return method;
}

static struct java_method *add(struct java_methods *methods, uint32_t hash, struct name class_name,
                               struct name name, struct name signature)
{
    struct java_method **bucket = &methods->buckets[hash % BUCKETS], *method;
    size_t bytes = sizeof(*method) + class_name.length + name.length + signature.length + 3;
    char *text;

    method = calloc(1, bytes);
    if (!method)
        return NULL;
    methods->bytes += bytes;
    text = (char *)(method + 1);
    method->hash = hash;
    method->class_name = copy(&text, class_name, true);
    method->name = copy(&text, name, false);
    method->signature = copy(&text, signature, false);
    method->next = *bucket;
    *bucket = method;
    methods->count++;
    return method;
}

/* Of a class that goes by that shared name. */
static struct name member_known_as(struct java_methods *methods, struct name class_name,
                                   struct name member, struct shared_name *shared)
{
    if (!generated_names__shares_member(methods->generated, class_name.bytes, class_name.length,
                                        member.bytes, member.length, true, shared))
        return member;
    return (struct name){shared->text, shared->length};
}

static struct java_method *get(struct java_methods *methods, struct name class_name,
                               struct name name, struct name signature)
{
    struct shared_name shared[3];
    struct java_method *method;
    uint32_t hash;

    if (!methods->buckets)
        return NULL;
    if (generated_names__shares(methods->generated, class_name.bytes, class_name.length, true,
                                &shared[0])) {
        class_name = (struct name){shared[0].text, shared[0].length};
        name = member_known_as(methods, class_name, name, &shared[1]);
        signature = member_known_as(methods, class_name, signature, &shared[2]);
    }
    hash = hash_on(hash_on(2166136261u, class_name, '.'), name, '(');
    hash = hash_on(hash, signature, ')');
    method = find(methods, hash, class_name, name, signature);
    if (method)
        return method;
    if (methods->bytes < JAVA_METHODS_BYTES_MAX)
        return add(methods, hash, class_name, name, signature);
    if (!methods->others)
        methods->others =
            add(methods, 0, name_of("(other classes)"), name_of("(other methods)"), name_of("()"));
    return methods->others;
}

/* "Ljava/util/Map;" → "java/util/Map". */
static struct name class_name_of(const char *signature)
{
    size_t length = strlen(signature);

    if (length > 2 && signature[0] == 'L')
        return (struct name){signature + 1, length - 2};
    return (struct name){signature, length};
}

static struct java_method *ask(struct java_methods *methods, jvmtiEnv *jvmti, jmethodID id)
{
    char *name = NULL, *signature = NULL, *class_signature = NULL;
    struct java_method *method = NULL;
    jclass declaring;

    if ((*jvmti)->GetMethodDeclaringClass(jvmti, id, &declaring) != JVMTI_ERROR_NONE)
        return NULL;
    if ((*jvmti)->GetMethodName(jvmti, id, &name, &signature, NULL) == JVMTI_ERROR_NONE &&
        (*jvmti)->GetClassSignature(jvmti, declaring, &class_signature, NULL) == JVMTI_ERROR_NONE) {
        pthread_mutex_lock(&methods->lock);
        method = get(methods, class_name_of(class_signature), name_of(name), name_of(signature));
        if (method)
            method->id = id;
        pthread_mutex_unlock(&methods->lock);
    }
    (*jvmti)->Deallocate(jvmti, (unsigned char *)name);
    (*jvmti)->Deallocate(jvmti, (unsigned char *)signature);
    (*jvmti)->Deallocate(jvmti, (unsigned char *)class_signature);
    return method;
}

/* Classes that are loaded again and again have other ids and other addresses each time. */
static void forget_ids(struct java_methods *methods)
{
    struct id_entry *entry, *next;

    HASH_ITER (hh, methods->ids, entry, next) {
        /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): it is the table's until it is out of it */
        HASH_DEL(methods->ids, entry);
        free(entry);
    }
}

static void forget_places(struct java_methods *methods)
{
    struct address_entry *entry, *next;

    HASH_ITER (hh, methods->places, entry, next) {
        /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): it is the table's until it is out of it */
        HASH_DEL(methods->places, entry);
        free(entry);
    }
}

struct java_method *java_methods__by_id(struct java_methods *methods, jvmtiEnv *jvmti, jmethodID id)
{
    struct id_entry *entry;
    struct java_method *method = NULL;

    pthread_mutex_lock(&methods->lock);
    HASH_FIND_PTR(methods->ids, &id, entry);
    if (entry)
        method = entry->method;
    pthread_mutex_unlock(&methods->lock);
    if (method)
        return method;
    method = ask(methods, jvmti, id);
    entry = method ? calloc(1, sizeof(*entry)) : NULL;
    if (!entry)
        return method;
    entry->id = id;
    entry->method = method;
    pthread_mutex_lock(&methods->lock);
    if (HASH_COUNT(methods->ids) >= JAVA_METHODS_PLACES_MAX)
        forget_ids(methods);
    /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): the table has let go of what was freed */
    HASH_ADD_PTR(methods->ids, id, entry);
    if (!entry->hh.tbl)
        free(entry);
    pthread_mutex_unlock(&methods->lock);
    return method;
}

/* A Symbol. */
static struct name symbol(const struct vm_structs *structs, const void *of)
{
    return (struct name){(const char *)of + structs->symbol_body,
                         vm_structs__short(of, structs->symbol_length)};
}

static void identify(const struct vm_structs *structs, const void *method,
                     struct address_identity *identity)
{
    const char *const_method = vm_structs__pointer(method, structs->method_const);
    const char *pool = vm_structs__pointer(const_method, structs->const_constants);
    const void *const *entries = (const void *const *)(const void *)(pool + structs->pool_bytes);

    identity->const_method = const_method;
    identity->holder = vm_structs__pointer(pool, structs->pool_holder);
    identity->name = entries[vm_structs__short(const_method, structs->const_name)];
    identity->signature = entries[vm_structs__short(const_method, structs->const_signature)];
}

/* Of a hidden class the JVM itself has "Name+0x…", and tells everybody "Name.0x…". */
static void show_hidden(struct name_copies *copies)
{
    char *plus = memchr(copies->bytes[0], '+', copies->length[0]);

    if (plus)
        *plus = '.';
}

static bool copy_names(const struct vm_structs *structs, const struct address_identity *identity,
                       struct name_copies *copies)
{
    struct name names[3] = {
        symbol(structs, vm_structs__pointer(identity->holder, structs->klass_name)),
        symbol(structs, identity->name), symbol(structs, identity->signature)};

    for (int i = 0; i < 3; i++) {
        if (names[i].length == 0 || names[i].length > JAVA_NAME_BYTES_MAX)
            return false;
        memcpy(copies->bytes[i], names[i].bytes, names[i].length);
        copies->length[i] = names[i].length;
    }
    show_hidden(copies);
    return copies->bytes[2][0] == '(';
}

static struct name copied(const struct name_copies *copies, int i)
{
    return (struct name){copies->bytes[i], copies->length[i]};
}

/* Under the lock. */
static struct java_method *note_address(struct java_methods *methods, struct address_entry *entry,
                                        const void *address,
                                        const struct address_identity *identity,
                                        const struct name_copies *copies)
{
    struct java_method *method =
        get(methods, copied(copies, 0), copied(copies, 1), copied(copies, 2));

    if (!method)
        return NULL;
    if (!entry) {
        entry = calloc(1, sizeof(*entry));
        if (!entry)
            return method;
        entry->address = address;
        if (HASH_COUNT(methods->places) >= JAVA_METHODS_PLACES_MAX)
            forget_places(methods);
        /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): the table has let go of what was freed */
        HASH_ADD_PTR(methods->places, address, entry);
        if (!entry->hh.tbl) {
            free(entry);
            return method;
        }
    }
    entry->identity = *identity;
    entry->method = method;
    return method;
}

/* What is there now. False: nothing that makes sense. */
static bool read_names(const struct vm_structs *structs, const void *address,
                       const struct address_entry *known, struct address_identity *identity,
                       struct name_copies *copies)
{
    struct fault_guard guard;
    volatile bool sensible = false;

    if (fault_guard__enter(&guard) == 0) {
        identify(structs, address, identity);
        sensible = (known && memcmp(&known->identity, identity, sizeof(*identity)) == 0) ||
                   copy_names(structs, identity, copies);
    }
    fault_guard__leave(&guard);
    return sensible;
}

struct java_method *java_methods__by_address(struct java_methods *methods, const void *address)
{
    struct name_copies *copies = &methods->copies;
    struct address_identity identity = {0};
    struct java_method *method = NULL;
    struct address_entry *entry;

    pthread_mutex_lock(&methods->lock);
    HASH_FIND_PTR(methods->places, &address, entry);
    if (read_names(methods->structs, address, entry, &identity, copies))
        method = entry && memcmp(&entry->identity, &identity, sizeof(identity)) == 0
                     ? entry->method
                     : note_address(methods, entry, address, &identity, copies);
    pthread_mutex_unlock(&methods->lock);
    return method;
}

struct java_method *java_methods__by_name(struct java_methods *methods, const char *class_name,
                                          size_t class_length, const char *name, size_t name_length,
                                          const char *signature, size_t signature_length)
{
    struct java_method *method;

    pthread_mutex_lock(&methods->lock);
    method = get(methods, (struct name){class_name, class_length}, (struct name){name, name_length},
                 (struct name){signature, signature_length});
    pthread_mutex_unlock(&methods->lock);
    return method;
}

size_t java_methods__bytes(struct java_methods *methods)
{
    size_t bytes;

    pthread_mutex_lock(&methods->lock);
    bytes = methods->bytes + HASH_COUNT(methods->ids) * sizeof(struct id_entry) +
            HASH_COUNT(methods->places) * sizeof(struct address_entry);
    if (methods->buckets)
        bytes += BUCKETS * sizeof(struct java_method *);
    pthread_mutex_unlock(&methods->lock);
    return bytes;
}

void java_methods__each(struct java_methods *methods,
                        void (*visit)(void *context, struct java_method *method), void *context)
{
    pthread_mutex_lock(&methods->lock);
    for (uint32_t i = 0; methods->buckets && i < BUCKETS; i++)
        for (struct java_method *method = methods->buckets[i]; method; method = method->next)
            visit(context, method);
    pthread_mutex_unlock(&methods->lock);
}
