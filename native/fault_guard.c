#include "native/fault_guard.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

__thread struct fault_guard *fault_guard_current;

static const int signals[] = {SIGSEGV, SIGBUS};

#define SIGNALS (sizeof signals / sizeof *signals)

/* The host's. */
static struct sigaction before[SIGNALS];
static bool installed;

/* As the kernel would have: with its default action, whose effect comes when the instruction that
 * failed is tried again. */
static void pass_on(const struct sigaction *action, int signal, siginfo_t *info, void *context)
{
    struct sigaction default_action = {.sa_handler = SIG_DFL};

    if (action->sa_flags & SA_SIGINFO)
        action->sa_sigaction(signal, info, context);
    else if (action->sa_handler != SIG_DFL && action->sa_handler != SIG_IGN)
        action->sa_handler(signal);
    else
        (void)sigaction(signal, &default_action, NULL);
}

static void on_fault(int signal, siginfo_t *info, void *context)
{
    struct fault_guard *guard = fault_guard_current;

    if (guard)
        siglongjmp(guard->point, 1);
    for (size_t i = 0; i < SIGNALS; i++)
        if (signals[i] == signal)
            pass_on(&before[i], signal, info, context);
}

int fault_guard__install(void)
{
    for (size_t i = 0; i < SIGNALS; i++) {
        struct sigaction action;

        if (sigaction(signals[i], NULL, &action) != 0)
            return -errno;
        if (action.sa_flags & SA_SIGINFO && action.sa_sigaction == on_fault)
            continue;
        before[i] = action;
        /* Mask, stack and restarting as the host wants them. */
        action.sa_flags |= SA_SIGINFO;
        action.sa_sigaction = on_fault;
        if (sigaction(signals[i], &action, NULL) != 0)
            return -errno;
    }
    installed = true;
    return 0;
}

void fault_guard__remove(void)
{
    if (!installed)
        return;
    for (size_t i = 0; i < SIGNALS; i++) {
        struct sigaction action;

        if (sigaction(signals[i], NULL, &action) == 0 && action.sa_flags & SA_SIGINFO &&
            action.sa_sigaction == on_fault)
            (void)sigaction(signals[i], &before[i], NULL);
    }
    installed = false;
}
