/*
 * Virtual threads: rule 3 of the ledger at high frequency. While one is mounted on a carrier, the
 * kernel thread's deltas go to its tree; when it is unmounted its open frames wait in its record
 * and are found again on whatever carrier it is mounted next, and the carrier's own tree goes on
 * where it was. Between two mounts the scheduler's work lands on the carrier: there is no gap.
 *
 * The scheduler hands a virtual thread from one kernel thread to the next, so its record has one
 * writer at a time, as all records have. Called on the carrier's kernel thread; nothing here
 * allocates (but begin: in the ledger), locks or blocks.
 */
#ifndef TREADLE_VIRTUAL_THREAD_H
#define TREADLE_VIRTUAL_THREAD_H

#include "native/thread/kernel_thread.h"

/* A record for one that is mounted for the first time. None when the ledger is full (counted). */
ledger_ref virtual_thread__begin(struct kernel_thread *carrier,
                                 const struct java_thread_facts *facts);

/* Profiling was stopped meanwhile, and mounts were not heard: who runs here now is this one, or
 * with 0 the carrier itself. What was mounted before, if it is not this one, may run elsewhere by
 * now, or be over and its record another's: nothing is saved in it or charged to it any more. While
 * profiling is stopped nothing is done; nor, but for a while, where it is being placed just then:
 * it stays unidentified. */
void virtual_thread__identify(struct kernel_thread *carrier, ledger_ref ref);

/* Before the coming epoch begins: this one, or one of these facts that has no record yet, is
 * mounted here, unless that is heard to be over; the frames as for kernel_thread__place, which see.
 * Its record; none when the ledger is full or the carrier is not known. */
ledger_ref virtual_thread__place(struct kernel_thread *carrier, uint32_t epoch, ledger_ref ref,
                                 const struct java_thread_facts *facts, const uint64_t *keys,
                                 uint32_t count);

/* Once it has begun, on a kernel thread without an event since (kernel_thread__place_again): this
 * one is mounted there; with 0 none that has a record, and the carrier stands there itself. Another
 * one may have been when it was placed. */
void virtual_thread__place_again(struct kernel_thread *carrier, uint32_t epoch, ledger_ref ref,
                                 const uint64_t *keys, uint32_t count);

/* From here on the virtual thread is current. One that is mounted still is unmounted first. False
 * if events do not count here. */
bool virtual_thread__mount(struct kernel_thread *carrier, ledger_ref ref);

/* From here on the carrier is; nothing if none is mounted. */
void virtual_thread__unmount(struct kernel_thread *carrier);

/* It is over: nothing will be charged to it any more. False: it was folded, the record is gone. */
bool virtual_thread__end(struct kernel_thread *carrier, ledger_ref ref);

/* The mounted one is about to block its carrier: counted. */
void virtual_thread__pinned(struct kernel_thread *carrier);

static inline bool virtual_thread__is_mounted(const struct kernel_thread *carrier)
{
    return carrier->carrier.thread != NULL;
}

#endif
