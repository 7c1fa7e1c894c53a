/* Methods by jmethodID: their names from JVMTI, their records in the ledger, and whether the filter
 * leaves them out. Called on the Java thread that is the first to enter a method. */
#ifndef TREADLE_METHOD_NAMES_H
#define TREADLE_METHOD_NAMES_H

#include "native/ledger/ledger_format.h"

#include <stdint.h>

/* A call_tree_resolve: context is the struct agent, key the jmethodID. */
ledger_ref method_names__resolve(void *context, uint64_t key);

#endif
