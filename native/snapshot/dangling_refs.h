/*
 * Refs in a copy of a live ledger that lead nowhere. A ledger is copied chunk by chunk while its
 * threads write: a chunk that is copied late may link to a record that did not exist when the
 * record's chunk was copied, or that was reused by another thread meanwhile. The writer may also be
 * an enemy. So all bytes of a copy pass the gate. A link that settling and folding follow is cut in
 * the copy unless it leads to a whole record to which no other link leads. Each list and each tree
 * then ends, and no two of them share a record. A record that has no meaning without its link is
 * removed.
 *
 * One thread at a time; no other thread may use the copy.
 */
#ifndef TREADLE_DANGLING_REFS_H
#define TREADLE_DANGLING_REFS_H

#include "native/ledger/ledger.h"

/* Cuts dangling refs in the whole copy: in chunk heads; methods and what belongs to them; threads,
 * their names and parents, their trees; kernel threads. Damage that no race with a writer explains
 * is counted in the copy's header. Not for hooks. 0 or -ENOMEM. */
int dangling_refs__cut(struct ledger *copy);

#endif
