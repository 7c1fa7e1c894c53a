/*
 * What the parts of loading share: methods first, then threads, then their trees. For report_load.c
 * and load_*.c only.
 */
#ifndef TREADLE_REPORT_LOADER_H
#define TREADLE_REPORT_LOADER_H

#include "tools/report/report_model.h"

/* A node on the path from the root to where the walk stands. */
struct load_step {
    uint32_t node;
    ledger_ref ref;
    ledger_ref next_child;
    ledger_ref next_sampled;
    uint32_t first_sampled; /* its first sampled child, behind the exact ones; 0: none yet */
};

struct sampled_group;

struct loader {
    const struct ledger_reader *reader;
    struct report_model *model;
    const struct symbol_names *symbols; /* or NULL */
    uint32_t *index_of; /* by ref: 1 + index of its method, thread or node in the model; 0: none */
    ledger_ref refs;    /* how many there can be */
    struct text *text_of; /* by ref: the text of a string that was loaded; none: {NULL, 0} */
    size_t node_room;
    uint32_t *active; /* by method: how often it is on the path */
    struct load_step *path;
    size_t path_room;
    size_t depth;
    struct sampled_group *groups; /* of the tree that is being loaded, see sample_shares.h */
    size_t group_room;
    size_t group_count;
};

/* Counts a record that is left out, and notes where the first one stands. */
__attribute__((format(printf, 3, 4))) void loader__skip(struct loader *loader, ledger_ref ref,
                                                        const char *format, ...);

/* True if another process is writing the ledger now: incomplete records are then no damage. */
bool loader__is_being_written(const struct loader *loader);

/* A string of the record `user`; empty if it has none. Records that name one string share its text,
 * as they do in the ledger. */
struct text loader__text(struct loader *loader, ledger_ref ref, ledger_ref user);

/* How many records a table has; *last becomes the ref of the last one if that is larger. */
uint32_t loader__count_records(const struct loader *loader, enum ledger_table table,
                               ledger_ref *last);

/* Returns the index of a ref's record in the model, from index_of; REPORT_NONE for a ref that the
 * walk of the table has not seen, which is no such record. */
uint32_t loader__index_or_none(const struct loader *loader, ledger_ref ref);
uint32_t loader__thread_or_none(const struct loader *loader, ledger_ref ref);

/* Makes room for `count` more nodes. */
void loader__make_room(struct loader *loader, uint32_t count);

void loader__load_methods(struct loader *loader);
void loader__load_threads(struct loader *loader);
void loader__load_kernel_threads(struct loader *loader);
void loader__load_tallies(struct loader *loader);
void loader__load_trees(struct loader *loader);
void loader__load_blocks(struct loader *loader);
void loader__load_latencies(struct loader *loader);
void loader__load_hazards(struct loader *loader);
void loader__load_chains(struct loader *loader);

#endif
