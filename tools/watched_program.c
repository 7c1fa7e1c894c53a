#include "tools/watched_program.h"

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

static volatile pid_t program;

/* What comes from a terminal the program gets as well, by itself. */
static void pass_on(int number, siginfo_t *info, void *context)
{
    int saved = errno;
    (void)context;
    if (info->si_code <= 0 && program > 0)
        (void)kill(program, number);
    errno = saved;
}

static void catch_signals(void)
{
    struct sigaction action = {.sa_sigaction = pass_on, .sa_flags = SA_SIGINFO | SA_RESTART};
    for (size_t i = 0; i < PASSED_ON; i++) {
        struct sigaction before;
        /* Whoever ignores one for us, as nohup does, ignores it for the program. */
        if (sigaction(passed_on[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
            (void)sigaction(passed_on[i], &action, NULL);
    }
}

int watched_program__run(int (*start)(void *context), void *context)
{
    sigset_t wanted, before;
    int status;
    sigemptyset(&wanted);
    for (size_t i = 0; i < PASSED_ON; i++)
        sigaddset(&wanted, passed_on[i]);
    (void)sigprocmask(SIG_BLOCK, &wanted, &before);
    program = fork();
    if (program == 0) {
        (void)sigprocmask(SIG_SETMASK, &before, NULL);
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        _exit(start(context));
    }
    if (program > 0)
        catch_signals();
    (void)sigprocmask(SIG_SETMASK, &before, NULL);
    if (program < 0)
        return -1;
    while (waitpid(program, &status, 0) < 0)
        if (errno != EINTR)
            return -1;
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
