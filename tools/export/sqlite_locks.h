/* The tables of waits for locks, and of holds of locks. */
#ifndef TREADLE_SQLITE_LOCKS_H
#define TREADLE_SQLITE_LOCKS_H

#include "tools/export/sqlite_writer.h"

void sqlite_locks__fill(struct sqlite_writer *writer);

#endif
