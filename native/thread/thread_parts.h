/*
 * Parts of chains that the logical frames of a thread begin (struct ledger_part): which thread it
 * is, and on which path. They end with their frames, see open_calls.h.
 */
#ifndef TREADLE_THREAD_PARTS_H
#define TREADLE_THREAD_PARTS_H

#include "native/ledger/chain_parts.h"
#include "native/thread/kernel_thread.h"

/* The current frame has just been entered, has that token, and is a part of the chain with that
 * id, which is not zeros; everything is charged. flags: enum ledger_part_flag. False: no part was
 * begun. On the thread itself; does not lock or block. */
bool thread_parts__begin(struct kernel_thread *mine, struct chain_parts *parts,
                         const uint64_t id[2], uint32_t flags, uint64_t token);

#endif
