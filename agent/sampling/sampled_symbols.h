/*
 * Functions of native images and stubs of the JVM in which samples were taken, as records of the
 * ledger. One user at a time; not for handlers.
 */
#ifndef TREADLE_SAMPLED_SYMBOLS_H
#define TREADLE_SAMPLED_SYMBOLS_H

#include "agent/hotspot/code_cache.h"
#include "native/ledger/ledger.h"
#include "native/unwind/code_images.h"

#include <pthread.h>

struct sampled_symbols {
    struct ledger *ledger;
    const struct code_images *images;
    struct image_symbols *by_image; /* uthash */
    struct symbol_entry *symbols;   /* uthash, by first address */
    struct kernel_symbols *kernel;  /* read when first needed */
    bool kernel_read;
    pthread_mutex_t stubs_lock;
    struct stub_name *stubs; /* by address */
    uint32_t stub_count;
    uint32_t stub_room;
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

/* The same for a stub in a blob. */
struct sampled_symbol *sampled_symbols__find_stub(struct sampled_symbols *symbols, uint64_t address,
                                                  const struct code_blob *blob);

/* The same for the kernel; also NULL if the kernel hides its symbols. */
struct sampled_symbol *sampled_symbols__find_kernel(struct sampled_symbols *symbols,
                                                    uint64_t address);

/* Memory in use. */
size_t sampled_symbols__bytes(struct sampled_symbols *symbols);

/* JVMTI's DynamicCodeGenerated, from any thread. */
void sampled_symbols__stub(struct sampled_symbols *symbols, const char *name, const void *address,
                           int32_t bytes);

#endif
