/*
 * The profiler's own thread: reserves the ledger's space ahead of use, names functions, merges
 * samples, looks for kernel threads that no wrapper began, keeps the process's totals and the
 * account of its own cost up to date, and writes the last snapshot. It takes no signals.
 */
#ifndef TREADLE_UPKEEP_H
#define TREADLE_UPKEEP_H

#include <stdbool.h>
#include <stdint.h>

struct preload;

/* Without the thread the ledger still grows, in the threads that need space. */
void upkeep__start(struct preload *preload);

/* The thread ends, and another one begins. pause: false: the process has other threads, too, or the
 * thread did not end within a bounded time, and there is none any more. Of the only other thread,
 * not in a hook. */
bool upkeep__pause(struct preload *preload);
void upkeep__go_on(struct preload *preload);

/* Names the functions that were called and merges the samples that were taken so far: what they lie
 * in is to be unloaded. Waits for that, but not longer than most_ns. */
void upkeep__before_unload(struct preload *preload, uint64_t most_ns);

/* Brings everything up to date, and waits for that, but not longer than most_ns. */
void upkeep__look(struct preload *preload, uint64_t most_ns);

/* Writes the snapshot and removes the live ledger. 0; -errno after a line: the live ledger stays.
 */
int upkeep__write_last(struct preload *preload, uint64_t most_ns);

#endif
