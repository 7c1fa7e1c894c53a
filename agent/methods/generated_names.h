/*
 * Names of classes that a program generates while it runs, by the thousand or without end: proxies,
 * accessors, lambdas, scripts, templates. Such names differ in a number only. The first
 * GENERATED_NAMES_KEPT names of a kind are kept; all later classes of the kind share one name,
 * which has '#' where the numbers are. So the tables that are keyed by name (method numbers,
 * quotas, records and contexts in the ledger) do not grow with the number of classes that a program
 * generates.
 *
 * Classes that share a name may have methods whose names differ in a number only, too, or whose
 * descriptors name such classes. These share names in the same way, in each shared class by itself.
 *
 * A number is a run of digits, the part after "0x", or a word of hexadecimal digits that looks like
 * a hash. '/' and '.' are equal. Takes its own lock; not for hooks or handlers.
 */
#ifndef TREADLE_GENERATED_NAMES_H
#define TREADLE_GENERATED_NAMES_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GENERATED_NAMES_KEPT  1024u
#define GENERATED_NAME_MAX    1024u /* longer names are not shared */
#define GENERATED_NAMES_SLOTS (1u << 17)

/* A kind, or a kept name. */
struct generated_name {
    uint64_t hash;  /* 0: free */
    uint32_t count; /* of a kind: number of names kept */
};

struct generated_names {
    pthread_mutex_t lock;
    struct generated_name *slots; /* NULL: every name is kept */
    uint32_t used;                /* beyond three quarters no new kind gets names of its own */
};

struct shared_name {
    size_t length;
    char text[GENERATED_NAME_MAX];
};

/* Reserves address space; memory is used as names are added. */
void generated_names__init(struct generated_names *names);
/* No thread may use the names any more. */
void generated_names__end(struct generated_names *names);

/* True: the class goes by the shared name, which is filled in (with the separators of the given
 * name). False: the class goes by its own name; if is_made says that something is stored under that
 * name, it keeps the name from then on. names may be NULL: no name is shared. */
bool generated_names__shares(struct generated_names *names, const char *name, size_t length,
                             bool is_made, struct shared_name *shared);

/* The same for the name, or the descriptor, of a method of a class that goes by the shared name
 * class_name. Only the method's part is filled in. */
bool generated_names__shares_member(struct generated_names *names, const char *class_name,
                                    size_t class_length, const char *member, size_t length,
                                    bool is_made, struct shared_name *shared);

/* Memory in use. */
size_t generated_names__bytes(const struct generated_names *names);

#endif
