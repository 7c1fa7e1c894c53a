#include "tools/output/size_signal.h"

#include <signal.h>

static void (*before)(int) = SIG_DFL;

void size_signal__ignore(void)
{
    before = signal(SIGXFSZ, SIG_IGN);
}

void size_signal__restore(void)
{
    (void)signal(SIGXFSZ, before == SIG_ERR ? SIG_DFL : before);
}
