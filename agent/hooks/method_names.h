/* Methods by jmethodID: their names from JVMTI, their place in the ledger, and whether they are
 * left out. Called on the Java thread that meets a method for the first time. */
#ifndef TREADLE_METHOD_NAMES_H
#define TREADLE_METHOD_NAMES_H

#include "native/ledger/ledger_format.h"

#include <stdint.h>

/* A call_tree_resolve: context is the struct agent, key the jmethodID. */
ledger_ref method_names__resolve(void *context, uint64_t key);

#endif
