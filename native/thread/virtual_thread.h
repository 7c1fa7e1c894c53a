/*
 * Virtual threads: kernel threads that are reused at high frequency. While a virtual thread is
 * mounted on a carrier, the kernel thread's deltas go to the virtual thread's tree. When it is
 * unmounted, its open frames are kept in its record; the next carrier on which it is mounted finds
 * them there, and the old carrier's own tree continues where it was. Between two mounts the
 * scheduler's work is charged to the carrier: there is no gap.
 *
 * The scheduler hands a virtual thread from one kernel thread to the next, so its record has one
 * writer at a time, as all records have. Called on the carrier's kernel thread. Nothing here locks
 * or blocks, and only begin allocates, in the ledger.
 */
#ifndef TREADLE_VIRTUAL_THREAD_H
#define TREADLE_VIRTUAL_THREAD_H

#include "native/thread/kernel_thread.h"

/* Makes the record of a virtual thread at its first mount. None when the ledger is full (counted).
 */
ledger_ref virtual_thread__begin(struct kernel_thread *carrier,
                                 const struct java_thread_facts *facts);

/* Profiling was stopped for a while and mounts were missed: says which virtual thread runs here
 * now; 0: the carrier itself. A virtual thread that was mounted here before, if it is another one,
 * may run elsewhere by now, or may have ended and its record been reused: nothing is saved in that
 * record or charged to it any more. Does nothing while profiling is stopped, nor, except for a
 * short wait, while the thread is being placed: the thread stays unidentified. */
void virtual_thread__identify(struct kernel_thread *carrier, ledger_ref ref);

/* Before the coming epoch begins: this virtual thread, or a new one with these facts, is mounted
 * here, unless its end was reported. The frames are as for kernel_thread__place. Returns its
 * record; none when the ledger is full or the carrier is not known. */
ledger_ref virtual_thread__place(struct kernel_thread *carrier, uint32_t epoch, ledger_ref ref,
                                 const struct java_thread_facts *facts, const uint64_t *keys,
                                 uint32_t count);

/* After the epoch has begun, on a kernel thread without an event since
 * (kernel_thread__place_again): this virtual thread is mounted there. 0: no virtual thread with a
 * record is, and the carrier itself is current. Another virtual thread may have been mounted when
 * the thread was placed. */
void virtual_thread__place_again(struct kernel_thread *carrier, uint32_t epoch, ledger_ref ref,
                                 const uint64_t *keys, uint32_t count);

/* Makes the virtual thread current. A virtual thread that is still mounted is unmounted first.
 * False if events do not count here. */
bool virtual_thread__mount(struct kernel_thread *carrier, ledger_ref ref);

/* Makes the carrier current again; does nothing if no virtual thread is mounted. */
void virtual_thread__unmount(struct kernel_thread *carrier);

/* The virtual thread has ended: nothing is charged to it any more. False: it was folded and its
 * record is gone. */
bool virtual_thread__end(struct kernel_thread *carrier, ledger_ref ref);

/* The mounted virtual thread is about to block its carrier: counted. */
void virtual_thread__pinned(struct kernel_thread *carrier);

static inline bool virtual_thread__is_mounted(const struct kernel_thread *carrier)
{
    return carrier->carrier.thread != NULL;
}

#endif
