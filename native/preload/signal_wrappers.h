/*
 * The wrappers of what sets the actions of signals, or waits for signals.
 */
#ifndef TREADLE_SIGNAL_WRAPPERS_H
#define TREADLE_SIGNAL_WRAPPERS_H

#include <signal.h>

/* The function that the program would call without this library. */
__typeof__(&sigaction) signal_wrappers__sigaction(void);

#endif
