/*
 * Gives the whole terminal to curses, and restores it: at the end, on a signal, on exit() from
 * anywhere, and in a crash.
 */
#ifndef TREADLE_TERMINAL_GUARD_H
#define TREADLE_TERMINAL_GUARD_H

/* Takes the terminal of standard input and output. 0, or -1: curses does not know it. */
int terminal_guard__take(void);

/* The signal that asks to end (SIGINT, SIGTERM, SIGHUP, SIGQUIT), or 0. */
int terminal_guard__signal(void);

/* Waits for a key, for a signal, or for that time. Signals that ask to end are delivered only here.
 * 0: the terminal is gone. */
int terminal_guard__wait(long milliseconds);

/* Gives it back, and lets signals end the process again. */
void terminal_guard__give_back(void);

#endif
