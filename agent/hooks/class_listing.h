/*
 * What was decided of each method of a class that was looked at, for the ledger: so that somebody
 * who asks why a method has no calls gets an answer (struct ledger_class). Not for hooks.
 */
#ifndef TREADLE_CLASS_LISTING_H
#define TREADLE_CLASS_LISTING_H

#include "agent/classfile/constant_pool.h"
#include "agent/methods/method_numbers.h"
#include "native/ledger/ledger.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Listings may take such a part of the ledger's bound. */
#define CLASS_LISTING_PART 16u

/* All zero: of no method yet. */
struct class_listing {
    char *bytes;
    size_t length;
    size_t room;
    bool is_cut;    /* some found no room */
    bool is_wanted; /* one of them is worth telling of */
};

void class_listing__add(struct class_listing *listing, uint8_t choice, struct class_text name,
                        struct class_text descriptor);
void class_listing__release(struct class_listing *listing);

/* Writes the class's record, or the one that it has anew; unhooked: as in the record. A listing
 * of no method leaves the record's as it is. What finds no room is counted. By one thread at a time
 * for a class. */
void class_listing__write(const struct class_listing *listing, struct ledger *ledger,
                          struct numbered_class *class, uint32_t unhooked);

#endif
