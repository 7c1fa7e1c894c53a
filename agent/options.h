/*
 * The agent's options: `key=value,key=value` after -agentpath:…, every `=` also as `:` (jcmd cuts
 * its argument at the first `=`). One table says what there is.
 */
#ifndef TREADLE_OPTIONS_H
#define TREADLE_OPTIONS_H

#include "agent/log.h"
#include "native/ledger_format.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct agent_options {
    char *file; /* pattern of snapshots' paths; see snapshot__path */
    bool file_given;
    char *live_dir; /* where the live ledger lies, or NULL: a memory file system */
    char *include;  /* globs separated by `;`, or NULL */
    char *exclude;
    enum ledger_event_mode events;
    uint64_t metrics; /* bits asked for, to be charged to call paths */
    bool reuse_new;
    uint64_t max_mem; /* bytes */
    enum log_level log;
    enum ledger_clock_kind clock; /* 0: the best */
    bool strict;
    bool dump; /* only to an agent that is loaded: write a snapshot */
};

/* Reads `text` (NULL is empty) into options, which then owns its strings. 0, or -EINVAL with one
 * line, which names the word and the nearest valid one, in message. options->strict is valid even
 * then, wherever in the text it stands. */
int agent_options__parse(struct agent_options *options, const char *text, char *message,
                         size_t message_bytes);
void agent_options__free(struct agent_options *options);

#endif
