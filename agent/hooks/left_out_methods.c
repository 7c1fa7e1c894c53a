#include "agent/hooks/left_out_methods.h"

#include "agent/hooks/interface_hooks.h"
#include "agent/methods/hook_class.h"
#include "agent/methods/hook_quota.h"
#include "agent/methods/method_numbers.h"

#include <sys/mman.h>

/* Address space for all numbers; memory is used for the methods that were left out. */
static bool make_room(struct left_out_methods *left_out)
{
    void *room;

    if (left_out->methods)
        return true;
    room = mmap(NULL, HOOK_METHODS_MAX * sizeof(*left_out->methods), PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (room == MAP_FAILED)
        return false;
    __atomic_store_n(&left_out->methods, room, __ATOMIC_RELEASE);
    return true;
}

static struct ledger_hooking *record_of(struct left_out_method *left, struct ledger *ledger)
{
    ledger_ref known = __atomic_load_n(&left->record, __ATOMIC_ACQUIRE);
    ledger_ref made =
        known ? 0 : ledger__take_shared(ledger, LEDGER_HOOKINGS, LEDGER_HOOKING_CELLS);

    if (made && __atomic_compare_exchange_n(&left->record, &known, made, false, __ATOMIC_ACQ_REL,
                                            __ATOMIC_ACQUIRE))
        known = made;
    return known ? ledger__at(ledger, known) : NULL;
}

static void write_record(struct left_out_method *left, struct ledger *ledger, ledger_ref method)
{
    struct ledger_hooking *hooking = record_of(left, ledger);

    /* The ledger is full: that calls are missing must not stay unsaid. */
    if (!hooking) {
        ledger__count(&ledger->header->dropped_enters, 1);
        return;
    }
    hooking->left_out = 1;
    hooking->from_ns = left->from_ns;
    hooking->since_ns = left->since_ns;
    hooking->mutes = left->times;
    __atomic_store_n(&hooking->heard_ns, left->ns, __ATOMIC_RELAXED);
    __atomic_store_n(&hooking->method, method, __ATOMIC_RELEASE);
}

/* Has it been without hooks since the filter was set? A class that was not examined with it has
 * none. Kept hooks are never heard while profiling is stopped, so the filter itself decides. What
 * the budget silenced has another record. */
static bool was_left_out(const struct numbered_method *method, const struct hook_quotas *quotas,
                         const struct method_filter *filter)
{
    if (!hook_quotas__hear(quotas, method->id))
        return false;
    if (numbered_method__is_kept(method))
        return !interface_hooks__admits(filter, method);
    return !numbered_class__is(method->class, CLASS_COUNTED) ||
           !__atomic_load_n(&method->hooked, __ATOMIC_ACQUIRE);
}

void left_out_methods__end_filter(struct left_out_methods *left_out,
                                  const struct method_numbers *numbers,
                                  const struct hook_quotas *quotas,
                                  const struct method_filter *filter, struct ledger *ledger,
                                  uint64_t now_ns)
{
    struct ledger_header *header = ledger->header;
    uint64_t length_ns = header->since_ns - header->filter_since_ns;
    uint32_t count = __atomic_load_n(&numbers->count, __ATOMIC_ACQUIRE);
    bool has_room = make_room(left_out);

    header->filter_since_ns = now_ns;
    for (uint32_t id = 1; has_room && id <= count && id < HOOK_METHODS_MAX; id++) {
        const struct numbered_method *method = method_numbers__get(numbers, id);

        if (!method || !was_left_out(method, quotas, filter))
            continue;
        left_out->methods[id].ns += length_ns;
        left_out->methods[id].since_ns = now_ns;
        left_out->methods[id].times++;
        left_out_methods__tell(left_out, ledger, id, ledger__find_method(ledger, id));
    }
}

void left_out_methods__begin_late(struct left_out_methods *left_out, struct ledger *ledger,
                                  uint32_t id)
{
    struct left_out_method *methods = __atomic_load_n(&left_out->methods, __ATOMIC_ACQUIRE);
    uint64_t since_ns = ledger->header->filter_since_ns;

    if (methods && !methods[id].ns)
        methods[id] = (struct left_out_method){
            .ns = since_ns, .since_ns = since_ns, .from_ns = since_ns, .times = 1};
}

void left_out_methods__tell(struct left_out_methods *left_out, struct ledger *ledger, uint32_t id,
                            ledger_ref method)
{
    struct left_out_method *methods = __atomic_load_n(&left_out->methods, __ATOMIC_ACQUIRE);

    if (methods && id < HOOK_METHODS_MAX && methods[id].ns && method)
        write_record(&methods[id], ledger, method);
}
