/*
 * Several ledgers made into one: a closed ledger of the same format, with the threads of all of
 * them, each with its own tree, below methods that all share.
 *
 * A thread's name gets its process before it, "[pid 4242 app.Main] main"; where two processes would
 * get the same, "[pid 1 app.Main #2] main". The application has neither a blank nor a ']' in it.
 * What is a merged ledger already keeps its names. Renames stay as they are.
 *
 * Every number of a thread is the one it was, and the header has the sums, so that the balance is
 * the sum of the balances. A metric that only some ledgers have is 0 in the others' threads. Times
 * count from the earliest ledger's begin. Since one header cannot tell when each process was
 * looked at, and when not, a thread whose life that would change gets an end that leaves its life
 * as long as it was: a thread that ran on ends when its ledger was taken, but without the flag that
 * it is terminated.
 */
#ifndef TREADLE_LEDGER_MERGE_H
#define TREADLE_LEDGER_MERGE_H

#include "native/ledger/ledger_reader.h"

#include <stddef.h>
#include <stdint.h>

struct ledger_merge;

/* Merges what the readers have, which may be closed afterwards. 0, or -errno if there is no room.
 */
int ledger_merge__new(struct ledger_merge **merge, struct ledger_reader *const *readers,
                      size_t count);
void ledger_merge__free(struct ledger_merge *merge);

/* Records of an input that were left out, as a report leaves them out, and where the first of them
 * stands ("" if none). */
uint64_t ledger_merge__skipped(const struct ledger_merge *merge, size_t input);
const char *ledger_merge__skipped_where(const struct ledger_merge *merge, size_t input);

/* The merged ledger as a file: its bytes, and how many. */
const char *ledger_merge__bytes(const struct ledger_merge *merge, size_t *bytes);

#endif
