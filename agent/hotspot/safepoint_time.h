/*
 * How long the JVM's safepoints have taken so far: GC pauses and all other operations for which
 * HotSpot stops the Java threads. HotSpot adds that up in its own memory of performance counters
 * (sun.rt.safepointTime, and sun.rt.safepointSyncTime for the time until all threads have stopped),
 * soon after the threads go on: perfMemory.hpp and runtimeService.cpp of its sources, JDK 17 to 25.
 * A JVM with -XX:-UsePerfData has no such counters.
 */
#ifndef TREADLE_SAFEPOINT_TIME_H
#define TREADLE_SAFEPOINT_TIME_H

#include "native/thread/stopped_time.h"

#include <stdbool.h>

/* To be called once the JVM runs. The counters stay where they are until the process ends. False,
 * and no counters, if the JVM does not tell. */
bool safepoint_time__find(struct stopped_time *time);

/* The same in a memory of performance counters at that address. */
bool safepoint_time__find_in(struct stopped_time *time, const char *memory);

#endif
