/*
 * A file beyond the limit of the size of files [setrlimit(2), RLIMIT_FSIZE]: the write fails like
 * any other one, so that there is a line, and what is half written goes away. By default the kernel
 * ends the process instead, by SIGXFSZ.
 */
#ifndef TREADLE_SIZE_SIGNAL_H
#define TREADLE_SIZE_SIGNAL_H

/* To be called once, before anything is written. */
void size_signal__ignore(void);

/* For a process about to become another program, which has its own way with the signal: what it was
 * before size_signal__ignore. */
void size_signal__restore(void);

#endif
