/*
 * A ledger is copied while its threads write in it, chunk after chunk: what is copied late may link
 * to what was not there yet when its place was copied. A reader takes such links for damage. So
 * they are cut in the copy, and a record that is nothing without what it linked to is taken out.
 * What goes with it began while the copy was made.
 *
 * One thread at a time; nobody else may use the copy.
 */
#ifndef TREADLE_LOOSE_ENDS_H
#define TREADLE_LOOSE_ENDS_H

#include "native/ledger.h"

#include <stdbool.h>

/* In all of a copy: threads, their names and parents, their trees. */
void loose_ends__cut(struct ledger *copy);

/* In one tree. False: the copy has not its root, or it has no end. */
bool loose_ends__cut_tree(struct ledger *copy, ledger_ref root);

#endif
