/*
 * What the pages of `treadle html` and `treadle diff --html` have in common.
 */
#ifndef TREADLE_HTML_CONTENT_H
#define TREADLE_HTML_CONTENT_H

#include "tools/page/html_block.h"
#include "tools/report/report_model.h"

#include <jansson.h>

/* The kinds of frames that people see; tools/html/kinds.js has the same numbers. */
enum html_frame {
    HTML_FRAME_ROOT,
    HTML_FRAME_EXACT,
    HTML_FRAME_GAP,
    HTML_FRAME_SAMPLED,
    HTML_FRAME_INTERPRETED,
    HTML_FRAME_NATIVE,
    HTML_FRAME_KERNEL,
    HTML_FRAME_UNSEEN,
    HTML_FRAME_FOLDED,
};

enum html_frame html_content__frame(enum ledger_node_kind kind);

/* A column, and whether nodes have it; of_nodes: the COLUMN_BITs of the columns that nodes have. */
json_t *html_content__column(uint64_t of_nodes, enum report_column column);

/* What the ledger lacks, as an array of sentences, and the number of samples that found no room. */
json_t *html_content__losses(const struct report_model *model);

/* The values that are not 0 of the selected threads' nodes, and how many nodes lie between. */
void html_content__values(struct html_block *block, const struct report_model *model,
                          const bool *selected, const uint64_t *values);

/* The calls of a method, as the latency view has them, with the method's number. */
json_t *html_content__latency(const struct report_latency *latency);

/* A path without its folders. */
json_t *html_content__file_name(const char *path);

/* The block `methods`: 0 or -ENOMEM. */
int html_content__methods(struct html_block *block, FILE *out, const struct report_method *methods,
                          uint32_t count);

#endif
