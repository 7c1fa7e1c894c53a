/*
 * The ledger of a running JVM, looked at from outside without touching the JVM.
 */
#ifndef TREADLE_LIVE_LEDGER_H
#define TREADLE_LIVE_LEDGER_H

#include "native/ledger_reader.h"

#include <stddef.h>
#include <sys/types.h>

/* The path of the newest ledger of a process that its owner made, to be freed; NULL after a line
 * that says where it was looked for. Also finds one that lies elsewhere (live-dir=), as long as the
 * process runs and its maps can be read. */
char *live_ledger__find(pid_t pid);

/* Reads any ledger; one whose process runs is settled first, so that it has what its threads have
 * consumed up to now. Like ledger_reader__open: NULL and one line in message. */
struct ledger_reader *live_ledger__read(const char *path, char *message, size_t message_bytes);

#endif
