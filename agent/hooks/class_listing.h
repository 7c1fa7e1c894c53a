/*
 * The decision about each method of an examined class, written to the ledger, so that a report can
 * answer why a method has no calls (struct ledger_class). Not for hooks.
 */
#ifndef TREADLE_CLASS_LISTING_H
#define TREADLE_CLASS_LISTING_H

#include "agent/classfile/constant_pool.h"
#include "agent/methods/method_numbers.h"
#include "native/ledger/ledger.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Listings may use 1/CLASS_LISTING_PART of the ledger's bound. */
#define CLASS_LISTING_PART 16u

/* All zero: no methods yet. */
struct class_listing {
    char *bytes;
    size_t length;
    size_t room;
    bool is_cut;    /* some found no room */
    bool is_wanted; /* at least one method's decision is worth listing */
};

void class_listing__add(struct class_listing *listing, uint8_t choice, struct class_text name,
                        struct class_text descriptor);
void class_listing__release(struct class_listing *listing);

/* Writes the class's record, or overwrites the record that the class has; unhooked: as in the
 * record. A listing without methods leaves the record's methods as they are. Classes without room
 * are counted. One thread at a time per class. */
void class_listing__write(const struct class_listing *listing, struct ledger *ledger,
                          struct numbered_class *class, uint32_t unhooked);

#endif
