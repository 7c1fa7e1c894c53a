/*
 * HotSpot's attach protocol, as jcmd and jstack speak it (jdk.attach's VirtualMachineImpl,
 * HotSpot's attachListener_posix.cpp): a socket in the JVM's /tmp, which the JVM makes when it gets
 * a SIGQUIT and finds a trigger file. SIGQUIT kills a process that does not catch it, so
 * whether the process catches it is checked first. Every step has a time limit.
 *
 * A JVM answers only its own user and group, and root. If this process is root, it takes the JVM's
 * ids during the conversation, and has no supplementary groups.
 */
#ifndef TREADLE_JVM_ATTACH_H
#define TREADLE_JVM_ATTACH_H

#include "tools/jvm/jvm_process.h"

#include <stddef.h>

struct jvm_conversation {
    const struct jvm_process *process;
    int temporary_fd; /* the JVM's /tmp */
    int socket_fd;    /* -1 until it is connected */
    uid_t own_uid;
    gid_t own_gid;
    gid_t *own_groups; /* root's supplementary groups, given up until jvm_attach__end */
    int own_group_count;
};

/* Takes the JVM's ids. 0, or EXIT_BAD_INPUT after a line that says why not. */
int jvm_attach__begin(struct jvm_conversation *conversation, const struct jvm_process *process);

/* Connects; makes the JVM listen first if it does not yet. Result as above. */
int jvm_attach__connect(struct jvm_conversation *conversation);

/* Makes the JVM load a library, whose path is as the JVM sees it, and call the library's
 * Agent_OnAttach. Waits until that is done. Connects and asks once more if the JVM closes the
 * connection unread. `reply` becomes the JVM's answer: "return code: 0" and
 * the like. Result as above. */
int jvm_attach__load(struct jvm_conversation *conversation, const char *library,
                     const char *options, char *reply, size_t reply_bytes);

/* Closes the connection, and takes this process's own ids back. */
void jvm_attach__end(struct jvm_conversation *conversation);

#endif
