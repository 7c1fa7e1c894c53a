#include "tools/jvm/watched_program.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* Signals that people send to programs. */
static const int passed_on[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};
#define PASSED_ON (sizeof(passed_on) / sizeof(passed_on[0]))

/* The signals to pass on, less those that are ignored: whoever ignores one for us, as nohup does,
   ignores that signal for the program too. */
static sigset_t wanted_signals(void)
{
    sigset_t wanted;

    sigemptyset(&wanted);
    for (size_t i = 0; i < PASSED_ON; i++) {
        struct sigaction action;

        if (sigaction(passed_on[i], NULL, &action) == 0 && action.sa_handler != SIG_IGN)
            sigaddset(&wanted, passed_on[i]);
    }
    return wanted;
}

/* Waits for the end of the program, with the signals to pass on and SIGCHLD blocked. What comes
   from a terminal the program gets as well, by itself. */
static int wait_for(pid_t program, const sigset_t *awaited)
{
    int status;
    pid_t ended;

    while ((ended = waitpid(program, &status, WNOHANG)) != program) {
        siginfo_t info;

        if (ended < 0 && errno != EINTR)
            return -1;
        if (sigwaitinfo(awaited, &info) > 0 && info.si_signo != SIGCHLD && info.si_code <= 0)
            (void)kill(program, info.si_signo);
    }
    return status;
}

int watched_program__run(int (*start)(void *context), void *context)
{
    sigset_t awaited = wanted_signals(), before;
    void (*of_children)(int) = signal(SIGCHLD, SIG_DFL);

    sigaddset(&awaited, SIGCHLD);
    (void)sigprocmask(SIG_BLOCK, &awaited, &before);
    pid_t program = fork();
    if (program == 0) {
        (void)sigprocmask(SIG_SETMASK, &before, NULL);
        (void)signal(SIGCHLD, of_children);
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        _exit(start(context));
    }
    int status = program < 0 ? -1 : wait_for(program, &awaited);
    (void)sigprocmask(SIG_SETMASK, &before, NULL);
    return status;
}

int watched_program__end(int wait_status)
{
    const struct rlimit no_core = {0, 0};
    int number = WTERMSIG(wait_status);

    if (WIFEXITED(wait_status))
        return WEXITSTATUS(wait_status);
    (void)setrlimit(RLIMIT_CORE, &no_core);
    (void)signal(number, SIG_DFL);
    (void)raise(number);
    return 128 + number;
}
