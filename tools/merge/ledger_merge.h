/*
 * Several ledgers made into one: a closed ledger of the same format, with the threads of all of
 * them, each with its own tree, below methods that all share.
 *
 * A thread's name gets a prefix that names its process, "[pid 4242 app.Main] main"; where two
 * processes would get the same prefix, "[pid 1 app.Main #2] main". The application's name has
 * neither a blank nor a ']' in it. Names in a ledger that is itself merged stay, and so do renames.
 *
 * Every number of a thread stays as it was, and the header has the sums, so the balance is the sum
 * of the balances. A metric that only some ledgers have is 0 in the others' threads. Times count
 * from the earliest ledger's beginning. One header cannot tell when each process was profiled, so a
 * thread gets another end where its wall time would change otherwise: a thread that was alive when
 * its ledger was taken ends then, but without the flag that says that it is terminated.
 */
#ifndef TREADLE_LEDGER_MERGE_H
#define TREADLE_LEDGER_MERGE_H

#include "native/ledger/ledger_reader.h"

#include <stddef.h>
#include <stdint.h>

struct ledger_merge;

/* Merges the readers' ledgers; the readers may be closed afterwards. 0, or -errno if there is no
 * room.
 */
int ledger_merge__new(struct ledger_merge **merge, struct ledger_reader *const *readers,
                      size_t count);
void ledger_merge__free(struct ledger_merge *merge);

/* The number of an input's damaged records, which were left out, and where the first of them
 * stands ("" if there is none). */
uint64_t ledger_merge__skipped(const struct ledger_merge *merge, size_t input);
const char *ledger_merge__skipped_where(const struct ledger_merge *merge, size_t input);

/* The merged ledger as a file: its bytes, and how many. */
const char *ledger_merge__bytes(const struct ledger_merge *merge, size_t *bytes);

#endif
