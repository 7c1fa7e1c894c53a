/*
 * The agent's own thread. It reserves the ledger's space ahead of use, looks for kernel threads
 * that run no Java thread, keeps the process's totals in the ledger up to date in case the process
 * is killed, and merges samples. It is not a Java thread and takes no signals. Once the JVM has
 * started, its looks at other threads take a thousandth of a processor, or more if one look takes
 * over 5 ms. Merging takes CPU time in proportion to the samples.
 */
#ifndef TREADLE_HOUSEKEEPING_H
#define TREADLE_HOUSEKEEPING_H

struct agent;

/* 0 or -errno. Without the thread the ledger still grows, in the threads that need space. */
int housekeeping__start(struct agent *agent);

/* Runs a job on the thread and waits until the job is done, so that its CPU time counts as the
 * profiler's and not the caller's. Without the thread, the caller runs the job. */
void housekeeping__run(struct agent *agent, void (*work)(void *context), void *context);

/* Scans the VM threads now and waits for that, because the JVM is about to end some of them. */
void housekeeping__look(struct agent *agent);

/* Writes one line to stderr when the ledger first has losses. With the snapshot lock held. */
void housekeeping__warn_of_losses(struct agent *agent);

/* Asks the thread to end; does not wait. */
void housekeeping__stop(struct agent *agent);

#endif
