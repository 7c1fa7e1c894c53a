/*
 * Snapshots of one process at several moments, for the heat map of the page. They make these
 * blocks, besides the blocks of the last snapshot (html_ledger.h):
 *
 *   moments       JSON: the ledgers' names and their moments, the earliest first, and how many
 *                 of their threads the last one lacks
 *   moment-I-NAME what each node used up from moment I to the next, as `column-NAME`
 */
#ifndef TREADLE_HTML_MOMENTS_H
#define TREADLE_HTML_MOMENTS_H

#include "native/ledger/ledger_reader.h"
#include "tools/page/html_block.h"
#include "tools/report/report_model.h"

struct html_moment {
    struct ledger_reader *reader;
    char *path;
    uint64_t asof_ns; /* on the ledger's clock */
    uint64_t at_ns;   /* since the epoch */
    uint64_t wall_ns; /* since the process began */
};

struct html_moments {
    struct html_moment *moments; /* the earliest first, no two the same */
    uint32_t count;              /* 1: there is no heat map */
    uint64_t left_out;           /* threads that the last moment lacks, so far */
};

/* Reads FILEs and PIDs, of one process. NULL after a line that says what is wrong. */
struct html_moments *html_moments__open(char *const *sources, uint32_t count);
void html_moments__close(struct html_moments *moments);

static inline const struct html_moment *html_moments__last(const struct html_moments *moments)
{
    return &moments->moments[moments->count - 1];
}

/* Writes the blocks of these columns. `last` is the last moment's model, loaded with these columns;
 * `selected` says which of its threads the page has. */
void html_moments__write_columns(struct html_moments *moments, struct html_block *block, FILE *out,
                                 const struct report_model *last, const bool *selected,
                                 uint64_t columns, const struct symbol_names *names);

/* Writes the block `moments`; to be called after all columns. 0 or -ENOMEM. */
int html_moments__write_list(const struct html_moments *moments, struct html_block *block,
                             FILE *out);

#endif
