/* Snapshots of this JVM's own ledger: on request, on SIGQUIT and at exit. Not for method events. */
#ifndef TREADLE_DUMP_H
#define TREADLE_DUMP_H

#include <jni.h>

struct agent;

/* Writes a snapshot to `pattern` (see snapshot__path), or to the agent's own with NULL. One line on
 * stderr if it cannot. 0 or -errno. */
int dump__now(struct agent *agent, JNIEnv *jni, const char *pattern);

/* The last snapshot; then the live ledger goes, unless that snapshot could not be written. */
void dump__at_exit(struct agent *agent, JNIEnv *jni);

#endif
