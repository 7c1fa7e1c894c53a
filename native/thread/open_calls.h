/*
 * Latencies: how long each call of a method of latency= took, from its entry to its exit, elapsed
 * and in CPU time. The calls of a Java thread that are under way are on a stack of notes in the
 * ledger, two in one note, which a virtual thread takes along from carrier to carrier. A call that
 * ends is added to the histograms of its method (struct ledger_latency).
 *
 * Parts of chains (struct ledger_part) that are under way are on the same stack: each is named by
 * the token of its frame, and ends with it. A part whose end was missed is given up.
 *
 * A call is named by its token, or, where events name methods, by its method. A call of an earlier
 * epoch, or one whose exit was missed, is found on the stack by a later event and dropped.
 *
 * Called on the thread whose calls these are; nothing here locks, blocks, or allocates but in the
 * ledger.
 */
#ifndef TREADLE_OPEN_CALLS_H
#define TREADLE_OPEN_CALLS_H

#include "native/ledger/chain_parts.h"
#include "native/ledger/record_pool.h"

#include <stdbool.h>
#include <stdint.h>

struct kernel_thread;

/* All records of latencies take at most one part in so many of the ledger. */
#define LATENCY_LEDGER_PART 8u

/* The current frame was entered by a call of that method and has that token; everything is charged.
 * Nothing happens if latency= does not name the method. */
void open_calls__enter(struct kernel_thread *kernel_thread, uint64_t key, uint64_t token);

/* The frame with that token, or the youngest frame of that method, is about to be left; everything
 * is charged. */
void open_calls__leave(struct kernel_thread *kernel_thread, uint64_t token);
void open_calls__leave_method(struct kernel_thread *kernel_thread, uint64_t key);

/* The frame with that token is over, and those above it: their exits were missed. Nothing happens
 * where events name methods. */
void open_calls__give_up(struct kernel_thread *kernel_thread, uint64_t token);

/* Begins a part of a chain with the frame that has just been entered and has that token; everything
 * is charged. `contents`: its id, its flags, its thread and its path. The contents' id is looked
 * for among the parts of this thread that are under way: a part of the same chain is not begun
 * again. False: no part was begun. */
bool open_calls__begin_part(struct kernel_thread *kernel_thread, struct chain_parts *parts,
                            const struct ledger_part *contents, uint64_t token);

/* The part that began last of those that are under way, or NULL. */
const struct ledger_part *open_calls__part(const struct kernel_thread *kernel_thread);

/* The part whose token has that low half is about to be left; everything is charged. For where
 * frames have no tokens of their own. */
void open_calls__end_part(struct kernel_thread *kernel_thread, uint32_t token);

/* yield: takes the calls of the Java thread that is about to leave the kernel thread; everything is
 * charged. resume: gives the kernel thread, which has none, those of the Java thread that runs now.
 */
struct ledger_open_calls open_calls__yield(struct kernel_thread *kernel_thread);
void open_calls__resume(struct kernel_thread *kernel_thread, const struct ledger_open_calls *open);

/* Frees the notes. */
void open_calls__clear(struct record_pool *pool, struct ledger_open_calls *open);

#endif
