/*
 * Counters that each thread has for itself, in blocks: HOOK_CLASS adds to them without an atomic
 * operation (agent/methods/count_hooks.h). A counter has a number; its value is the sum over all
 * blocks. Block 0 is shared: threads without a block of their own add to it atomically.
 *
 * A thread is known by Thread.tid, which the JVM never gives twice; a virtual thread counts as its
 * carrier. The thread claims and releases its block itself, so an entry of the table that has its
 * tid does not change while it looks. A block that is released keeps its counts, and the next
 * thread goes on with them. Where two threads have the same place in the table, or all blocks are
 * taken, the later thread shares block 0.
 *
 * A thread without a tid, such as one that is being attached, shares, too.
 *
 * Address space only, 33 MiB: a thread with a block touches 8 bytes for each counter in use.
 * Functions may be called in hooks, by any thread; begin and end once.
 */
#ifndef TREADLE_THREAD_COUNTERS_H
#define TREADLE_THREAD_COUNTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define THREAD_COUNTERS_MAX    (1u << 16) /* numbers are below; 0 is none's */
#define THREAD_COUNTERS_BLOCKS 64u
#define THREAD_COUNTERS_PLACES 4096u /* of threads; a power of two */

/* A thread's place in the table, by its tid. HOOK_CLASS reads both fields. */
struct counting_thread {
    uint64_t tid;   /* 0: nobody's; at place 0 always another one */
    uint64_t block; /* the address of its counters */
};

struct thread_counters {
    struct counting_thread *threads; /* THREAD_COUNTERS_PLACES; NULL: there are no counters */
    uint64_t *blocks;
    uint32_t *notes; /* by number: what the counter's user notes of it */
    uint64_t taken;  /* atomic: a bit for each block that has an owner, … */
    uint64_t used;   /* … or had one */
    uint32_t given;  /* atomic: how many numbers */
};

/* 0 or -ENOMEM. */
int thread_counters__begin(struct thread_counters *counters);
void thread_counters__end(struct thread_counters *counters);

/* Returns a new counter's number; 0: there are no more. */
uint32_t thread_counters__number(struct thread_counters *counters);

/* Numbers up to this one were given. The note of a number is 0 until it is set. */
static inline uint32_t thread_counters__given(const struct thread_counters *counters)
{
    return __atomic_load_n(&counters->given, __ATOMIC_ACQUIRE);
}

static inline void thread_counters__set_note(struct thread_counters *counters, uint32_t number,
                                             uint32_t note)
{
    __atomic_store_n(&counters->notes[number], note, __ATOMIC_RELEASE);
}

static inline uint32_t thread_counters__note(const struct thread_counters *counters,
                                             uint32_t number)
{
    return __atomic_load_n(&counters->notes[number], __ATOMIC_ACQUIRE);
}

/* Adds to the shared block. */
void thread_counters__add(struct thread_counters *counters, uint32_t number, uint64_t calls);

/* Counts that other threads make meanwhile may be in it or not. */
uint64_t thread_counters__read(const struct thread_counters *counters, uint32_t number);

/* True if a thread has a block of its own. */
static inline bool thread_counters__has_owners(const struct thread_counters *counters)
{
    return (__atomic_load_n(&counters->taken, __ATOMIC_RELAXED) & ~1ull) != 0;
}

/* The memory that is in use, in bytes. */
size_t thread_counters__bytes(const struct thread_counters *counters);

/* The calling thread, which has this tid, wants a block; and is about to end. */
void thread_counters__claim(struct thread_counters *counters, uint64_t tid);
void thread_counters__release(struct thread_counters *counters, uint64_t tid);

#endif
