/*
 * The child of a fork is profiled in a ledger of its own, which begins with the fork: with the one
 * thread that is left, and without the functions and frames that are open in it. Its parent's
 * ledger is left to the parent.
 *
 * What other threads hold at a fork stays locked in the child for ever. So a fork waits, a bounded
 * time, until the profiler's own thread holds neither the dynamic linker's lock nor one of ours
 * that guards what the child keeps. All other locks are made anew.
 *
 * A fork in a signal handler may have interrupted a hook, which goes on in the child and works on
 * the parent's ledger, that is private memory there. Then the child begins at its thread's next
 * hook.
 *
 * _Fork and raw system calls call no handlers. Their child is found out by a word that the kernel
 * wipes in children, and is not profiled: what locks are held in it nobody knows.
 */
#ifndef TREADLE_FORKS_H
#define TREADLE_FORKS_H

#include <stdbool.h>

struct preload;

/* Once or more, before the first fork of a process with a ledger. */
void forks__prepare(struct preload *preload);

/* Begins in a forked child what waited for the end of a hook. Of the thread that forked, not in a
 * hook. */
void forks__begin_child(struct preload *preload);

/* A hook or a handler of the library's that finds out that the process is such a child. */
void forks__note_unheard(struct preload *preload);

#endif
