/*
 * Samples: what part of an exact node's time they give to the frames below it, and how sure that
 * is.
 *
 * An exact node's base was measured; samples that were taken while it was the current one say where
 * in it. So each sampled frame below it gets that part of its base which is the frame's part of all
 * these samples, and the node keeps the rest: the sum stays what was measured. A node without
 * samples keeps all.
 */
#ifndef TREADLE_REPORT_SAMPLES_H
#define TREADLE_REPORT_SAMPLES_H

#include "native/ledger_format.h"

#include <stdbool.h>
#include <stdint.h>

struct report_model;

/* Gives the model's last nodes, from `first_sampled` on, their parts of the base of `exact`. CPU by
 * CPU samples. Wall time by wall samples; where there are none, its CPU time by CPU samples, and
 * the waiting stays with the node. In whole nanoseconds, the sum being what it was. False, and
 * nothing is changed, if there are more samples than 64 bits can count. */
bool report_samples__share_out(struct report_model *model, uint32_t exact, uint32_t first_sampled);

/* How far a share of `part` in `whole` samples may be off, either way, in millionths of the whole:
 * half of the 95 % interval, 1.96 * sqrt(p * (1 - p) / n). */
uint64_t report_samples__error_ppm(uint64_t part, uint64_t whole);

/* The same of a share of 2 % of all samples that are in the trees; 0 if there are none. */
uint64_t report_samples__error_of_2_percent_ppm(const struct ledger_header *header);

/* What samples in the kernel need to have its functions with their names, in English; NULL:
 * nothing, or there are no such samples. */
const char *report_samples__kernel_needs(const struct ledger_header *header);

/* The samples that are in the trees. */
uint64_t report_samples__kept(const struct ledger_header *header);

/* "none", "cpu", "wall", or "unknown"; "none", "perf", "timer", "wall", or "unknown". */
const char *report_samples__mode_name(uint32_t sample_mode);
const char *report_samples__clock_name(uint32_t sample_clock);

/* Why walks ended early: a word for scripts and a reason for people. */
struct walk_failure_name {
    const char *key;
    const char *meaning;
};
const struct walk_failure_name *report_samples__walk_failure(enum ledger_walk_failure failure);

#endif
