#include "tools/report/report_busy.h"

#define MILLION 1000000u

/* Less of a slot tells nothing. */
#define LEAST_PART 10u

static uint64_t ppm_of(uint32_t busy)
{
    return ((uint64_t)busy * MILLION + (1u << LEDGER_BUSY_SHIFT) / 2) >> LEDGER_BUSY_SHIFT;
}

struct report_busy report_busy__of(const struct report_model *model)
{
    const struct ledger_busy_history *history = &model->header.busy_history;
    struct report_busy busy = {.first_ns = history->first_ns, .slot_ns = history->slot_ns};
    uint64_t length_ns =
        history->until_ns > history->first_ns ? history->until_ns - history->first_ns : 0;
    uint64_t whole, rest_ns, skipped = 0;

    if (!history->slot_ns || length_ns / history->slot_ns > LEDGER_BUSY_SLOTS)
        return (struct report_busy){.count = 0};
    whole = length_ns / history->slot_ns;
    rest_ns = length_ns % history->slot_ns;
    if (model->since_ns > history->first_ns)
        skipped = (model->since_ns - history->first_ns) / history->slot_ns;
    for (uint64_t slot = skipped; slot < whole; slot++)
        busy.ppm[busy.count++] = ppm_of(history->busy[slot]);
    if (whole < LEDGER_BUSY_SLOTS && whole >= skipped && rest_ns > history->slot_ns / LEAST_PART)
        busy.ppm[busy.count++] = (uint64_t)((unsigned __int128)ppm_of(history->busy[whole]) *
                                            history->slot_ns / rest_ns);
    busy.first_ns += skipped * history->slot_ns;
    return busy;
}

uint64_t report_busy__most_ppm(const struct report_busy *busy)
{
    uint64_t most = 0;

    for (uint32_t i = 0; i < busy->count; i++)
        most = busy->ppm[i] > most ? busy->ppm[i] : most;
    return most;
}
