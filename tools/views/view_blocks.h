/*
 * What the views of waits for locks share: locks and blockers.
 */
#ifndef TREADLE_VIEW_BLOCKS_H
#define TREADLE_VIEW_BLOCKS_H

#include "tools/report/report_locks.h"
#include "tools/views/view.h"

/* A class as people read it; the caller frees it. */
char *view_blocks__lock(struct text class_name);

/* "app.Queue.put < app.Main.run", the innermost first; the caller frees its bytes. */
struct text view_blocks__path(const struct report_model *model, const struct lock_path *path);

/* What locks would need to be in the ledger. */
const char *view_blocks__need(const struct ledger_header *header);

/* The line in place of rows, and why there are none. */
void view_blocks__none(const struct view *view);

/* A line about waits that nobody asked about for want of room in the budget, if there are any. */
void view_blocks__unheard(const struct view *view);

#endif
