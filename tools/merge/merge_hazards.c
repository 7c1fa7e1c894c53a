#include "tools/merge/merge_parts.h"

static void copy_path(struct ledger_merge *merge, struct merge_input *input, ledger_ref user,
                      ledger_ref path[HAZARD_FRAMES])
{
    for (unsigned i = 0; i < HAZARD_FRAMES; i++)
        path[i] = merge__string(merge, input, path[i], user);
}

/* 0: not known, or not yet. */
static uint64_t shifted(const struct merge_input *input, uint64_t at_ns)
{
    return at_ns ? at_ns + input->shift_ns : 0;
}

/* Deadlocks of different inputs stay apart, and so do orders of locks: each says of which it is. */
static void copy_stuck(struct ledger_merge *merge, struct merge_input *input, ledger_ref ref)
{
    const struct ledger_stuck *record = ledger_reader__stuck(input->reader, ref);
    ledger_ref to = record->deadlock ? merge__take(merge, LEDGER_STUCK, sizeof(*record)) : 0;

    if (!to)
        return;
    struct ledger_stuck *stuck = ledger__at(&merge->ledger, to);
    *stuck = *record;
    stuck->process = (uint32_t)input->number + 1;
    stuck->thread = record->thread ? merge__prefixed(merge, input, record->thread, ref) : 0;
    stuck->since_ns = shifted(input, record->since_ns);
    stuck->found_ns = shifted(input, record->found_ns);
    stuck->ended_ns = shifted(input, record->ended_ns);
    stuck->class_name = merge__string(merge, input, record->class_name, ref);
    copy_path(merge, input, ref, stuck->path);
}

static void copy_order(struct ledger_merge *merge, struct merge_input *input, ledger_ref ref)
{
    const struct ledger_order *record = ledger_reader__order(input->reader, ref);
    ledger_ref to = record->key ? merge__take(merge, LEDGER_ORDERS, sizeof(*record)) : 0;

    if (!to)
        return;
    struct ledger_order *order = ledger__at(&merge->ledger, to);
    *order = *record;
    order->process = (uint32_t)input->number + 1;
    order->thread = record->thread ? merge__prefixed(merge, input, record->thread, ref) : 0;
    order->first_ns = shifted(input, record->first_ns);
    for (unsigned i = 0; i < 2; i++)
        order->class_name[i] = merge__string(merge, input, record->class_name[i], ref);
    for (unsigned i = 0; i < ORDER_GATES; i++)
        order->gate_class[i] = merge__string(merge, input, record->gate_class[i], ref);
    copy_path(merge, input, ref, order->path);
}

void merge_hazards__add(struct ledger_merge *merge, struct merge_input *input)
{
    ledger_ref ref = 0;

    while ((ref = ledger_reader__next(input->reader, LEDGER_STUCK, ref)) != 0 && !merge->full)
        copy_stuck(merge, input, ref);
    while ((ref = ledger_reader__next(input->reader, LEDGER_ORDERS, ref)) != 0 && !merge->full)
        copy_order(merge, input, ref);
}
