/*
 * The agent's own thread. It reserves the ledger's space ahead of use, looks for kernel threads
 * that run no Java thread, keeps the process's totals in the ledger up to date in case the process
 * is killed, and merges samples. It is not a Java thread and takes no signals. Once the JVM has
 * started, its looks at other threads take half a thousandth of a processor, or more if one look
 * takes over 2.5 ms. Merging takes CPU time in proportion to the samples. While the process rests
 * the thread wakes twice a second, and looks at everything every five seconds.
 *
 * Other threads hand it jobs (agent->jobs), whose CPU time so counts as the profiler's and not as
 * theirs.
 */
#ifndef TREADLE_HOUSEKEEPING_H
#define TREADLE_HOUSEKEEPING_H

#include <stdbool.h>

struct agent;

/* 0 or -errno. Without the thread the ledger still grows, in the threads that need space. */
int housekeeping__start(struct agent *agent);

/* Scans the VM threads now and waits for that, because the JVM is about to end some of them. */
void housekeeping__look(struct agent *agent);

/* own_cost__look, under the snapshot lock. */
void housekeeping__look_at_cost(struct agent *agent, bool all);

/* hook_counts__publish, under the snapshot lock. */
void housekeeping__publish_counts(struct agent *agent);

/* Writes one line to stderr when the ledger first has losses. With the snapshot lock held. */
void housekeeping__warn_of_losses(struct agent *agent);

/* Asks the thread to end; does not wait. */
void housekeeping__stop(struct agent *agent);

#endif
