#include "native/sampling/sample_handler.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>

/* True if nobody else has it. */
static bool is_free(int number)
{
    struct sigaction action;

    return sigaction(number, NULL, &action) == 0 && !(action.sa_flags & SA_SIGINFO) &&
           (action.sa_handler == SIG_DFL || action.sa_handler == SIG_IGN);
}

/* No real-time signals: those queue up where a thread blocks them, until nobody of this user can
 * send one; and the kernel then sends SIGIO for a perf event's, which ends the process. */
static int choose(void)
{
    static const int candidates[] = {SIGPROF, SIGVTALRM, SIGSTKFLT};

    for (size_t i = 0; i < sizeof(candidates) / sizeof(*candidates); i++)
        if (is_free(candidates[i]))
            return candidates[i];
    return 0;
}

/* No other handler may run within a guarded stretch: its faults would be taken for ours. */
static void block_others(sigset_t *mask)
{
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS};

    sigfillset(mask);
    for (size_t i = 0; i < sizeof(faults) / sizeof(*faults); i++)
        sigdelset(mask, faults[i]);
}

int sample_handler__install(int *number, sample_handler handler, struct sigaction *before)
{
    struct sigaction action = {.sa_sigaction = handler,
                               .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK};
    int chosen;

    if (*number)
        return 0;
    chosen = choose();
    if (!chosen)
        return -EBUSY;
    block_others(&action.sa_mask);
    if (sigaction(chosen, &action, before) != 0)
        return -errno;
    *number = chosen;
    return 0;
}
