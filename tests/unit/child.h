/* What must not hurt the test runs in a process of its own. */
#ifndef TREADLE_TEST_CHILD_H
#define TREADLE_TEST_CHILD_H

#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

/* In the child: it dies with the test, and of its own faults, which cmocka would catch. */
static inline void be_a_child(void)
{
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGSYS};
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++)
        (void)signal(faults[i], SIG_DFL);
}

/* The exit status of what it runs; 128 + the signal if it was killed; -1 if there is no process. */
static inline int run_child(int (*child)(void))
{
    (void)fflush(NULL);
    pid_t pid = fork();
    int status = 0;
    if (pid == 0) {
        be_a_child();
        _exit(child());
    }
    if (pid < 0 || waitpid(pid, &status, 0) != pid)
        return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

#endif
