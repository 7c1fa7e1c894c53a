/*
 * Export: a ledger in the formats of other programs. One file a format (format_NAME.c), one row
 * each in the table.
 */
#ifndef TREADLE_EXPORT_FORMAT_H
#define TREADLE_EXPORT_FORMAT_H

#include "tools/report/report_model.h"
#include "tools/report/report_places.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* What is to be written. */
struct export_job {
    const struct report_model *model;
    const bool *selected; /* by thread; at least one is true */
    enum report_column column;
    const char *source;           /* the ledger's path */
    struct report_places *places; /* of a format with takes_places; else NULL */
};

/* Writes to `out`, which stays open and is not flushed. A format with needs_file writes to the
 * empty file of that path instead. 0 or -errno; an error of `out` itself may be left to its
 * ferror(). */
typedef int export_write(const struct export_job *job, FILE *out, const char *path);

struct export_format {
    const char *name;
    const char *extension; /* the usual extension of such files */
    bool is_binary;        /* not to be written to a terminal */
    bool needs_file;       /* not written front to back, so the output must be a file */
    bool has_all_metrics;  /* the job's metric and all others */
    bool takes_metric;     /* the job's metric makes a difference */
    bool takes_places;     /* the job's places are to be loaded */
    export_write *write;
};

extern const struct export_format export_formats[];
extern const size_t export_format_count;

export_write format_pprof__write;
export_write format_collapsed__write;
export_write format_speedscope__write;
export_write format_perfetto__write;
export_write format_jfr__write;
export_write format_csv__write;
export_write format_sqlite__write;

#endif
