/*
 * A process to attach to: whether it is a JVM, which user runs it, and what its /proc says.
 */
#ifndef TREADLE_JVM_PROCESS_H
#define TREADLE_JVM_PROCESS_H

#include "tools/jvm/process_status.h"

#include <stdbool.h>
#include <sys/types.h>

struct jvm_process {
    pid_t pid;
    struct process_status status; /* when the process was opened */
    int pidfd; /* names the process even after its pid was reused; -1: the kernel has no pidfds */
    char *library; /* libjvm.so, as the process sees it */
    char *agent;   /* the libtreadle.so that it has loaded, or NULL */
};

/* 0, or EXIT_BAD_INPUT after a line that says why the process cannot be attached to: it is no JVM,
 * it is another user's, or it is gone. */
int jvm_process__open(struct jvm_process *process, pid_t pid);
void jvm_process__close(struct jvm_process *process);

/* True if the process has ended since it was opened. */
bool jvm_process__is_gone(const struct jvm_process *process);

enum jvm_flag {
    JVM_FLAG_NOT_GIVEN,
    JVM_FLAG_ON,  /* -XX:+NAME */
    JVM_FLAG_OFF, /* -XX:-NAME */
};

/* Returns a flag's value on the command line; files of arguments (@FILE) are not read. */
enum jvm_flag jvm_process__flag(const struct jvm_process *process, const char *name);

/* 17, 21, 25, …, or 0 if the version is not known. */
unsigned jvm_process__version(const struct jvm_process *process);

/* True if the process sees the same file at that absolute path as this process; with `any`, if it
 * sees any file there. */
bool jvm_process__sees(const struct jvm_process *process, const char *path, bool any);

#endif
