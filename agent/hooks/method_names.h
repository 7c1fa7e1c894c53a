/* Methods by jmethodID: their names from JVMTI, their records in the ledger, and whether the filter
 * leaves them out. Called on the Java thread that is the first to enter a method. */
#ifndef TREADLE_METHOD_NAMES_H
#define TREADLE_METHOD_NAMES_H

#include "agent/methods/method_filter.h"
#include "native/ledger/ledger.h"

#include <jvmti.h>
#include <stdint.h>

/* What methods are looked up with. */
struct method_names {
    jvmtiEnv *jvmti;
    struct ledger *ledger;
    const struct method_filter *filter;
};

/* A call_tree_resolve: context is the struct method_names, key the jmethodID. */
ledger_ref method_names__resolve(void *context, uint64_t key);

#endif
