/* Why methods have the hooks they have: `treadle report --explain METHOD`. */
#ifndef TREADLE_VIEW_EXPLAIN_H
#define TREADLE_VIEW_EXPLAIN_H

#include "tools/report/report_explain.h"
#include "tools/views/view.h"

/* A paragraph a method. */
void view_explain__text(const struct view *view, const struct explanations *explanations);

/* {"methods":[{"class","method","signature","hook","reason","calls",…}]} */
void view_explain__json(const struct view *view, const struct explanations *explanations);

#endif
