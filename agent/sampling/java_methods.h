/*
 * Java methods of samples, by name. A method that the JVM names by a jmethodID in one place and by
 * the address of a Method in another is one method here, for the life of the process. Classes whose
 * names differ in a number may share a name (agent/methods/generated_names.h). Beyond
 * JAVA_METHODS_BYTES_MAX bytes of names all further methods are one, "(other classes)". Takes its
 * own lock; not for handlers.
 */
#ifndef TREADLE_JAVA_METHODS_H
#define TREADLE_JAVA_METHODS_H

#include "agent/hotspot/vm_structs.h"
#include "agent/methods/generated_names.h"
#include "native/ledger/ledger.h"

#include <jvmti.h>
#include <pthread.h>

#define JAVA_METHODS_BYTES_MAX  (32u << 20)
#define JAVA_METHODS_PLACES_MAX 65536u /* beyond it the caches of ids and addresses are cleared */
#define JAVA_NAME_BYTES_MAX     4096u  /* a method with a longer name is not known */

struct java_method {
    struct java_method *next; /* of the same hash */
    uint32_t hash;
    ledger_ref ref;     /* its record, made when a sample is merged; for the merging thread only */
    jmethodID id;       /* or NULL: never seen */
    bool was_on_top;    /* of a sample, compiled */
    bool is_hooked;     /* samples found it on exact paths, as below */
    uint64_t walked_in; /* the last sample with the method on the stack, by frame_tally.h */
    uint64_t stood_in;  /* the last sample with the method on the exact path */
    uint64_t coarse_in; /* the last coarse sample with the method on the stack, likewise */
    uint32_t coarse;    /* coarse samples with it on the stack (frame_tally.h), not weighed yet */
    uint32_t weight;    /* of coarse samples, the recent ones more; for the choice of methods to be
                           hooked again */
    uint32_t standing;  /* folded frames of the method on the stack; 0 between two samples */
    bool detailed;      /* lines and bytecodes were asked for */
    uint32_t codes;     /* pieces of compiled code that have records; the merging thread's own */
    char *class_name;   /* with dots */
    char *name;
    char *signature;
};

/* Copies of the three names of a method, since what they are read from may go any time. */
struct name_copies {
    char bytes[3][JAVA_NAME_BYTES_MAX];
    size_t length[3];
};

struct java_methods {
    pthread_mutex_t lock;
    struct java_method **buckets;
    uint32_t count;
    size_t bytes; /* of names */
    struct java_method
        *others; /* stands for all methods whose names are not kept; NULL: none yet */
    struct generated_names *generated; /* set after the beginning; NULL: no class shares a name */
    struct id_entry *ids;              /* uthash, by jmethodID */
    struct address_entry *places;      /* uthash, by Method * */
    const struct vm_structs *structs;
    struct name_copies copies; /* of the running call; under the lock */
};

void java_methods__init(struct java_methods *methods, const struct vm_structs *structs);

/* Finds a method by its jmethodID. NULL: no memory, or the method has been unloaded. On any thread
 * that may call JVMTI. */
struct java_method *java_methods__by_id(struct java_methods *methods, jvmtiEnv *jvmti,
                                        jmethodID id);

/* Finds a method by the address of its Method. NULL: the Method has been freed, or its memory makes
 * no sense. Reads the JVM's memory in a fault guard of its own. */
struct java_method *java_methods__by_address(struct java_methods *methods, const void *address);

/* Finds a method by name; the class name has dots. */
struct java_method *java_methods__by_name(struct java_methods *methods, const char *class_name,
                                          size_t class_length, const char *name, size_t name_length,
                                          const char *signature, size_t signature_length);

/* Memory in use. */
size_t java_methods__bytes(struct java_methods *methods);

/* Calls visit for each method. Under the lock. */
void java_methods__each(struct java_methods *methods,
                        void (*visit)(void *context, struct java_method *method), void *context);

#endif
