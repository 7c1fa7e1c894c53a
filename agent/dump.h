/* Snapshots of this JVM's own ledger: on request, on SIGQUIT and at exit. Not for method events. */
#ifndef TREADLE_DUMP_H
#define TREADLE_DUMP_H

#include <jni.h>

struct agent;

/* Writes a snapshot to `pattern` (see snapshot__path); NULL: to the agent's own pattern. Writes one
 * line to stderr if the snapshot fails. 0 or -errno. */
int dump__now(struct agent *agent, JNIEnv *jni, const char *pattern);

/* Writes the last snapshot, then removes the live ledger. If the snapshot fails, the live ledger
 * stays, and the file of answer= gets the line `unwritten`, if that file is still there. */
void dump__at_exit(struct agent *agent, JNIEnv *jni);

#endif
