/*
 * The ledger of a running JVM, looked at from outside without touching the JVM.
 */
#ifndef TREADLE_LIVE_LEDGER_H
#define TREADLE_LIVE_LEDGER_H

#include "native/ledger/ledger_reader.h"

#include <stddef.h>
#include <sys/types.h>

/* The path of the newest ledger of a process that its owner made, to be freed; NULL after a line
 * that says where it was looked for. Also finds one that lies elsewhere (live-dir=), as long as the
 * process runs and its maps can be read. */
char *live_ledger__find(pid_t pid);

/* The same without the line. */
char *live_ledger__find_quietly(pid_t pid);

/* The path of the ledger that a running process writes now, to be freed, and its header as it
 * stands; NULL, without a line, if it has none. */
char *live_ledger__of_running(pid_t pid, struct ledger_header *header);

/* Root that reads what a JVM of another user writes has that user's rights from then on; see
 * rights.h. Only a snapshot is written with root's own. */

/* Reads any ledger; one whose process runs is settled first, so that it has what its threads have
 * consumed up to now. Like ledger_reader__open: NULL and one line in message. */
struct ledger_reader *live_ledger__read(const char *path, char *message, size_t message_bytes);

/* The same, of any, not settled. */
struct ledger_reader *live_ledger__read_as_it_is(const char *path, char *message,
                                                 size_t message_bytes);

/* The same of one whose process runs, settled; NULL and one line in message for any other. */
struct ledger_reader *live_ledger__read_running(const char *path, char *message,
                                                size_t message_bytes);

/* Writes a snapshot of a live ledger and prints its path; pattern as snapshot__path has it. The
 * result is the exit status. */
int live_ledger__dump(const char *live_path, const char *pattern, pid_t pid);

#endif
