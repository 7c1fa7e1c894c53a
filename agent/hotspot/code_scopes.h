/*
 * The methods that a compiler has inlined at an address of its code, from the debug information
 * that HotSpot keeps beside the code: descriptions of addresses (PcDesc), each with its scope,
 * innermost first, in a compressed stream [src/hotspot/share/code: pcDesc.hpp, scopeDesc.cpp,
 * debugInfoRec.cpp; utilities/unsigned5.hpp].
 *
 * HotSpot describes an address where the code calls, polls, or may fault, and other addresses only
 * with DebugNonSafepoints. An address without a description gets the next description behind it.
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

/* Reads the scopes at an address of a BLOB_METHOD, innermost first; `scopes` has room for at least
 * CODE_SCOPES_MAX. Returns their number; 0: there are none, or they make no sense. The code may be
 * freed while it is read: call this in a fault guard, and check afterwards that the code is still
 * the same. */
uint32_t code_scopes__read(const struct vm_structs *structs, const struct code_blob *blob,
                           uint64_t address, struct raw_scope *scopes);

#endif
