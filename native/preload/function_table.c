#include "native/preload/function_table.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#define NO_IMAGE "[native]" /* until the function's image is known */

static void *address_space(size_t bytes)
{
    void *start = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    return start == MAP_FAILED ? NULL : start;
}

int function_table__init(struct function_table *table, struct ledger *ledger,
                         const struct ledger_time *time)
{
    *table = (struct function_table){
        .ledger = ledger,
        .functions = address_space(FUNCTIONS_MAX * sizeof(struct function)),
        .order = address_space(FUNCTIONS_MAX * sizeof(uint32_t)),
        .time = time,
        .state_at_first = FUNCTION_HEARD,
    };
    return table->functions && table->order ? 0 : -ENOMEM;
}

void function_table__restart(struct function_table *table)
{
    table->count = 0;
    (void)madvise(table->order, FUNCTIONS_MAX * sizeof(uint32_t), MADV_DONTNEED);
    if (table->state_at_first == FUNCTION_HEARD) {
        (void)madvise(table->functions, FUNCTIONS_MAX * sizeof(struct function), MADV_DONTNEED);
        return;
    }
    for (uint32_t i = 0; i < FUNCTIONS_MAX; i++) {
        struct function *function = &table->functions[i];
        uint32_t state = function->state == FUNCTION_MUTED ? FUNCTION_HEARD : function->state;

        if (function->address)
            *function = (struct function){.address = function->address, .state = state};
    }
}

struct function *function_table__nth(const struct function_table *table, uint64_t index)
{
    uint32_t place =
        index < FUNCTIONS_MAX ? __atomic_load_n(&table->order[index], __ATOMIC_ACQUIRE) : 0;

    return place ? &table->functions[place - 1] : NULL;
}

/* A free entry is claimed by its address. Until the rest of it is stored, other threads take it for
 * what every entry is at first. */
static bool claim(struct function_table *table, struct function *function, uint64_t address)
{
    uint64_t found = 0;

    if (!__atomic_compare_exchange_n(&function->address, &found, address, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_ACQUIRE))
        return found == address;
    function->from_ns = ledger_time__now_ns(table->time);
    __atomic_store_n(&function->since_ns, function->from_ns, __ATOMIC_RELAXED);
    __atomic_store_n(&function->state, table->state_at_first, __ATOMIC_RELEASE);
    return true;
}

struct function *function_table__add(struct function_table *table, uint64_t address)
{
    uint32_t slot = function_table__slot(address);

    for (uint32_t i = 0; i < FUNCTION_TRIES; i++) {
        struct function *function = &table->functions[(slot + i) & (FUNCTIONS_MAX - 1)];

        if (claim(table, function, address))
            return function;
    }
    return NULL;
}

/* Two threads may make a record each: one of the two never has nodes. */
ledger_ref function_table__record(struct function_table *table, struct function *function)
{
    ledger_ref ref = __atomic_load_n(&function->record, __ATOMIC_ACQUIRE), found = 0;
    struct ledger_method *method;

    if (ref)
        return ref;
    ref = ledger__take_shared(table->ledger, LEDGER_METHODS, 1);
    if (!ref)
        return 0;
    method = ledger__at(table->ledger, ref);
    method->key = function_table__key(table, function);
    method->flags = METHOD_SYMBOL;
    method->address = function->address;
    method->class_name = ledger__string(table->ledger, NO_IMAGE, strlen(NO_IMAGE));
    if (!__atomic_compare_exchange_n(&function->record, &found, ref, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_ACQUIRE)) {
        method->flags = METHOD_DEAD;
        return found;
    }
    __atomic_store_n(&table->order[__atomic_fetch_add(&table->count, 1, __ATOMIC_RELAXED)],
                     function_table__key(table, function), __ATOMIC_RELEASE);
    return ref;
}
