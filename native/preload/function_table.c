#include "native/preload/function_table.h"

#include "native/preload/loaded_image.h"

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
        .find_object = loaded_image__find_object(),
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

/* The record's image; none: the function has no name yet, or it was never called. */
static ledger_ref image_of(const struct function_table *table, ledger_ref record)
{
    const struct ledger_method *method = ledger__at(table->ledger, record);

    return record ? __atomic_load_n(&method->image, __ATOMIC_ACQUIRE) : 0;
}

static bool is_loaded(const struct function_table *table, ledger_ref image_ref, uint64_t address)
{
    static const struct ledger_string none;
    const struct ledger *ledger = table->ledger;
    const struct ledger_image *image = ledger__at(ledger, image_ref);
    const struct ledger_string *path, *build_id;

    path = image->path ? ledger__at(ledger, image->path) : &none;
    build_id = image->build_id ? ledger__at(ledger, image->build_id) : &none;
    return loaded_image__is(table->find_object, address,
                            &(struct image_facts){path->bytes, path->length, build_id->bytes,
                                                  build_id->length, image->bias});
}

/* The entry is of a function that lay at the address and is gone. Without a record it is nobody's.
 */
static bool revive(const struct function_table *table, struct function *function, uint64_t address)
{
    ledger_ref record = __atomic_load_n(&function->record, __ATOMIC_ACQUIRE);
    ledger_ref image = image_of(table, record);
    uint64_t found = address | FUNCTION_GONE;

    if (record && !(image && is_loaded(table, image, address)))
        return false;
    if (!record)
        __atomic_store_n(&function->state, table->state_at_first, __ATOMIC_RELEASE);
    return __atomic_compare_exchange_n(&function->address, &found, address, false, __ATOMIC_ACQ_REL,
                                       __ATOMIC_ACQUIRE) ||
           found == address;
}

struct function *function_table__add(struct function_table *table, uint64_t address)
{
    uint32_t slot = function_table__slot(address);

    for (uint32_t i = 0; i < FUNCTION_TRIES; i++) {
        struct function *function = &table->functions[(slot + i) & (FUNCTIONS_MAX - 1)];
        uint64_t there = __atomic_load_n(&function->address, __ATOMIC_ACQUIRE);

        if (there == (address | FUNCTION_GONE) ? revive(table, function, address)
                                               : claim(table, function, address))
            return function;
    }
    return NULL;
}

static void forget(const struct function_table *table, struct function *function)
{
    uint64_t address = __atomic_load_n(&function->address, __ATOMIC_ACQUIRE);
    ledger_ref image = image_of(table, __atomic_load_n(&function->record, __ATOMIC_ACQUIRE));

    if (address && !(address & FUNCTION_GONE) &&
        !(image ? is_loaded(table, image, address)
                : loaded_image__is_any(table->find_object, address)))
        (void)__atomic_compare_exchange_n(&function->address, &address, address | FUNCTION_GONE,
                                          false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

/* Where functions are decided by their names there are entries of some that were never called. */
void function_table__forget_unloaded(struct function_table *table)
{
    uint64_t count = __atomic_load_n(&table->count, __ATOMIC_ACQUIRE);

    if (!table->find_object)
        return;
    if (table->state_at_first == FUNCTION_NEW) {
        for (uint32_t i = 0; i < FUNCTIONS_MAX; i++)
            forget(table, &table->functions[i]);
        return;
    }
    for (uint64_t i = 0; i < count; i++) {
        struct function *function = function_table__nth(table, i);

        if (function)
            forget(table, function);
    }
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
