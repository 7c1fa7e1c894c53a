/*
 * Names for native functions, from a module that can read images and demangle names: the report's
 * model itself cannot.
 */
#ifndef TREADLE_REPORT_SYMBOL_NAMES_H
#define TREADLE_REPORT_SYMBOL_NAMES_H

#include "tools/report/text.h"

#include <stdint.h>

/* A native function as the ledger has it; what is not known is empty. */
struct symbol {
    struct text image;    /* the path of its file, or "[jvm]", "[kernel]" */
    struct text build_id; /* of that file, in hexadecimal */
    struct text name;     /* mangled */
    uint64_t address;     /* where it begins, as the image's headers count */
};

struct symbol_names {
    void *context;
    /* Its name for people, kept in the store; empty if it is not known. */
    struct text (*name_of)(void *context, struct text_store *store, const struct symbol *symbol);
};

#endif
