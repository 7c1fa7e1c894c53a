/*
 * The part of HOOK_CLASS (agent/methods/hook_class.h) that counts calls:
 *
 *     @DontInline static void count(int slot) {        in the counter that the slot has
 *         int counter = COUNTERS[slot];
 *         if (counter <= 0) {
 *             if (counter == 0)
 *                 first(slot);
 *             return;
 *         }
 *         long tid = UNSAFE.getLong(Thread.currentCarrierThread(), TID);
 *         long place = THREADS + ((tid & 4095) << 4), at, calls;
 *         if (UNSAFE.getLong(null, place) == tid) {
 *             at = UNSAFE.getLong(null, place + 8) + ((long) counter << 3);
 *             calls = UNSAFE.getLong(null, at) + 1;
 *             UNSAFE.putLong(null, at, calls);
 *         } else
 *             calls = UNSAFE.getAndAddLong(null, SHARED + ((long) counter << 3), 1);
 *         if (((int) calls & HOOK_COUNTED_STEP - 1) == 0)
 *             counted(slot, tid);
 *     }
 *     public static void called(int slot) { if (OFF[slot] != 1) count(slot); }
 *     static native void first(int slot);
 *     static native void counted(int slot, long tid);
 *
 * What it calls has no hooks, whatever include= says: natives, and methods that are annotated as
 * intrinsics. A hook in there would count for ever.
 *
 * agent/methods/thread_counters.h has the table THREADS and the counters. Before virtual threads
 * there was no currentCarrierThread; it is currentThread then.
 */
#ifndef TREADLE_COUNT_HOOKS_H
#define TREADLE_COUNT_HOOKS_H

#include "agent/classfile/class_file.h"
#include "agent/methods/thread_counters.h"

#include <stdbool.h>

/* HOOKS_COUNTERS_AND_TYPE to HOOKS_SHARED_HIGH of agent/methods/hook_pool.h, whose names and types
 * are written before. */
void count_hooks__write_pool(struct class_writer *out, const struct thread_counters *counters);
void count_hooks__write_methods(struct class_writer *out);

#endif
