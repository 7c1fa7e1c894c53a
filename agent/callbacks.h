/*
 * What the JVM and the kernel call in the agent: JVMTI's events, HotSpot's events of virtual
 * threads, wrappers of native methods of Thread, and the handler of the sample signal. They are
 * passed nothing of ours, so they find the one agent by themselves, and hand over to the module in
 * question. Three tables stand elsewhere: what hooks call (agent/hooks.h), wrappers of natives that
 * wait for I/O (agent/io_wrappers.h), and the entry points of a JVMTI agent (agent/agent.c).
 */
#ifndef TREADLE_CALLBACKS_H
#define TREADLE_CALLBACKS_H

struct agent;

/* Sets all callbacks and capabilities, and enables the events that stay on for the JVM's life. 0,
 * or -ENOTSUP with a log line. */
int callbacks__set(struct agent *agent);

#endif
