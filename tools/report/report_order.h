/*
 * In what order a tree is shown, and which part of it.
 */
#ifndef TREADLE_REPORT_ORDER_H
#define TREADLE_REPORT_ORDER_H

#include "tools/report/report_model.h"

enum order_key {
    ORDER_BY_CUM,
    ORDER_BY_BASE,
    ORDER_BY_CALLS,
    ORDER_BY_NAME,
};

/* The nodes of one thread's tree, parents before their children, siblings by the key (largest
 * first, names alphabetically); as many as thread->end_node - thread->first_node. Release with
 * free. */
uint32_t *report_order__tree(const struct report_model *model, uint32_t thread,
                             enum report_column column, enum order_key key);

/* The threads in the order of their trees' totals in a loaded column, largest first, equal ones by
 * index; as many as model->thread_count. Release with free. */
uint32_t *report_order__threads(const struct report_model *model, enum report_column column);

/* The `top` nodes with the largest cum of the selected threads' trees, true by node index. A
 * parent's cum is never less than its child's, so they form one tree from each root down. 0: all.
 * Release with free. */
bool *report_order__heaviest(const struct report_model *model, const bool *selected,
                             enum report_column column, uint32_t top);

#endif
