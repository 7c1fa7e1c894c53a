#include "native/ledger/busy_history.h"

#define SLOT_FIRST_NS UINT64_C(125000000)

static void store(uint32_t *slot, uint64_t value)
{
    __atomic_store_n(slot, value < UINT32_MAX ? (uint32_t)value : UINT32_MAX, __ATOMIC_RELAXED);
}

static void coarsen(struct ledger_busy_history *history)
{
    for (uint32_t i = 0; i < LEDGER_BUSY_SLOTS; i++) {
        uint64_t sum = 2 * i + 1 < LEDGER_BUSY_SLOTS
                           ? (uint64_t)history->busy[2 * i] + history->busy[2 * i + 1]
                           : 0;

        store(&history->busy[i], sum / 2);
    }
    __atomic_store_n(&history->slot_ns, history->slot_ns * 2, __ATOMIC_RELEASE);
}

void busy_history__look(struct ledger_busy_history *history, uint64_t now_ns, uint64_t cpu_ns)
{
    uint64_t from_ns = history->until_ns, used_ns = cpu_ns - history->cpu_ns;
    uint64_t left_ns = now_ns - from_ns;

    if (history->slot_ns && (now_ns <= from_ns || cpu_ns < history->cpu_ns))
        return;
    if (!history->slot_ns) {
        history->slot_ns = SLOT_FIRST_NS;
        history->first_ns = from_ns = now_ns;
    }
    while ((now_ns - history->first_ns) / history->slot_ns >= LEDGER_BUSY_SLOTS)
        coarsen(history);
    while (from_ns < now_ns) {
        uint64_t slot = (from_ns - history->first_ns) / history->slot_ns;
        uint64_t end_ns = history->first_ns + (slot + 1) * history->slot_ns;
        uint64_t length_ns = (end_ns < now_ns ? end_ns : now_ns) - from_ns;
        uint64_t part_ns = (uint64_t)((unsigned __int128)used_ns * length_ns / left_ns);

        store(&history->busy[slot],
              history->busy[slot] +
                  (uint64_t)(((unsigned __int128)part_ns << LEDGER_BUSY_SHIFT) / history->slot_ns));
        from_ns += length_ns;
    }
    history->cpu_ns = cpu_ns;
    __atomic_store_n(&history->until_ns, now_ns, __ATOMIC_RELEASE);
}
