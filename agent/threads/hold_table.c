#include "agent/threads/hold_table.h"

#define PROBES 16u

/* Multiplicative hashing [D. E. Knuth: The Art of Computer Programming 3, 6.4]. */
static struct thread_holds *place(struct hold_table *table, ledger_ref thread, unsigned probe)
{
    return &table->of[(((uint32_t)thread * 0x9e3779b1u >> 16) + probe) % HOLDING_THREADS];
}

struct thread_holds *hold_table__find(struct hold_table *table, ledger_ref thread)
{
    for (unsigned probe = 0; probe < PROBES; probe++) {
        struct thread_holds *of = place(table, thread, probe);

        if (atomic_load_explicit(&of->thread, memory_order_acquire) == thread)
            return of;
    }
    return NULL;
}

struct open_hold *thread_holds__lock(struct thread_holds *of, uint32_t identity)
{
    for (unsigned i = 0; i < HOLDS_OPEN; i++)
        if (of->locks[i].since_ns && of->locks[i].lock.identity == identity)
            return &of->locks[i];
    return NULL;
}

void thread_holds__clear(struct thread_holds *of)
{
    of->depth = 0;
    for (unsigned i = 0; i < HOLDS_OPEN; i++)
        of->monitors[i].since_ns = of->locks[i].since_ns = 0;
    for (unsigned i = 0; i < HOLD_MARKS; i++)
        atomic_store(&of->marks[i].monitor, 0);
}

struct thread_holds *hold_table__take(struct hold_table *table, ledger_ref thread)
{
    for (unsigned probe = 0; probe < PROBES; probe++) {
        struct thread_holds *of = place(table, thread, probe);
        ledger_ref none = 0;

        if (atomic_load_explicit(&of->thread, memory_order_relaxed) == 0 &&
            atomic_compare_exchange_strong(&of->thread, &none, thread)) {
            thread_holds__clear(of);
            return of;
        }
    }
    return NULL;
}

static bool is_empty(const struct thread_holds *of)
{
    if (of->depth)
        return false;
    for (unsigned i = 0; i < HOLDS_OPEN; i++)
        if (of->locks[i].since_ns)
            return false;
    return true;
}

void thread_holds__give_back(struct thread_holds *of)
{
    if (!is_empty(of))
        return;
    thread_holds__clear(of);
    atomic_store_explicit(&of->thread, 0, memory_order_release);
}
