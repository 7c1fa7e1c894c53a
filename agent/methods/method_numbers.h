/*
 * The methods that have or had hooks, by the number that the hooks pass. A number belongs to a name
 * (class, method, descriptor) for the life of the process: a class that is loaded again, by any
 * loader, redefined, or hooked again gets the numbers that it had. So memory grows with the number
 * of names, not with loads, starts and stops. Of classes whose names differ in a number only, some
 * have names of their own and the others share one name (agent/methods/generated_names.h); so have
 * their methods. Methods of one class whose names differ in a number only may share a number then.
 *
 * method_numbers__get takes no lock and is for hooks; all other functions take the table's lock.
 */
#ifndef TREADLE_METHOD_NUMBERS_H
#define TREADLE_METHOD_NUMBERS_H

#include "agent/classfile/constant_pool.h"
#include "agent/methods/generated_names.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define METHOD_NUMBERS_CHUNK   4096u
#define METHOD_NUMBERS_CHUNKS  4096u
#define METHOD_NUMBERS_BUCKETS (1u << 14)

struct numbered_class;

struct numbered_method {
    struct numbered_class *class;
    struct numbered_method *next; /* the next method of the class */
    struct numbered_method *next_in_bucket;
    uint32_t id;
    uint32_t hash;
    bool hooked; /* atomic; if its class has hooks, this method has them */
    bool kept;  /* atomic; its hooks cannot be removed, heard or not (agent/hooks/interface_hooks.h)
                 */
    char *name; /* NUL-terminated, as the descriptor, in one allocation with this */
    char *descriptor;
};

struct method_numbers {
    pthread_mutex_t lock;
    struct numbered_class *classes; /* uthash, by name */
    size_t bytes;
    size_t bytes_max;
    struct generated_names *generated; /* set after the beginning; NULL: no class shares a name */
    uint32_t count;
    struct numbered_method *buckets[METHOD_NUMBERS_BUCKETS];
    struct numbered_method **chunk[METHOD_NUMBERS_CHUNKS]; /* atomic */
};

void method_numbers__init(struct method_numbers *methods, size_t bytes_max);

/* Finds or makes the class of that internal name, or of the name that it shares; NULL: no memory.
 */
struct numbered_class *method_numbers__class(struct method_numbers *methods,
                                             struct class_text name);
/* The same without making it. */
struct numbered_class *method_numbers__find_class(struct method_numbers *methods, const char *name);

/* Finds or makes the number of a method of the class; 0: no memory. */
uint32_t method_numbers__id(struct method_numbers *methods, struct numbered_class *class,
                            struct class_text name, struct class_text descriptor);

/* The same without making it; 0: there is none. */
uint32_t method_numbers__find_id(struct method_numbers *methods, struct numbered_class *class,
                                 struct class_text name, struct class_text descriptor);

/* Exactly these methods of the class have hooks from now on. Exception: if the class was seen
 * already and several classes share its name, methods are only added. */
void method_numbers__set_hooked(struct method_numbers *methods, struct numbered_class *class,
                                const uint32_t *ids, uint32_t count);

/* Marks the hooked methods of the class as keeping their hooks. */
void method_numbers__keep(struct method_numbers *methods, struct numbered_class *class);

/* Sets whether kept hooks of the method are heard. */
void method_numbers__hear_kept(const struct method_numbers *methods, uint32_t id, bool heard);

/* True if the method keeps its hooks. */
bool numbered_method__is_kept(const struct numbered_method *method);

/* True if the method has hooks now. */
bool numbered_method__is_hooked(const struct numbered_method *method);

/* Memory in use. Any thread. */
size_t method_numbers__bytes(const struct method_numbers *methods);

/* Returns the method with a number that was given out. Async-signal-safe. */
const struct numbered_method *method_numbers__get(const struct method_numbers *methods,
                                                  uint32_t id);

const char *numbered_class__name(const struct numbered_class *class);
/* "HashMap.java", or NULL. */
const char *numbered_class__source(const struct numbered_class *class);
void numbered_class__set_source(struct method_numbers *methods, struct numbered_class *class,
                                struct class_text source);

/* A word for the user of the table, 0 at first; read and written atomically. */
uint32_t *numbered_class__listing(struct numbered_class *class);

/* When the class file was last rewritten, in the ledger's time; 0: never. */
uint64_t numbered_class__rewritten_ns(const struct numbered_class *class);
void numbered_class__set_rewritten(struct numbered_class *class, uint64_t now_ns);

/* Marks for the user of the table. */
enum class_mark {
    CLASS_HOOKED = 1,   /* the class was given hooks */
    CLASS_COUNTED = 2,  /* counted in the header's numbers */
    CLASS_REFUSED = 4,  /* the JVM refused the class with hooks */
    CLASS_SEEN = 8,     /* examined since the last insert */
    CLASS_RENEWED = 16, /* some of its methods are to be hooked again */
    CLASS_KEPT = 32,    /* the class file is not changed any more (hooks/interface_hooks.h) */
    CLASS_OF_JDK = 64,  /* of the boot or platform loader */
    CLASS_LOOPING =
        128, /* a loop of it lasted when hooks were to be put in: it has none for good */
    CLASS_CONTENDED = 256, /* a monitor that it may have entered is contended: it is to get … */
    CLASS_MONITORS = 512,  /* … hooks where it enters and exits monitors, and has them */
};

bool numbered_class__is(const struct numbered_class *class, enum class_mark mark);
/* Sets a mark; true if it was not set before. */
bool numbered_class__mark(struct numbered_class *class, enum class_mark mark);
/* Clears a mark of all classes. */
void method_numbers__unmark(struct method_numbers *methods, enum class_mark mark);

#endif
