/*
 * Samples: how certain their shares are, and how the samples were taken. sample_shares.h says how
 * an exact node's time is divided among the sampled frames below it.
 */
#ifndef TREADLE_REPORT_SAMPLES_H
#define TREADLE_REPORT_SAMPLES_H

#include "native/ledger/ledger_format.h"

#include <stdbool.h>
#include <stdint.h>

/* How far a share of `part` in `whole` samples may be off, either way, in millionths of the whole:
 * half of the 95 % interval, 1.96 * sqrt(p * (1 - p) / n). */
uint64_t report_samples__error_ppm(uint64_t part, uint64_t whole);

/* The same of a share of 2 % of all samples that are in the trees; 0 if there are none. */
uint64_t report_samples__error_of_2_percent_ppm(const struct ledger_header *header);

/* The same where `samples` are in the trees. */
uint64_t report_samples__error_of_2_percent_in_ppm(uint64_t samples);

/* Says, in English, what the machine has to allow so that samples in the kernel have functions
 * with names; NULL: nothing, or there are no such samples. */
const char *report_samples__kernel_needs(const struct ledger_header *header);

/* "none", "cpu", "wall", or "unknown"; "none", "perf", "timer", "wall", or "unknown". */
const char *report_samples__mode_name(uint32_t sample_mode);
const char *report_samples__clock_name(uint32_t sample_clock);

/* "tables", "libunwind", "nothing", or "unknown". */
const char *report_samples__unwind_name(uint32_t sample_unwind);

/* Why walks ended early: a word for scripts and a reason for people. */
struct walk_failure_name {
    const char *key;
    const char *meaning;
};
const struct walk_failure_name *report_samples__walk_failure(enum ledger_walk_failure failure);

/* True of the ledgers of `treadle sample`: logical stacks that were read from outside the process.
 */
bool report_samples__are_from_outside(const struct ledger_header *header);

#endif
