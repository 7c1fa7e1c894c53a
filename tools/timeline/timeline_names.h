/*
 * What things of a timeline are called: methods and classes by the ledger of the process, threads
 * by what was told of them, the ledger, and the kernel, in this order.
 */
#ifndef TREADLE_TIMELINE_NAMES_H
#define TREADLE_TIMELINE_NAMES_H

#include "tools/timeline/timeline_model.h"

#include <stdbool.h>

struct timeline_label {
    const char *word; /* a constant; NULL: a method */
    ledger_ref ref;   /* of the class or the method */
};

/* A thread of the ledger. */
struct timeline_named {
    uint64_t java_id;
    ledger_ref ref;
};

/* Set texts and ledger (or NULL) to begin, zero the rest. */
struct timeline_names {
    struct text_store *texts;
    const struct ledger_reader *ledger;
    struct text *labels; /* the caller's at the end */
    size_t label_count, label_room;
    struct timeline_label *keys;
    size_t key_room;
    struct index_table table;
    struct timeline_named *threads; /* of the ledger, from the first look for an owner on */
    size_t thread_count, thread_room;
    struct index_table thread_table;
    bool has_threads;
};

void timeline_names__release(struct timeline_names *names);

/* The label "WORD CLASS", or "WORD"; the label of a method. */
uint32_t timeline_names__reason(struct timeline_names *names, const char *word,
                                ledger_ref class_name);
uint32_t timeline_names__method(struct timeline_names *names, ledger_ref method);

struct text timeline_names__keep(struct timeline_names *names, const char *bytes, size_t length);

/* The thread's record, or NULL: it is in the ledger only if its kind is one that there is. */
const struct ledger_thread *timeline_names__thread(const struct ledger_reader *ledger,
                                                   ledger_ref ref);

/* The track of a thread that has no event of its own, by its Java id. */
uint32_t timeline_names__owner(struct timeline_names *names, struct timeline_model *model,
                               uint64_t java_id);

/* Names all tracks, and says what kind of threads they are. */
void timeline_names__name_tracks(struct timeline_names *names, struct timeline_model *model);

#endif
