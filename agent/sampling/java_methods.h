/*
 * Java methods that samples met or may meet, by name: what the JVM names by a jmethodID in one
 * place and by the address of a Method in another is the same method here, once for as long as the
 * process lives. Classes that differ in a number may share a name
 * (agent/methods/generated_names.h); beyond JAVA_METHODS_BYTES_MAX of names all methods are one,
 * "(other classes)". Takes its own lock; not for handlers.
 */
#ifndef TREADLE_JAVA_METHODS_H
#define TREADLE_JAVA_METHODS_H

#include "agent/hotspot/vm_structs.h"
#include "agent/methods/generated_names.h"
#include "native/ledger/ledger.h"

#include <jvmti.h>
#include <pthread.h>

#define JAVA_METHODS_BYTES_MAX (32u << 20)
#define JAVA_METHODS_PLACES_MAX                                                                    \
    65536u /* then what is known of ids and addresses is looked up anew */

struct java_method {
    struct java_method *next; /* of the same hash */
    uint32_t hash;
    ledger_ref ref;     /* its record, made when a sample is merged; the merging thread's own */
    jmethodID id;       /* or NULL: never seen */
    bool was_on_top;    /* of a sample, compiled */
    bool is_hooked;     /* samples found it on exact paths, as below */
    uint64_t walked_in; /* the last sample with it on the stack, by frame_tally.h; … */
    uint64_t stood_in;  /* … and on the exact path */
    uint32_t samples;   /* with it on the stack */
    uint32_t weight;    /* of the last ones most: of who chooses what is to have hooks */
    uint32_t standing;  /* times on the stack, folded; 0 between two samples */
    bool detailed;      /* lines and bytecodes were asked for */
    uint32_t codes;     /* pieces of compiled code that have records; the merging thread's own */
    char *class_name;   /* with dots */
    char *name;
    char *signature;
};

struct java_methods {
    pthread_mutex_t lock;
    struct java_method **buckets;
    uint32_t count;
    size_t bytes;                      /* of names */
    struct java_method *others;        /* of which no names are kept; NULL: none yet */
    struct generated_names *generated; /* set after the beginning; NULL: no class shares a name */
    struct id_entry *ids;              /* uthash, by jmethodID */
    struct address_entry *places;      /* uthash, by Method * */
    const struct vm_structs *structs;
};

void java_methods__init(struct java_methods *methods, const struct vm_structs *structs);

/* NULL: no memory, or there is no such method any more. On any thread that may call JVMTI. */
struct java_method *java_methods__by_id(struct java_methods *methods, jvmtiEnv *jvmti,
                                        jmethodID id);

/* By the address of its Method, which may be gone: NULL then, or if what is there makes no sense.
 * Reads the JVM's memory in a fault guard of its own. */
struct java_method *java_methods__by_address(struct java_methods *methods, const void *address);

/* By name: dots in the class's. */
struct java_method *java_methods__by_name(struct java_methods *methods, const char *class_name,
                                          size_t class_length, const char *name, size_t name_length,
                                          const char *signature, size_t signature_length);

/* Memory in use. */
size_t java_methods__bytes(struct java_methods *methods);

/* Calls visit for each method. Under the lock. */
void java_methods__each(struct java_methods *methods,
                        void (*visit)(void *context, struct java_method *method), void *context);

#endif
