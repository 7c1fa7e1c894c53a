/*
 * What a ledger lacks, as every view says it: a file whose end is cut off, a ledger that was full,
 * calls and threads that were not recorded, records that make no sense.
 */
#ifndef TREADLE_REPORT_LOSSES_H
#define TREADLE_REPORT_LOSSES_H

#include "tools/report/report_balance.h"
#include "tools/report/report_model.h"

struct report_losses_line {
    const char *key;  /* what scripts call it */
    const char *word; /* "partial", "full", "lost" */
    uint64_t count;   /* bytes missing, events lost; 0 of a ledger that is only full */
    char text[256];
};

#define REPORT_LOSSES_LINES (4u + REPORT_LOSSES) /* partial twice, unreadable, full */

/* Writes the lines; returns their number, 0 if nothing is lost. */
size_t report_losses__of(const struct report_model *model,
                         struct report_losses_line lines[REPORT_LOSSES_LINES]);

#define PARTIAL_TEXT_BYTES 160u

/* "the file ends at byte 100000 of 7400000: 98.6 % of the ledger is missing"; "" if it is whole. */
void report_losses__partial(uint64_t present_bytes, uint64_t missing_bytes,
                            const struct ledger_header *header, char text[PARTIAL_TEXT_BYTES]);

#define CORRECTED_TEXT_BYTES 96u

/* "3 positions corrected: samples found threads elsewhere"; "" if none was. */
void report_losses__corrected(const struct ledger_header *header, char text[CORRECTED_TEXT_BYTES]);

/* All lines in one, "lost: 3 samples dropped: ...; full: ...", to be freed; with_partial: with
 * those on an end that is cut off. NULL if nothing is lost. */
char *report_losses__list(const struct report_model *model, bool with_partial);

/* The process's command, with the lines behind it if anything is lost, "(partial: ...; lost: ...)":
 * for formats that have a title and no place for remarks. */
struct text report_losses__title(struct text_store *store, const struct report_model *model);

#endif
