#include "agent/dump.h"

#include "agent/agent.h"
#include "agent/log.h"
#include "agent/thread_events.h"
#include "native/snapshot.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* Under the lock. */
static int write_snapshot(struct agent *agent, const char *pattern, char *path, size_t path_bytes)
{
    struct ledger_header *header = agent->ledger.header;
    int error = snapshot__path(path, path_bytes, pattern ? pattern : agent->snapshot_pattern,
                               (int)getpid(), header->snapshots + 1);

    if (error)
        return error;
    (void)process_scan__run(&agent->scan, ledger_time__now_ns(&agent->setup.time), SCAN_CPU);
    header->snapshots++;
    return snapshot__write(agent->ledger.fd, path);
}

int dump__now(struct agent *agent, JNIEnv *jni, const char *pattern)
{
    char path[PATH_MAX] = "";
    int error;

    thread_events__record_names(agent, jni);
    pthread_mutex_lock(&agent->snapshot_lock);
    error = write_snapshot(agent, pattern, path, sizeof path);
    pthread_mutex_unlock(&agent->snapshot_lock);
    if (error)
        log__line(LOG_ERROR, "cannot write the snapshot %s: %s", path, strerror(-error));
    else
        log__line(LOG_INFO, "snapshot %s", path);
    return error;
}

void dump__at_exit(struct agent *agent, JNIEnv *jni)
{
    char path[PATH_MAX] = "";
    int error;

    thread_events__record_names(agent, jni);
    pthread_mutex_lock(&agent->snapshot_lock);
    error = write_snapshot(agent, NULL, path, sizeof path);
    atomic_store(&agent->active, false);
    atomic_store(&agent->over, true);
    pthread_mutex_unlock(&agent->snapshot_lock);
    if (error) {
        log__line(LOG_ERROR,
                  "cannot write the snapshot %s: %s; the live ledger stays: treadle report %s",
                  path, strerror(-error), agent->ledger.path);
        return;
    }
    ledger__unlink(&agent->ledger);
    log__line(LOG_INFO, "snapshot %s", path);
}
