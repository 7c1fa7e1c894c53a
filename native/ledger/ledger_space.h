/*
 * The space of the ledger's file, in chunks: reserving chunks before they are used, and taking
 * records out of them. For ledger.c (allocate also for native/timeline, whose file has chunks,
 * too); what other files call is in ledger.h. Any thread, without a lock.
 */
#ifndef TREADLE_LEDGER_SPACE_H
#define TREADLE_LEDGER_SPACE_H

#include "native/ledger/ledger.h"

#include <stdbool.h>
#include <stdint.h>

static inline struct ledger_chunk *ledger_space__chunk(const struct ledger *ledger, uint32_t chunk)
{
    return (struct ledger_chunk *)(ledger->base + (size_t)chunk * LEDGER_CHUNK_BYTES);
}

/* The chunks that are mapped: those of max-mem, or those of an adopted copy and its room. */
static inline uint32_t ledger_space__chunks_max(const struct ledger *ledger)
{
    return (uint32_t)(ledger->mapped_bytes / LEDGER_CHUNK_BYTES);
}

/* Whether a file of that size is within the process's limit (RLIMIT_FSIZE). */
bool ledger_space__is_allowed(uint64_t bytes);

/* Allocates chunks `from` up to, but not including, `to` in the file. 0 or -errno (-ENOSPC: too
 * little of the file system would be left; -EFBIG: it is not allowed). */
int ledger_space__allocate(int fd, uint32_t from, uint32_t to);

#endif
