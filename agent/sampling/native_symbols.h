/*
 * Functions of native images and stubs of the JVM that samples met, as records of the ledger. One
 * user at a time; not for handlers.
 */
#ifndef TREADLE_NATIVE_SYMBOLS_H
#define TREADLE_NATIVE_SYMBOLS_H

#include "agent/hotspot/code_cache.h"
#include "native/ledger/ledger.h"
#include "native/unwind/code_images.h"

#include <pthread.h>

struct native_symbols {
    struct ledger *ledger;
    const struct code_images *images;
    struct image_symbols *by_image; /* uthash */
    struct symbol_entry *symbols;   /* uthash, by first address */
    struct kernel_symbols *kernel;  /* read when they are needed first */
    bool kernel_read;
    pthread_mutex_t stubs_lock;
    struct stub_name *stubs; /* by address */
    uint32_t stub_count;
    uint32_t stub_room;
};

/* A function that an address is in. */
struct native_symbol {
    ledger_ref method; /* its record; none: the ledger is full */
    ledger_ref code;   /* of a stub: that of its code, made when asked for */
    uint64_t begin;    /* the address of its first byte */
    uint64_t end;      /* one behind the last; begin: not known */
};

void native_symbols__init(struct native_symbols *symbols, struct ledger *ledger,
                          const struct code_images *images);

/* The function of an image that an address is in; NULL: in no image, or no memory. */
struct native_symbol *native_symbols__find(struct native_symbols *symbols, uint64_t address);

/* Ditto of a stub, in a blob. */
struct native_symbol *native_symbols__find_stub(struct native_symbols *symbols, uint64_t address,
                                                const struct code_blob *blob);

/* Ditto of the kernel; NULL, too, if it hides its symbols. */
struct native_symbol *native_symbols__find_kernel(struct native_symbols *symbols, uint64_t address);

/* Memory in use. */
size_t native_symbols__bytes(struct native_symbols *symbols);

/* JVMTI's DynamicCodeGenerated, from any thread. */
void native_symbols__stub(struct native_symbols *symbols, const char *name, const void *address,
                          int32_t bytes);

#endif
