/* Which threads waited for one another: the strongly connected components of the graph of waits for
 * locks [R. Tarjan: Depth-first search and linear graph algorithms, 1972]. */
#ifndef TREADLE_REPORT_KNOTS_H
#define TREADLE_REPORT_KNOTS_H

#include "tools/report/report_cascade.h"

/* Sets the cascade's knots. Of waiters whose names match; glob NULL: of all. */
void report_knots__find(const struct report_model *model, const char *glob,
                        struct report_cascade *cascade);

#endif
