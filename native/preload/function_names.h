/*
 * The names of the functions whose calls are seen, and what include= and exclude= say of them. A
 * hook knows an address only: names are found afterwards by the profiler's own thread, as those of
 * sampled functions are (native/sampling/sampled_symbols.h), and both have one record.
 *
 * With include= or exclude= the functions of every image are decided by its symbols when the image
 * is first seen: in the library's beginning, and after dlopen. Calls that come before are lost, and
 * counted; a function without a symbol has no name, so include= has none of these.
 *
 * A glob is compared with the function's symbol, and with FILE.SYMBOL, where FILE is the image's
 * name without its folder. Not for hooks, but __decide. One thread at a time.
 */
#ifndef TREADLE_FUNCTION_NAMES_H
#define TREADLE_FUNCTION_NAMES_H

#include "native/glob_list.h"
#include "native/preload/function_table.h"
#include "native/sampling/sampled_symbols.h"

#include <pthread.h>

#define FILTERED_IMAGES_MAX 1024u

/* An image whose functions are decided. */
struct filtered_image {
    uint64_t bias;
    char path[240];
};

struct function_names {
    struct function_table *functions;
    struct sampled_symbols symbols;
    struct code_images *images;
    const struct glob_list *include, *exclude; /* NULL: none was given */
    uint64_t named;                            /* functions whose name has been looked for */
    pthread_mutex_t lock; /* a look at the images: by the profiler's thread, and after dlopen */
    struct filtered_image *filtered; /* FILTERED_IMAGES_MAX; NULL: there is no filter */
    uint32_t filtered_count;
};

/* 0 or -ENOMEM. */
int function_names__init(struct function_names *names, struct function_table *functions,
                         struct code_images *images, const struct glob_list *include,
                         const struct glob_list *exclude);

/* In the child of a fork, which was made while the lock was held: nothing is named yet. */
void function_names__restart(struct function_names *names);

/* Looks at the images that are mapped now, and decides the functions of new ones. From any thread.
 */
void function_names__look(struct function_names *names);

/* Images were unloaded: those that are loaded again later are decided anew. From any thread. */
void function_names__forget_unloaded(struct function_names *names);

/* Names the functions that came since the last call. */
void function_names__name(struct function_names *names);

/* A function that is new is called: what it is from here on. For hooks. */
enum function_state function_names__decide(const struct function_names *names,
                                           struct function *function);

#endif
