/*
 * The agent's options: `key=value,key=value` after -agentpath:…, where every `=` may also be `:`
 * (jcmd cuts its argument at the first `=`). One table lists all options.
 */
#ifndef TREADLE_OPTIONS_H
#define TREADLE_OPTIONS_H

#include "agent/host/log.h"
#include "agent/methods/method_filter.h"
#include "native/ledger/ledger_format.h"
#include "native/timeline/timeline.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OVERHEAD_PPM_DEFAULT 20000u

#define SAMPLE_INTERVAL_NS_DEFAULT 10000000u

/* One level is the calling context tree of [G. Ammons, T. Ball, J. R. Larus: Exploiting Hardware
 * Performance Counters with Flow and Context Sensitive Profiling, PLDI 1997]. */
#define RECURSION_DEFAULT 1u

#define TIMELINE_FOR_NS_DEFAULT UINT64_C(60000000000)
#define TIMELINE_FOR_NS_MOST    UINT64_C(3600000000000)

struct agent_options {
    char *file;     /* pattern of snapshots' paths; see snapshot__path */
    char *live_dir; /* folder of the live ledger; NULL: a memory file system */
    struct method_filter filter;
    struct glob_list *latency; /* methods whose calls are measured; NULL: none */
    enum ledger_event_mode events;
    uint64_t metrics; /* bits asked for, to be charged to call paths */
    enum ledger_sample_mode sample;
    uint32_t overhead_ppm;  /* limit of the agent's cost, of the process's CPU; 0: none */
    bool samples_by_budget; /* sample= was not given */
    char *plan;             /* a ledger of an earlier run, or NULL */
    uint64_t interval_ns;   /* between two samples */
    enum ledger_sample_clock sample_clock; /* TIMER, PERF, or NONE: as the interval needs */
    enum ledger_unwind unwind;             /* UNKNOWN: the processor's */
    bool reuse_new;
    bool fold_none;
    bool keep_orphans;          /* orphans of killed JVMs are not removed */
    uint32_t recursion;         /* levels kept apart; 0: all */
    bool waits;                 /* reasons of waits */
    bool waits_asked;           /* waits=on was given */
    uint64_t max_mem;           /* bytes */
    uint64_t timeline_bytes;    /* of its events; 0: timeline=off, or not given */
    uint64_t timeline_calls_ns; /* calls as long as this are in it; 0: what the budget allows */
    uint64_t timeline_for_ns;   /* after which it ends by itself */
    uint64_t given;             /* bits: options by their place in the table */
    enum log_level log;
    enum ledger_clock_kind clock; /* 0: the best */
    bool strict;
    bool strict_options; /* the same for wrong options */
    char *answer; /* a file of the requesting user, for the messages of this request; or NULL */

    /* only for an agent that is loaded already */
    bool dump; /* write a snapshot */
    bool start;
    bool stop;
    bool has_timeline; /* timeline= was given */
};

/* True if the option of that name was in the text. */
bool agent_options__has(const struct agent_options *options, const char *name);

/* Returns the first given option that is neither in `names` (NULL-terminated) nor a flag; or NULL.
 */
const char *agent_options__other(const struct agent_options *options, const char *const *names);

/* Reads `text` (NULL is empty), and the files of globs that it names, into options, which then owns
 * its strings. 0, or -errno with one line in message, which names the word and the nearest valid
 * one. options->strict is valid even then, wherever in the text it stands. */
int agent_options__parse(struct agent_options *options, const char *text, char *message,
                         size_t message_bytes);
void agent_options__free(struct agent_options *options);

#endif
