/*
 * A program that is run as if it were us: signals that we are sent go to it, we stand in no one's
 * way, and when it ends we know how.
 */
#ifndef TREADLE_WATCHED_PROGRAM_H
#define TREADLE_WATCHED_PROGRAM_H

/* Runs it in a child, which `start` turns into the program, or else returns the exit status of.
 * Waits for its end. The status as waitpid gives it, or -1 with errno set if there is no child. */
int watched_program__run(int (*start)(void *context), void *context);

/* Ends as it did: by the same signal, or returns its exit status. */
int watched_program__end(int wait_status);

#endif
