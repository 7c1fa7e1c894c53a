/*
 * For how long methods were heard, that is, recorded. Where overhead= set a budget, a method that
 * was called too often was silent for part of the time, or had no hooks at all: the number of its
 * calls is a lower bound.
 */
#ifndef TREADLE_REPORT_HOOKINGS_H
#define TREADLE_REPORT_HOOKINGS_H

#include "native/ledger/ledger_format.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ledger_reader;
struct report_model;
struct loader;

/* The hooks of one method. Its records of several class loaders or processes are taken together.
 * Times are on the ledger's clock. */
struct report_hooking {
    bool is_partial;    /* not heard all of the time; if false, no other field counts */
    bool is_left_out;   /* for a time, or still, because include= and exclude= were set anew */
    uint32_t state;     /* enum ledger_hooking_state, the best of its records' */
    uint64_t from_ns;   /* when hooks were put in first; 0: never, a plan left the method out */
    uint64_t until_ns;  /* when it fell silent last; 0: it is heard */
    uint64_t heard_ns;  /* the sum over all records, as is span_ns */
    uint64_t span_ns;   /* from when hooks were put in */
    uint32_t mutes;     /* how often it fell silent */
    uint64_t left_ns;   /* for how long include= and exclude= left it out before they took it in */
    uint32_t rate;      /* calls a second when it fell silent last; planned: in the earlier run */
    uint32_t rate_max;  /* … that the budget allowed then; 0: not known */
    uint64_t calls;     /* heard before it fell silent, about; 0: not known */
    uint64_t since_ns;  /* when its state began */
    uint64_t known_ns;  /* of span_ns: its calls were recorded or counted */
    uint64_t unsure_ns; /* of span_ns: its calls were counted, and the last ones may be missing */
    uint64_t counted;   /* calls that were counted, not recorded: they are in no tree */
};

/* Fills model->hookings; methods must be loaded. */
void loader__load_hookings(struct loader *loader);

/* Marks the methods that had hooks and calls before include= and exclude= were set anew, and have
 * had no hooks since. To be called when the rest of the model is loaded. */
void report_hookings__leave_out(struct report_model *model, const struct ledger_reader *reader);

/* Returns the method's hooking; NULL: it was always heard, or never had hooks. */
const struct report_hooking *report_hooking__of(const struct report_model *model, uint32_t method);

/* True if all its calls are known, the recorded and the counted ones together. */
bool report_hooking__knows_calls(const struct report_hooking *hooking);

/* The part of the time in which the method was heard, in millionths; less than a million. */
uint32_t report_hooking__share_ppm(const struct report_hooking *hooking);

/* True if the node's count of calls is a lower bound. */
bool report_node__is_partial(const struct report_model *model, uint32_t node);

/* Makes the model's hookings those of an interval: subtracts what was heard up to `before`.
 * `methods`: the model's index by the index in `before`. */
void report_hookings__subtract(struct report_model *model, const struct report_model *before,
                               const uint32_t *methods);

/* Methods that fell silent, for a time or still, and that a plan left out. */
struct report_hookings_count {
    uint64_t silent;  /* now */
    uint64_t counted; /* … of these, whose calls are all counted … */
    uint64_t muted;   /* … and to be tried again */
    uint64_t again;   /* heard again now */
    uint64_t planned;
};

struct report_hookings_count report_hookings__count(const struct report_model *model);

#endif
