/*
 * Wrappers of the natives of the JDK in which kernel threads wait for files, pipes, sockets and
 * processes (agent/threads/io_natives.h): the begin of the wait, the native, its end. Of natives
 * that take a time limit, calls that are not to wait at all are passed on as they are.
 */
#ifndef TREADLE_IO_WRAPPERS_H
#define TREADLE_IO_WRAPPERS_H

#include "agent/threads/io_natives.h"

extern const struct io_native_table io_wrappers__table;

#endif
