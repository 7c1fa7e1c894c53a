/*
 * Stubs of the JVM in which samples were taken, by the names that the JVM tells, among the symbols
 * of native/sampling. One user at a time, but for stub_symbols__told; not for handlers.
 */
#ifndef TREADLE_STUB_SYMBOLS_H
#define TREADLE_STUB_SYMBOLS_H

#include "agent/hotspot/code_cache.h"
#include "native/sampling/sampled_symbols.h"

#include <pthread.h>

struct stub_symbols {
    struct sampled_symbols *symbols;
    pthread_mutex_t lock;
    struct stub_name *stubs; /* by address */
    uint32_t count;
    uint32_t room;
};

void stub_symbols__init(struct stub_symbols *stubs, struct sampled_symbols *symbols);

/* Finds the stub in a blob that contains an address; NULL: no memory. */
struct sampled_symbol *stub_symbols__find(struct stub_symbols *stubs, uint64_t address,
                                          const struct code_blob *blob);

/* Memory in use. */
size_t stub_symbols__bytes(struct stub_symbols *stubs);

/* JVMTI's DynamicCodeGenerated, from any thread. */
void stub_symbols__told(struct stub_symbols *stubs, const char *name, const void *address,
                        int32_t bytes);

#endif
