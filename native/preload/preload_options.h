/*
 * The options of libtreadle-native.so: `key=value,key=value` in the environment variable
 * TREADLE_NATIVE, which `treadle run` sets. One table lists all options; they mean what the agent's
 * options of the same names mean.
 */
#ifndef TREADLE_PRELOAD_OPTIONS_H
#define TREADLE_PRELOAD_OPTIONS_H

#include "native/glob_list.h"
#include "native/ledger/ledger_format.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PRELOAD_OPTIONS_VARIABLE "TREADLE_NATIVE"

struct preload_options {
    char file[PATH_MAX];     /* pattern of the snapshot's path */
    char live_dir[PATH_MAX]; /* "": a memory file system */
    char answer[PATH_MAX]; /* a file of the user who waits to hear that a program is profiled; "" */
    struct glob_list *include, *exclude; /* NULL: none was given */
    uint64_t metrics;                    /* bits */
    enum ledger_sample_mode sample;
    bool has_sample; /* sample= was given; else there are samples where there is a budget */
    enum ledger_sample_clock sample_clock; /* NONE: as the interval requires */
    uint64_t interval_ns;
    uint32_t overhead_ppm; /* 0: any */
    uint32_t recursion;    /* 0: all */
    uint64_t max_mem;
    enum ledger_clock_kind clock; /* 0: the best */
    bool reuse_new;
    bool fold_none;
    bool keep_orphans;
    bool is_quiet;  /* log=error: no warnings */
    bool waits;     /* waits have reasons */
    bool has_waits; /* waits= was given; else they have where there is a budget */
};

/* 0, or -errno with one line in message, which names the word and the nearest valid one. */
int preload_options__read(struct preload_options *options, const char *text, char *message,
                          size_t message_bytes);
void preload_options__free(struct preload_options *options);

#endif
