/*
 * The ledger of a running JVM, read from outside without touching the JVM.
 */
#ifndef TREADLE_LIVE_LEDGER_H
#define TREADLE_LIVE_LEDGER_H

#include "native/ledger/ledger_reader.h"

#include <stddef.h>
#include <sys/types.h>

/* Returns the path of the newest ledger of a process, to be freed; files that the process's owner
 * did not make do not count. NULL after a line of live_ledger__refuse. Also finds a ledger in
 * another folder (live-dir=), as long as the process runs and its maps can be read. */
char *live_ledger__find(pid_t pid);

/* Writes a line that says why a process has no ledger that is written now: there is no such
 * process, it is not profiled, it was killed, or its ledger cannot be read. Returns
 * EXIT_BAD_INPUT. */
int live_ledger__refuse(pid_t pid);

/* The same as live_ledger__find without the line. */
char *live_ledger__find_quietly(pid_t pid);

/* Returns the path of the ledger that a running process writes now, to be freed, and the ledger's
 * header; NULL, without a line, if the process has none. */
char *live_ledger__of_running(pid_t pid, struct ledger_header *header);

/* When root reads another user's file, live or a snapshot, the process has that user's rights from
 * then on, before a byte is read; see rights.h. Only a snapshot is written with root's own rights.
 */

/* Reads only the header of any ledger, and whose file it is. 0, or -1 and one line in message. */
int live_ledger__read_header(const char *path, struct ledger_header *header, uid_t *owner,
                             char *message, size_t message_bytes);

/* Reads any ledger. The ledger of a running process is settled first, so that it contains what its
 * threads have consumed up to now. As ledger_reader__open: NULL and one line in message. */
struct ledger_reader *live_ledger__read(const char *path, char *message, size_t message_bytes);

/* The same without settling the ledger. */
struct ledger_reader *live_ledger__read_as_it_is(const char *path, char *message,
                                                 size_t message_bytes);

/* The same for the ledger of a running process, settled; NULL and one line in message for any
 * other ledger. */
struct ledger_reader *live_ledger__read_running(const char *path, char *message,
                                                size_t message_bytes);

/* Writes a snapshot of a live ledger and prints its path; pattern as snapshot__path has it. The
 * result is the exit status. */
int live_ledger__dump(const char *live_path, const char *pattern, pid_t pid);

#endif
