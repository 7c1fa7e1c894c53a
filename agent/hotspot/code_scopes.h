/*
 * Which methods a compiler has put into one another at an address of its code, from the debug
 * information that HotSpot keeps beside the code: descriptions of addresses (PcDesc), each with its
 * scope, innermost first, in a compressed stream [src/hotspot/share/code: pcDesc.hpp,
 * scopeDesc.cpp, debugInfoRec.cpp; utilities/unsigned5.hpp].
 *
 * An address is described where the code calls, polls, or may fault; elsewhere only with the JVM's
 * DebugNonSafepoints. What is not described is taken for what the next description behind it says.
 */
#ifndef TREADLE_CODE_SCOPES_H
#define TREADLE_CODE_SCOPES_H

#include "agent/hotspot/code_cache.h"

#include <stdint.h>

#define CODE_SCOPES_MAX 256u /* deeper than compilers inline */

struct raw_scope {
    const void *method; /* Method *; not checked */
    int32_t bci;        /* -1: none */
};

/* The scopes at an address of a BLOB_METHOD, innermost first; at least CODE_SCOPES_MAX fit into
 * `scopes`. Returns how many; 0: there are none, or they make no sense. The code may go while it is
 * read: call it in a fault guard, and look afterwards whether the code is still the same. */
uint32_t code_scopes__read(const struct vm_structs *structs, const struct code_blob *blob,
                           uint64_t address, struct raw_scope *scopes);

#endif
