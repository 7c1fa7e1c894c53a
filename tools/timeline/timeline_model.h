/*
 * A timeline as it is drawn: tracks of threads, slices on them, and arrows between them, made from
 * what was recorded. All times are within the timeline's begin and end.
 *
 * A wait is drawn from its begin to its end; one that began before the timeline from its begin on,
 * one that goes on to its end. Where events were lost that is not known: a wait of which only one
 * end was recorded is then left out and counted in `unmatched`.
 *
 * The foot of an arrow, who let go what a thread waited for, is inferred: the thread that got the
 * lock last, in another wait that ended while this one lasted; or else the owner when the wait
 * began. A wait for which neither is known has no arrow.
 */
#ifndef TREADLE_TIMELINE_MODEL_H
#define TREADLE_TIMELINE_MODEL_H

#include "native/ledger/ledger_reader.h"
#include "tools/report/index_table.h"
#include "tools/report/text.h"
#include "tools/timeline/timeline_store.h"

#include <stddef.h>
#include <stdint.h>

#define TIMELINE_REASONS 5u
#define TIMELINE_NONE    UINT32_MAX

enum timeline_slice_kind {
    SLICE_WAIT,
    SLICE_CALL,
    SLICE_PAUSE, /* of the collector */
    SLICE_RUN,   /* on a processor */
    SLICE_KINDS,
};

enum timeline_slice_flag {
    SLICE_BEGAN_BEFORE = 1u << 0, /* the timeline */
    SLICE_GOES_ON = 1u << 1,      /* behind its end */
    SLICE_PREEMPTED = 1u << 2,    /* a run that ended although the thread could run */
};

struct timeline_slice {
    uint64_t begin_ns;
    uint64_t end_ns;
    uint32_t track;
    uint32_t label;
    uint8_t kind;
    uint8_t flags;
    uint16_t place; /* of a run: its processor; of a wait: its reason, as timeline_reason__name */
    uint32_t identity; /* of a lock; or 0 */
    uint32_t owner;    /* the track of the lock's owner when the wait began; or TIMELINE_NONE */
    ledger_ref lock_class;
    uint32_t lock_kind;
};

struct timeline_track {
    struct text name;
    int32_t tid; /* 0: a virtual thread, which has none of its own */
    uint64_t java_id;
    uint8_t kind; /* enum ledger_thread_kind */
    uint64_t wait_ns[TIMELINE_REASONS];
    uint64_t waits[TIMELINE_REASONS];
    uint64_t run_ns;
    uint64_t switches; /* how often it left its processor */
    uint64_t preempted;
    uint64_t calls;
};

struct timeline_arrow {
    uint64_t at_ns;
    uint32_t from;
    uint32_t to;
    uint32_t label;
};

struct timeline_model {
    const struct timeline_store *store;
    struct text_store texts;
    struct timeline_track *tracks;
    size_t track_count, track_room;
    struct timeline_slice *slices; /* all but runs: by track, begin, the longer one first */
    size_t slice_count, slice_room;
    struct timeline_slice *runs; /* by processor and begin */
    size_t run_count, run_room;
    struct timeline_arrow *arrows; /* by time */
    size_t arrow_count, arrow_room;
    struct text *labels;
    size_t label_count;
    uint64_t counts[SLICE_KINDS];
    uint64_t switches;              /* how often a thread left its processor */
    uint64_t lost_switches;         /* records of switches that the kernel had no room for */
    uint64_t unmatched;             /* waits and runs of which only one end was recorded */
    struct index_table track_table; /* by java id and by tid */
};

/* The track of a Java thread, or of a kernel thread that runs no other one; or TIMELINE_NONE. */
uint32_t timeline_model__find(const struct timeline_model *model, uint64_t java_id, int32_t tid);

/* The same; it is added if it is not there. */
uint32_t timeline_model__track(struct timeline_model *model, uint64_t java_id, int32_t tid,
                               enum ledger_thread_kind kind);

/* Sorts the store. ledger: of the process, for names; or NULL. */
void timeline_model__make(struct timeline_model *model, struct timeline_store *store,
                          const struct ledger_reader *ledger);
void timeline_model__release(struct timeline_model *model);

/* "monitor", "object wait", "park", "sleep", "io" */
const char *timeline_reason__name(unsigned place);

#endif
