/*
 * Virtual threads (JDK 21 and later). While one is mounted, what runs on its carrier's kernel
 * thread is not the carrier's: its method events are not recorded, so that the carrier's tree stays
 * right, and its CPU goes to where the carrier stood. The mounts are counted and reported.
 */
#ifndef TREADLE_VIRTUAL_THREADS_H
#define TREADLE_VIRTUAL_THREADS_H

#include <jvmti.h>

struct agent;

/* Adds the capability if this JVM has virtual threads. */
void virtual_threads__ask(const struct agent *agent, jvmtiCapabilities *capabilities);

/* Hears mounts and unmounts, which are extension events of HotSpot, found by name. */
void virtual_threads__hear(struct agent *agent);

#endif
