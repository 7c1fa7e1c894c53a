/*
 * Names of classes that a program makes while it runs, by the thousand or for ever: proxies,
 * accessors, lambdas, scripts, templates. They differ in a number. The first GENERATED_NAMES_KEPT
 * of a kind keep their names; all later ones share one, which has '#' where the numbers are. So
 * what is kept by name (method numbers, quotas, records and contexts in the ledger) does not grow
 * with the number of classes that a program ever made.
 *
 * A number is a run of digits, what follows "0x", or a word of hexadecimal digits that looks like a
 * hash. '/' and '.' are the same. Takes its own lock; not for hooks or handlers.
 */
#ifndef TREADLE_GENERATED_NAMES_H
#define TREADLE_GENERATED_NAMES_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GENERATED_NAMES_KEPT  1024u
#define GENERATED_NAME_MAX    1024u /* longer ones are not shared */
#define GENERATED_NAMES_SLOTS (1u << 17)

/* A kind, or a name that is kept. */
struct generated_name {
    uint64_t hash;  /* 0: free */
    uint32_t count; /* of a kind: names kept */
};

struct generated_names {
    pthread_mutex_t lock;
    struct generated_name *slots; /* NULL: every name is kept */
    uint32_t used;                /* beyond three quarters no kind gets names of its own */
};

struct shared_name {
    size_t length;
    char text[GENERATED_NAME_MAX];
};

/* Takes address space, and memory as names come. */
void generated_names__init(struct generated_names *names);
/* Nobody uses them any more. */
void generated_names__end(struct generated_names *names);

/* True: the class goes by the shared name, which is filled in (separators as they came). False: by
 * its own, as it does from then on if is_made says that something is kept under it. names may be
 * NULL: no name is shared. */
bool generated_names__shares(struct generated_names *names, const char *name, size_t length,
                             bool is_made, struct shared_name *shared);

/* Memory in use. */
size_t generated_names__bytes(const struct generated_names *names);

#endif
