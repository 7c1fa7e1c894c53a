/*
 * HotSpot's attach protocol, as jcmd and jstack speak it (jdk.attach's VirtualMachineImpl,
 * HotSpot's attachListener_posix.cpp): a socket in the JVM's /tmp, which the JVM makes when it gets
 * a SIGQUIT and finds a trigger file. SIGQUIT kills a process that does not catch it, so that is
 * looked at first. Everything has its time limit.
 *
 * A JVM answers its own user and group only, and root: while it talks, root takes their ids, and
 * has no supplementary groups.
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
    gid_t *own_groups; /* root's supplementary groups, which it does not have while it talks */
    int own_group_count;
};

/* Takes the JVM's ids. 0, or EXIT_BAD_INPUT after a line that says why not. */
int jvm_attach__begin(struct jvm_conversation *conversation, const struct jvm_process *process);

/* Connects, waking the JVM's listener if there is none. Ditto. */
int jvm_attach__connect(struct jvm_conversation *conversation);

/* Has the JVM load a library, by its path in the JVM's eyes, and call its Agent_OnAttach. Waits
 * until that is done. What the JVM answers goes to reply: "return code: 0" and the like. Ditto. */
int jvm_attach__load(struct jvm_conversation *conversation, const char *library,
                     const char *options, char *reply, size_t reply_bytes);

/* Closes it, and takes the own ids back. */
void jvm_attach__end(struct jvm_conversation *conversation);

#endif
