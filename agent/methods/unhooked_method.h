/* The outcome for a method that was to have hooks, as the ledger states it. Any thread. */
#ifndef TREADLE_UNHOOKED_METHOD_H
#define TREADLE_UNHOOKED_METHOD_H

#include "agent/classfile/code_rewriter.h"
#include "native/ledger/ledger_format.h"

#include <stdbool.h>

/* Finds why the rewriter put no hooks into a method; false: it did, or the method was not to have
 * hooks. */
bool unhooked_method__reason(enum method_outcome outcome, enum unhooked_reason *reason);

#endif
