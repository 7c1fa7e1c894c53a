/* Virtual threads and their carriers, played by kernel threads of the test. */
#ifndef TREADLE_TEST_CARRIERS_H
#define TREADLE_TEST_CARRIERS_H

#include "java_world.h"
#include "native/thread/virtual_thread.h"

#include <string.h>

static inline ledger_ref begin_virtual(struct kernel_thread *carrier, const char *name, uint64_t id)
{
    const struct java_thread_facts facts = {
        .name = name, .name_length = strlen(name), .kind = THREAD_VIRTUAL, .java_id = id};
    return virtual_thread__begin(carrier, &facts);
}

static inline struct kernel_thread *enter_carrier(struct java_world *world, const char *name,
                                                  uint64_t id)
{
    const struct java_thread_facts facts = {
        .name = name, .name_length = strlen(name), .kind = THREAD_CARRIER, .java_id = id};
    struct kernel_thread *carrier = kernel_thread_table__enter(&world->table);
    return carrier != NULL && kernel_thread__start_java(carrier, &facts) == 0 ? carrier : NULL;
}

#endif
