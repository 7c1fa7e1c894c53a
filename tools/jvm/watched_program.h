/*
 * A program that runs in place of this process: signals sent to this process are passed to the
 * program, and this process ends as the program ended.
 */
#ifndef TREADLE_WATCHED_PROGRAM_H
#define TREADLE_WATCHED_PROGRAM_H

/* Calls `start` in a child, which becomes the program, or ends with the exit status that `start`
 * returns. Waits for the end of the child. Returns the status as waitpid gives it, or -1 with
 * errno set if there is no child. */
int watched_program__run(int (*start)(void *context), void *context);

/* Ends this process as the program ended: by the same signal, or returns the program's exit
 * status. */
int watched_program__end(int wait_status);

#endif
