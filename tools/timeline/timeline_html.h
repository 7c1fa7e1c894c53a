/*
 * A timeline as an HTML page: the page's head, its blocks, its end. tools/html/timeline_model.js
 * reads the blocks; times are in ns from the timeline's begin:
 *
 *   about    JSON: version, pid, length_ns; contents and losses: text as on the command line; lost:
 *            whether anything found no room; reasons: names of waits, by number; labels: texts;
 *            threads: name, kind, tid (0: none of its own), java_id (0: none)
 *
 *   slices   of each thread: how many there are; then of each the time since the begin of the one
 *            before, its length, kind + 4 * flags + 32 * reason, its label, the identity of its
 *            lock, the owner's thread + 1; in the order of timeline_model's slices
 *
 *   runs     of each processor that has any: its number and how many there are; then of each the
 *            time since the begin of the one before, its length, its thread, its flags
 *
 *   arrows   of each the time since the one before, from and to which thread, its label
 */
#ifndef TREADLE_TIMELINE_HTML_H
#define TREADLE_TIMELINE_HTML_H

#include "tools/page/html_page.h"
#include "tools/timeline/timeline_model.h"

#include <stdio.h>

/* 0 or -ENOMEM. Errors of the stream are left to its ferror(). */
int timeline_html__write(const struct timeline_model *model, const struct html_page *page,
                         FILE *out);

#endif
