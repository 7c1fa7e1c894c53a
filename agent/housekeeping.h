/*
 * The agent's own thread: reserves the ledger's space ahead of its use, looks for kernel threads
 * that run no Java thread, and keeps the process's totals in the ledger up to date for the case
 * that it is killed. It merges samples, too. Not a Java thread; takes no signals. Once the JVM has
 * started its looks at other threads take a thousandth of a processor, and more where one look
 * takes over 5 ms; merging takes what there are samples for.
 */
#ifndef TREADLE_HOUSEKEEPING_H
#define TREADLE_HOUSEKEEPING_H

struct agent;

/* 0 or -errno: without it the ledger still grows, in the threads that need it. */
int housekeeping__start(struct agent *agent);

/* Has it run something, so that what that costs is the profiler's and not the caller's, and waits
 * until it is done. Without the thread, the caller runs it. */
void housekeeping__run(struct agent *agent, void (*work)(void *context), void *context);

/* Looks at the VM threads now, and waits for that: the JVM is about to end some of them. */
void housekeeping__look(struct agent *agent);

/* Says once on stderr that the books are no longer whole. With the snapshot lock held. */
void housekeeping__warn_of_losses(struct agent *agent);

/* Asks it to end; does not wait. */
void housekeeping__stop(struct agent *agent);

#endif
