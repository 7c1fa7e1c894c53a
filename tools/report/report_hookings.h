/*
 * For how long methods were heard. Where overhead= set a budget, a method that was called too often
 * was silent for part of the time, or had no hooks at all: its calls are so many at least.
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

/* Of one method. Records of it that several class loaders or processes have are taken together.
 * Times are on the ledger's clock. */
struct report_hooking {
    bool is_partial;   /* not heard all of the time; else the rest means nothing */
    bool is_left_out;  /* for a time, or still, because include= and exclude= were set anew */
    uint32_t state;    /* enum ledger_hooking_state, the best of its records' */
    uint64_t from_ns;  /* when hooks were put in first; 0: never, a plan left the method out */
    uint64_t until_ns; /* when it fell silent last; 0: it is heard */
    uint64_t heard_ns; /* in all, as are the next */
    uint64_t span_ns;  /* from when hooks were put in */
    uint32_t mutes;    /* how often it fell silent */
    uint64_t left_ns;  /* for how long include= and exclude= left it out before they took it in */
    uint32_t rate;     /* calls a second when it did so last; planned: in the earlier run */
    uint32_t rate_max; /* … that the budget allowed then; 0: not known */
    uint64_t calls;    /* heard up to then, about; 0: not known */
    uint64_t since_ns; /* when it came to its state */
};

/* Into model->hookings; methods must be there. */
void loader__load_hookings(struct loader *loader);

/* Methods that had hooks, and calls, before include= and exclude= were set anew, and have none
 * since. When all else of the model is there. */
void report_hookings__leave_out(struct report_model *model, const struct ledger_reader *reader);

/* The method's, or NULL: it was heard from its class's loading on, or never had hooks. */
const struct report_hooking *report_hooking__of(const struct report_model *model, uint32_t method);

/* Heard time of all, in millionths; below a million. */
uint32_t report_hooking__share_ppm(const struct report_hooking *hooking);

/* True if the node's count of calls is a lower bound. */
bool report_node__is_partial(const struct report_model *model, uint32_t node);

/* An interval's: what `before` had heard is not its own. methods: the model's, by before's. */
void report_hookings__subtract(struct report_model *model, const struct report_model *before,
                               const uint32_t *methods);

/* Methods that fell silent, for a time or still, and that a plan left out. */
struct report_hookings_count {
    uint64_t silent; /* now */
    uint64_t muted;  /* … of these, to be tried again */
    uint64_t again;  /* heard again now */
    uint64_t planned;
};

struct report_hookings_count report_hookings__count(const struct report_model *model);

#endif
