/*
 * A process that is to be attached to: that it is a JVM, whose it is, and what its /proc tells.
 */
#ifndef TREADLE_JVM_PROCESS_H
#define TREADLE_JVM_PROCESS_H

#include "tools/jvm/process_status.h"

#include <stdbool.h>
#include <sys/types.h>

struct jvm_process {
    pid_t pid;
    struct process_status status; /* as it was when it was opened */
    int pidfd;     /* names the process even when its pid is another's; -1: the kernel has none */
    char *library; /* libjvm.so, as the process sees it */
    char *agent;   /* the libtreadle.so that it has loaded, or NULL */
};

/* 0, or EXIT_BAD_INPUT after a line that says why it cannot be attached to: it is no JVM, another
 * user's, gone. */
int jvm_process__open(struct jvm_process *process, pid_t pid);
void jvm_process__close(struct jvm_process *process);

/* Whether the process has ended since. */
bool jvm_process__is_gone(const struct jvm_process *process);

enum jvm_flag {
    JVM_FLAG_NOT_GIVEN,
    JVM_FLAG_ON,  /* -XX:+NAME */
    JVM_FLAG_OFF, /* -XX:-NAME */
};

/* A flag as the command line has it; files of arguments (@FILE) are not looked into. */
enum jvm_flag jvm_process__flag(const struct jvm_process *process, const char *name);

/* 17, 21, 25, …, or 0 if it cannot be told. */
unsigned jvm_process__version(const struct jvm_process *process);

/* Whether the process sees, at that absolute path, the same file as we do; or, if `any` is set, any
 * file at all. */
bool jvm_process__sees(const struct jvm_process *process, const char *path, bool any);

#endif
