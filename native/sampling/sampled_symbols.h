/*
 * Functions of native images and of the kernel in which samples were taken, as records of the
 * ledger. One user at a time; not for handlers.
 */
#ifndef TREADLE_SAMPLED_SYMBOLS_H
#define TREADLE_SAMPLED_SYMBOLS_H

#include "native/ledger/ledger.h"
#include "native/unwind/code_images.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sampled_symbols {
    struct ledger *ledger;
    const struct code_images *images;
    struct image_symbols *by_image; /* uthash */
    struct symbol_entry *symbols;   /* uthash, by first address */
    struct kernel_symbols *kernel;  /* read when first needed */
    bool kernel_read;
    /* The record that the host has of the function that begins at an address, made if need be;
     * none: the ledger is full. NULL: the host has none, and records are made here. */
    ledger_ref (*record_of)(void *context, uint64_t address);
    void *context;
};

/* The function that contains an address. */
struct sampled_symbol {
    ledger_ref method; /* its record; none: the ledger is full */
    ledger_ref code;   /* of a stub: the record of its code, made on request */
    uint64_t begin;    /* the address of its first byte */
    uint64_t end;      /* one behind the last; begin: not known */
};

void sampled_symbols__init(struct sampled_symbols *symbols, struct ledger *ledger,
                           const struct code_images *images);

/* Finds the function of an image that contains an address; NULL: no image contains it, or no
 * memory. */
struct sampled_symbol *sampled_symbols__find(struct sampled_symbols *symbols, uint64_t address);

/* The same for the kernel; also NULL if the kernel hides its symbols. */
struct sampled_symbol *sampled_symbols__find_kernel(struct sampled_symbols *symbols,
                                                    uint64_t address);

/* For code that is in no image, and that the host names itself: the entry of what begins at an
 * address, or NULL; another one (NULL: no memory); and the record of one, whose owner is what
 * stands for its image. */
struct sampled_symbol *sampled_symbols__known(const struct sampled_symbols *symbols,
                                              const struct code_image *image, uint64_t begin);
struct sampled_symbol *sampled_symbols__add(struct sampled_symbols *symbols,
                                            const struct code_image *image, uint64_t begin,
                                            uint64_t end, ledger_ref method);
ledger_ref sampled_symbols__record(const struct sampled_symbols *symbols, ledger_ref owner,
                                   const char *name, ledger_ref image, uint64_t address,
                                   uint64_t bytes);

/* Memory in use. */
size_t sampled_symbols__bytes(const struct sampled_symbols *symbols);

#endif
