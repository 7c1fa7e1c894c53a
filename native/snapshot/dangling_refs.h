/*
 * A ledger is copied while its threads write in it, chunk after chunk: what is copied late may link
 * to what was not there yet when its place was copied, or to a record that another thread used
 * again meanwhile. And who wrote it may be an enemy. So all of a copy passes the gate, and every
 * link that settling and folding follow is cut in the copy unless there is a whole record behind it
 * that no other link led to: each list and each tree has an end, and no two have a record in
 * common. A record that is nothing without what it linked to is taken out.
 *
 * One thread at a time; nobody else may use the copy.
 */
#ifndef TREADLE_DANGLING_REFS_H
#define TREADLE_DANGLING_REFS_H

#include "native/ledger/ledger.h"

/* In all of a copy: chunks; methods, and what belongs to one; threads, their names and parents,
 * their trees; kernel threads. What no copying explains is counted in its header. 0 or -ENOMEM. */
int dangling_refs__cut(struct ledger *copy);

#endif
