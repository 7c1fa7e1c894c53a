#include "native/fault_guard.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

__thread struct fault_guard *fault_guard_current;

static const int signals[] = {SIGSEGV, SIGBUS};

#define SIGNALS (sizeof(signals) / sizeof(*signals))

/* The host's handlers. */
static struct sigaction before[SIGNALS];
static bool installed;

/* True if an instruction failed; false if the signal was sent. */
static bool is_fault(const siginfo_t *info)
{
    return info->si_code > 0;
}

/* Has the default action taken after the handler returns: for a fault when the instruction that
 * failed is tried again, for a signal that was sent when the raised one arrives. */
static void pass_to_default(int signal, const siginfo_t *info)
{
    struct sigaction default_action = {.sa_handler = SIG_DFL};

    (void)sigaction(signal, &default_action, NULL);
    if (!is_fault(info))
        (void)raise(signal);
}

/* Calls the host's handler as the kernel would have: mask, stack and SA_NODEFER are the host's
 * already. */
static void pass_on(struct sigaction *action, int signal, siginfo_t *info, void *context)
{
    struct sigaction host = *action;

    if (host.sa_flags & (int)SA_RESETHAND)
        *action = (struct sigaction){.sa_handler = SIG_DFL};
    if (host.sa_flags & SA_SIGINFO)
        host.sa_sigaction(signal, info, context);
    else if (host.sa_handler == SIG_DFL || (host.sa_handler == SIG_IGN && is_fault(info)))
        pass_to_default(signal, info);
    else if (host.sa_handler != SIG_IGN)
        host.sa_handler(signal);
}

static void on_fault(int signal, siginfo_t *info, void *context)
{
    struct fault_guard *guard = fault_guard_current;

    if (guard && is_fault(info))
        siglongjmp(guard->point, 1);
    for (size_t i = 0; i < SIGNALS; i++)
        if (signals[i] == signal)
            pass_on(&before[i], signal, info, context);
}

int fault_guard__install(void)
{
    bool was_installed = installed;

    for (size_t i = 0; i < SIGNALS; i++) {
        struct sigaction action;

        if (sigaction(signals[i], NULL, &action) != 0)
            return -errno;
        if (action.sa_flags & SA_SIGINFO && action.sa_sigaction == on_fault)
            continue;
        /* A handler that was installed before ours since then passes on to ours, as a rule, so ours
         * must not pass on to that handler. */
        if (was_installed)
            return -EBUSY;
        before[i] = action;
        /* Mask, stack and restarting stay as the host wants them. But ours must not be removed at
         * its first call. */
        action.sa_flags = (action.sa_flags | SA_SIGINFO) & ~(int)SA_RESETHAND;
        action.sa_sigaction = on_fault;
        if (sigaction(signals[i], &action, NULL) != 0)
            return -errno;
        installed = true;
    }
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
