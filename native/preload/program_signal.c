#include "native/preload/program_signal.h"

#include "native/sampling/sample_timer.h"

#include <errno.h>
#include <stddef.h>
#include <ucontext.h>
#include <unistd.h>

static bool is_set_to(const struct sigaction *action, void (*handler)(int))
{
    return !(action->sa_flags & SA_SIGINFO) && action->sa_handler == handler;
}

static struct sigaction *current_action(struct program_signal *signal)
{
    return &signal->actions[atomic_load(&signal->current)];
}

/* Returns the place of the one before. */
static uint32_t put(struct program_signal *signal, const struct sigaction *action)
{
    uint32_t at = atomic_fetch_add(&signal->used, 1) % PROGRAM_SIGNAL_ACTIONS;

    signal->actions[at] = *action;
    return atomic_exchange(&signal->current, at);
}

void program_signal__begin(struct program_signal *signal, int number,
                           const struct sigaction *before)
{
    struct sigaction now;

    if (atomic_load(&signal->number))
        return;
    (void)signal->sigaction(number, NULL, &signal->profilers);
    (void)put(signal, before);
    atomic_store(&signal->number, number);
    /* The program may have set an action after the profiler, and before this was known. */
    if (signal->sigaction(number, NULL, &now) == 0 &&
        now.sa_sigaction != signal->profilers.sa_sigaction) {
        (void)put(signal, &now);
        (void)signal->sigaction(number, &signal->profilers, NULL);
    }
}

/* System calls that the signal interrupts go on, unless the program wants to be told. */
static void take_restart(const struct program_signal *signal, const struct sigaction *action)
{
    bool is_told = !is_set_to(action, SIG_DFL) && !is_set_to(action, SIG_IGN) &&
                   !(action->sa_flags & SA_RESTART);
    struct sigaction profilers = signal->profilers;

    if (is_told)
        profilers.sa_flags &= ~SA_RESTART;
    (void)signal->sigaction(atomic_load(&signal->number), &profilers, NULL);
}

void program_signal__exchange(struct program_signal *signal, const struct sigaction *action,
                              struct sigaction *before)
{
    struct sigaction asked;
    uint32_t old;

    if (!action) {
        if (before)
            *before = *current_action(signal);
        return;
    }
    asked = *action; /* `before` may be the same place */
    old = put(signal, &asked);
    if (before)
        *before = signal->actions[old];
    take_restart(signal, &asked);
}

bool program_signal__is_profilers(const struct program_signal *signal, int number,
                                  const siginfo_t *info)
{
    if (!program_signal__is(signal, number))
        return false;
    return sample_timer__sent(info) ||
           (info->si_code == SI_TKILL && atomic_load(&signal->measured_by) == gettid());
}

/* What is set to its default ends the process; but not the first one of a pid namespace. */
static void do_default(const struct program_signal *signal)
{
    int number = atomic_load(&signal->number);
    struct sigaction action = {.sa_handler = SIG_DFL}, profilers;
    sigset_t only, before;

    (void)signal->sigaction(number, &action, &profilers);
    sigemptyset(&only);
    sigaddset(&only, number);
    (void)tgkill(getpid(), gettid(), number);
    (void)pthread_sigmask(SIG_UNBLOCK, &only, &before);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    (void)signal->sigaction(number, &profilers, NULL);
}

/* The handler's caller had all signals blocked. */
static void block_as_asked(const struct sigaction *action, int number, const ucontext_t *context)
{
    sigset_t mask;

    (void)sigorset(&mask, &context->uc_sigmask, &action->sa_mask);
    if (!(action->sa_flags & SA_NODEFER))
        sigaddset(&mask, number);
    (void)pthread_sigmask(SIG_SETMASK, &mask, NULL);
}

void program_signal__pass_on(struct program_signal *signal, siginfo_t *info, void *context)
{
    static const struct sigaction none = {.sa_handler = SIG_DFL};
    struct sigaction action = *current_action(signal);
    int error = errno;

    if (is_set_to(&action, SIG_DFL)) {
        do_default(signal);
    } else if (!is_set_to(&action, SIG_IGN)) {
        if (action.sa_flags & (int)SA_RESETHAND)
            program_signal__exchange(signal, &none, NULL);
        block_as_asked(&action, info->si_signo, context);
        errno = error;
        if (action.sa_flags & SA_SIGINFO)
            action.sa_sigaction(info->si_signo, info, context);
        else
            action.sa_handler(info->si_signo);
        return; /* with the handler's errno, as without us */
    }
    errno = error;
}

void program_signal__before_exec(const struct program_signal *signal)
{
    int number = atomic_load(&signal->number);
    const struct sigaction *action = &signal->actions[atomic_load(&signal->current)];

    if (number && is_set_to(action, SIG_IGN))
        (void)signal->sigaction(number, action, NULL);
}

void program_signal__after_failed_exec(const struct program_signal *signal)
{
    int error = errno;

    if (atomic_load(&signal->number))
        take_restart(signal, &signal->actions[atomic_load(&signal->current)]);
    errno = error;
}
