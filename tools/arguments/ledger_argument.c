#include "tools/arguments/ledger_argument.h"

#include "tools/command.h"
#include "tools/ledgers/live_folders.h"
#include "tools/ledgers/live_ledger.h"
#include "tools/ledgers/run_process.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

bool ledger_argument__is_pid(const char *given)
{
    return given[0] && strspn(given, "0123456789") == strlen(given);
}

bool ledger_argument__pid(const char *given, pid_t *pid)
{
    unsigned long number = strtoul(given, NULL, 10);

    if (number == 0 || number >= INT32_MAX) {
        command__fail("there is no process %s", given);
        return false;
    }
    *pid = (pid_t)number;
    return run_process__follow(pid);
}

static char *find_newest_snapshot(void)
{
    struct found_ledgers found = {0};

    live_folders__find_snapshots(&found);
    char *path = found.count ? strdup(found.items[found.count - 1].path) : NULL;
    found_ledgers__release(&found);
    return path;
}

char *ledger_argument__path(const char *given)
{
    if (!given) {
        char *path = find_newest_snapshot();

        if (!path)
            command__fail("no *.ledger in the working folder; name a FILE or a PID, or see "
                          "`treadle list`");
        return path;
    }
    if (ledger_argument__is_pid(given)) {
        pid_t pid;

        return ledger_argument__pid(given, &pid) ? live_ledger__find(pid) : NULL;
    }
    return strdup(given);
}
