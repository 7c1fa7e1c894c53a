#include "agent/methods/thread_counters.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#define THREADS_BYTES (THREAD_COUNTERS_PLACES * sizeof(struct counting_thread))
#define BLOCKS_BYTES  ((size_t)THREAD_COUNTERS_BLOCKS * THREAD_COUNTERS_MAX * sizeof(uint64_t))
#define NOTES_BYTES   (THREAD_COUNTERS_MAX * sizeof(uint32_t))
#define ALL_BYTES     (THREADS_BYTES + BLOCKS_BYTES + NOTES_BYTES)
#define SHARED_BLOCK  1u /* its bit */

int thread_counters__begin(struct thread_counters *counters)
{
    char *start = mmap(NULL, ALL_BYTES, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (start == MAP_FAILED)
        return -ENOMEM;
    counters->threads = (struct counting_thread *)(void *)start;
    counters->blocks = (uint64_t *)(void *)(start + THREADS_BYTES);
    counters->notes = (uint32_t *)(void *)(start + THREADS_BYTES + BLOCKS_BYTES);
    /* What has the tid 0 is not to find itself in the table. */
    counters->threads[0].tid = UINT64_MAX;
    counters->taken = counters->used = SHARED_BLOCK;
    return 0;
}

void thread_counters__end(struct thread_counters *counters)
{
    if (counters->threads)
        munmap(counters->threads, ALL_BYTES);
    memset(counters, 0, sizeof(*counters));
}

uint32_t thread_counters__number(struct thread_counters *counters)
{
    uint32_t given = __atomic_load_n(&counters->given, __ATOMIC_RELAXED);

    do {
        if (!counters->threads || given + 1 >= THREAD_COUNTERS_MAX)
            return 0;
    } while (!__atomic_compare_exchange_n(&counters->given, &given, given + 1, false,
                                          __ATOMIC_RELAXED, __ATOMIC_RELAXED));
    return given + 1;
}

void thread_counters__add(struct thread_counters *counters, uint32_t number, uint64_t calls)
{
    __atomic_fetch_add(&counters->blocks[number], calls, __ATOMIC_RELAXED);
}

uint64_t thread_counters__read(const struct thread_counters *counters, uint32_t number)
{
    uint64_t left = __atomic_load_n(&counters->used, __ATOMIC_ACQUIRE), sum = 0;

    for (; left; left &= left - 1) {
        size_t block = (size_t)__builtin_ctzll(left);

        sum += __atomic_load_n(&counters->blocks[block * THREAD_COUNTERS_MAX + number],
                               __ATOMIC_RELAXED);
    }
    return sum;
}

size_t thread_counters__bytes(const struct thread_counters *counters)
{
    uint64_t used = __atomic_load_n(&counters->used, __ATOMIC_RELAXED);
    size_t blocks = (size_t)__builtin_popcountll(used);

    return counters->threads
               ? THREADS_BYTES + thread_counters__given(counters) *
                                     (sizeof(*counters->notes) + blocks * sizeof(*counters->blocks))
               : 0;
}

/* What the last owner counted is seen by the next one: bits are taken and given back in order.
 * Returns the block's index; 0: all are taken. */
static uint32_t take_block(struct thread_counters *counters)
{
    uint64_t taken = __atomic_load_n(&counters->taken, __ATOMIC_ACQUIRE);
    uint64_t bit;

    do {
        bit = ~taken & (taken + 1); /* the lowest that is free */
        if (!bit)
            return 0;
    } while (!__atomic_compare_exchange_n(&counters->taken, &taken, taken | bit, false,
                                          __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE));
    __atomic_fetch_or(&counters->used, bit, __ATOMIC_RELEASE);
    return (uint32_t)__builtin_ctzll(bit);
}

static void give_back(struct thread_counters *counters, uint32_t block)
{
    __atomic_fetch_and(&counters->taken, ~(1ull << block), __ATOMIC_RELEASE);
}

static struct counting_thread *place_of(struct thread_counters *counters, uint64_t tid)
{
    return &counters->threads[tid % THREAD_COUNTERS_PLACES];
}

void thread_counters__claim(struct thread_counters *counters, uint64_t tid)
{
    struct counting_thread *place = counters->threads && tid ? place_of(counters, tid) : NULL;
    uint64_t nobody = 0;
    uint32_t block;

    if (!place || __atomic_load_n(&place->tid, __ATOMIC_ACQUIRE) != nobody)
        return;
    block = take_block(counters);
    if (!block)
        return;
    /* From here on the place is this thread's, but no thread's tid is in it. */
    if (!__atomic_compare_exchange_n(&place->tid, &nobody, UINT64_MAX, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_RELAXED)) {
        give_back(counters, block);
        return;
    }
    __atomic_store_n(&place->block,
                     (uint64_t)(uintptr_t)&counters->blocks[block * (size_t)THREAD_COUNTERS_MAX],
                     __ATOMIC_RELAXED);
    __atomic_store_n(&place->tid, tid, __ATOMIC_RELEASE);
}

void thread_counters__release(struct thread_counters *counters, uint64_t tid)
{
    struct counting_thread *place = counters->threads && tid ? place_of(counters, tid) : NULL;
    uint64_t *block;

    if (!place || __atomic_load_n(&place->tid, __ATOMIC_RELAXED) != tid)
        return;
    block = (uint64_t *)(uintptr_t)place->block;
    __atomic_store_n(&place->tid, 0, __ATOMIC_RELEASE);
    give_back(counters, (uint32_t)((size_t)(block - counters->blocks) / THREAD_COUNTERS_MAX));
}
