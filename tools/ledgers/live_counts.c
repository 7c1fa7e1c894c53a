#include "tools/ledgers/live_counts.h"

#include "native/ledger/ledger_header.h"
#include "native/snapshot/snapshot.h"

#include <stdbool.h>
#include <stddef.h>
#include <unistd.h>

#define STEP_US 10000u
#define STEPS   300u

static bool read_time(int fd, size_t offset, uint64_t *time_ns)
{
    return pread(fd, time_ns, sizeof(*time_ns), (off_t)offset) == (ssize_t)sizeof(*time_ns);
}

/* Waits for a look that begins from now on. False: there was none, or it is not known. */
static bool await_look(int fd)
{
    uint64_t begun_ns, done_ns;

    if (!read_time(fd, offsetof(struct ledger_header, counts_begun_ns), &begun_ns))
        return false;
    for (unsigned i = 0; begun_ns && i < STEPS; i++) {
        if (!read_time(fd, offsetof(struct ledger_header, counts_at_ns), &done_ns))
            return false;
        if (done_ns > begun_ns)
            return true;
        usleep(STEP_US);
    }
    return false;
}

int live_counts__copy(int source_fd, int target_fd)
{
    bool has_all = await_look(source_fd);
    int error = snapshot__copy(source_fd, target_fd);

    return error || !has_all ? error : snapshot__mark_counts(target_fd);
}
