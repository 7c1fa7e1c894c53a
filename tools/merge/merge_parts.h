/*
 * What the parts of a merge share. For tools/merge only.
 */
#ifndef TREADLE_MERGE_PARTS_H
#define TREADLE_MERGE_PARTS_H

#include "native/ledger/ledger.h"
#include "native/ledger/ledger_reader.h"
#include "tools/report/index_table.h"

#include <stdbool.h>

#define MERGE_PREFIX_BYTES 96u

struct merge_input {
    const struct ledger_reader *reader;
    const struct ledger_header *header;
    size_t number;
    uint64_t shift_ns;               /* from its clock to the merged ledger's */
    uint64_t asof_ns;                /* when its profiling ended, on its own clock */
    uint64_t calls;                  /* in its trees */
    char prefix[MERGE_PREFIX_BYTES]; /* of its threads' names */
    ledger_ref *to;  /* by ref of a method, thread, node, image, code, block or string: its ref in
                        the merge */
    ledger_ref refs; /* how many there can be */
    uint64_t skipped;
    char skipped_where[160];
};

struct merged_method {
    ledger_ref ref;
    size_t input; /* the last input that had the method: two methods of one input stay two */
};

struct ledger_merge {
    struct ledger ledger;
    struct ledger_arena nodes;
    struct ledger_arena sides;
    bool full; /* something found no room */
    struct merge_input *inputs;
    size_t input_count;
    struct merged_method *methods;
    size_t method_count;
    size_t method_room;
    struct index_table method_table;
    ledger_ref *places;
    size_t place_count;
    size_t place_room;
    struct index_table place_table;
};

/* Returns a zeroed record, or none without room, which is noted in merge->full. */
ledger_ref merge__take(struct ledger_merge *merge, enum ledger_table table, size_t bytes);

/* Copies a string of the input into the merged ledger; none for none. `user` is the record that
 * names it. */
ledger_ref merge__string(struct ledger_merge *merge, struct merge_input *input, ledger_ref ref,
                         ledger_ref user);
/* The same with the input's prefix before the string. */
ledger_ref merge__prefixed(struct ledger_merge *merge, struct merge_input *input, ledger_ref ref,
                           ledger_ref user);

/* Counts a record that is left out. */
__attribute__((format(printf, 3, 4))) void merge__skip(struct merge_input *input, ledger_ref ref,
                                                       const char *format, ...);

/* The ref in the merge of an input's method; none if the input's ref is no method's. */
ledger_ref merge__method(const struct merge_input *input, ledger_ref ref);

/* Sets the input's prefix to one that no earlier input has. */
void merge_prefix__set(const struct ledger_merge *merge, struct merge_input *input);

/* Fills the header in from all inputs' headers; needs each input's asof_ns, sets its shift_ns. */
void merge_header__fill(struct ledger_merge *merge);
/* The fields that are known only once the trees are copied. */
void merge_header__finish(struct ledger_merge *merge);

/* The merged header's `filters`: classes from before an input's last filter have another number. */
#define MERGED_FILTERS 1u

/* Images, methods, compiled code, places, what became of hooks. */
void merge_methods__add(struct ledger_merge *merge, struct merge_input *input);

/* Writes records of the methods that the input's last include= and exclude= left out, whose calls
 * are thus a lower bound, and returns by ref of a method whether it is one of these; the records of
 * all other methods are for merge_methods.c to copy. NULL: no method was left out. Release with
 * free. */
bool *merge_left_out__add(struct ledger_merge *merge, struct merge_input *input);

/* Writes records of the methods that the input had postponed up to its end. After all inputs'
 * methods. */
void merge_postponed__add(struct ledger_merge *merge, struct merge_input *input);

/* Threads with their trees, then kernel threads and what samples had on their stacks. */
void merge_threads__add(struct ledger_merge *merge, struct merge_input *input);

/* Waits for locks, after methods and threads. */
void merge_blocks__add(struct ledger_merge *merge, struct merge_input *input);
void merge_hazards__add(struct ledger_merge *merge, struct merge_input *input);

/* Parts of chains, after methods. */
void merge_chains__add(struct ledger_merge *merge, struct merge_input *input);

/* Histograms of latency=, after methods: those of one method become one. */
void merge_latencies__add(struct ledger_merge *merge, struct merge_input *input);

/* Copies the tree below a thread's root; none if the root makes no sense. */
ledger_ref merge_tree__copy(struct ledger_merge *merge, struct merge_input *input, ledger_ref root);

#endif
