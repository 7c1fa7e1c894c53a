/*
 * A --thread that matches no thread's name: there is nothing to show, and one line on standard
 * error says which names there are.
 */
#ifndef TREADLE_THREAD_FILTER_H
#define TREADLE_THREAD_FILTER_H

#include "tools/report/report_model.h"

/* True if any of `count` threads is selected. */
bool thread_filter__selects_any(const bool *selected, uint32_t count);

/* Writes the line: the glob that did not match, the nearest name, and the threads that used most
 * CPU time. `where`: the ledger or ledgers. Returns EXIT_BAD_INPUT. */
int thread_filter__refuse(const char *where, const char *glob,
                          const struct report_model *const *models, size_t count);

#endif
