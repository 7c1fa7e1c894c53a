/* Where a timeline is written to: a trace, a page, or both, and what is told of it. */
#ifndef TREADLE_TIMELINE_OUTPUTS_H
#define TREADLE_TIMELINE_OUTPUTS_H

#include "tools/page/html_page.h"
#include "tools/timeline/timeline_recorder.h"

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

struct timeline_outputs {
    const char *trace;     /* NULL: timeline-PID.perfetto-trace, if there is no page; "-" */
    const char *html;      /* NULL: no page */
    struct html_page page; /* if html, after the check */
};

/* True if trace and page have one name. */
bool timeline_outputs__are_one(const struct timeline_outputs *outputs);

/* Before anything is recorded, for what was recorded for an hour is not to be lost to a misspelled
 * folder. file: that is read, or NULL. False after a complaint. */
bool timeline_outputs__check(struct timeline_outputs *outputs, pid_t pid, const char *file);

/* Writes what was recorded, and tells of it on `out`; on standard error if the trace goes to
 * standard output. An exit status. */
int timeline_outputs__write(const struct timeline_outputs *outputs,
                            struct timeline_recorder *recorder, FILE *out);

#endif
