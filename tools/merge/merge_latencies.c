#include "tools/merge/merge_parts.h"

static uint64_t sum_of(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static void add(struct ledger_latency *latency, const struct ledger_latency *record)
{
    latency->sum_ns = sum_of(latency->sum_ns, record->sum_ns);
    latency->steps = sum_of(latency->steps, record->steps);
    latency->step_ns = sum_of(latency->step_ns, record->step_ns);
    if (record->max_ns > latency->max_ns)
        latency->max_ns = record->max_ns;
    for (uint32_t i = 0; i < LATENCY_BUCKETS; i++)
        latency->buckets[i] = sum_of(latency->buckets[i], record->buckets[i]);
}

/* A method of the merge has its record of elapsed time, which has that of CPU time, as in the
 * agent. */
static struct ledger_latency *record_of(struct ledger_merge *merge, ledger_ref method,
                                        enum ledger_latency_clock clock)
{
    ledger_ref *link = &((struct ledger_method *)ledger__at(&merge->ledger, method))->latency;

    for (unsigned i = 0; i <= (unsigned)clock; i++) {
        struct ledger_latency *latency;

        if (!*link) {
            *link = merge__take(merge, LEDGER_LATENCIES, sizeof(*latency));
            if (!*link)
                return NULL;
            latency = ledger__at(&merge->ledger, *link);
            latency->method = method;
            latency->clock = i;
        }
        latency = ledger__at(&merge->ledger, *link);
        if (i == (unsigned)clock)
            return latency;
        link = &latency->cpu;
    }
    return NULL;
}

void merge_latencies__add(struct ledger_merge *merge, struct merge_input *input)
{
    ledger_ref ref = 0;

    while ((ref = ledger_reader__next(input->reader, LEDGER_LATENCIES, ref)) != 0 && !merge->full) {
        const struct ledger_latency *record = ledger_reader__latency(input->reader, ref);
        ledger_ref method = merge__method(input, record->method);
        struct ledger_latency *latency = NULL;

        if (method && record->clock < LATENCY_CLOCKS)
            latency = record_of(merge, method, (enum ledger_latency_clock)record->clock);
        if (latency)
            add(latency, record);
    }
}
