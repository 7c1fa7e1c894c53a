/*
 * The ledger's format: what stands in the mapped file, byte for byte.
 *
 * A ledger is a sequence of chunks of LEDGER_CHUNK_BYTES. Chunk 0 is the header (ledger_header.h).
 * Every other chunk belongs to a run of one or more chunks; the first chunk of a run starts with a
 * `struct ledger_chunk` (ledger_chunk.h) that says what records the run holds and how many cells of
 * it are in use. Records are whole cells of 64 bytes, so a record is named by the number of its
 * first cell, a `ledger_ref`: the byte offset divided by 64. Ref 0 (the header) means "none".
 * Strings, methods and decisions about hooks are in ledger_methods.h, call trees in ledger_nodes.h,
 * threads in ledger_threads.h, waits for locks in ledger_blocks.h, what is wrong with locks in
 * ledger_hazards.h, latencies of calls in ledger_latencies.h, parts of chains in ledger_chains.h.
 *
 * Writing: every record has one writer at a time. A record is filled in first and its ref is then
 * published with a release store; counters are relaxed stores of whole words. A reader in another
 * process sees either nothing or a filled record, and must check every ref that it follows: the
 * file may be the work of a killed process, a half-written disk or an enemy.
 *
 * Times are in nanoseconds of the ledger's clock: 0 is the moment when the ledger was made, which
 * is `epoch_ns` on the wall clock. All integers are in the byte order of the machine that wrote
 * them; `byte_order` tells.
 */
#ifndef TREADLE_LEDGER_FORMAT_H
#define TREADLE_LEDGER_FORMAT_H

#include "native/ledger/ledger_blocks.h"
#include "native/ledger/ledger_chains.h"
#include "native/ledger/ledger_chunk.h"
#include "native/ledger/ledger_hazards.h"
#include "native/ledger/ledger_header.h"
#include "native/ledger/ledger_latencies.h"
#include "native/ledger/ledger_methods.h"
#include "native/ledger/ledger_nodes.h"
#include "native/ledger/ledger_threads.h"

/* The file beside a ledger that has a timeline's events (native/timeline): how it begins, and its
 * name, with this in place of .live. */
#define TIMELINE_MAGIC  "TRDTIME"
#define TIMELINE_SUFFIX ".timeline"

#endif
