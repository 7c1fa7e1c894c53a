#include "agent/hotspot/java_hosts.h"

#include <stddef.h>
#include <unistd.h>

#define HOSTS_TRIED 32u

static __thread const void *own_java_thread __attribute__((tls_model("initial-exec")));

static struct noted_host *place(struct java_hosts *hosts, pid_t tid, unsigned try)
{
    return &hosts->of[((unsigned)tid + try) % JAVA_HOSTS];
}

void java_hosts__init(struct java_hosts *hosts)
{
    pthread_mutex_init(&hosts->lock, NULL);
}

/* Under the lock: the tid's own place, or a free one; NULL: neither. */
static struct noted_host *find_place(struct java_hosts *hosts, pid_t tid)
{
    struct noted_host *empty = NULL;

    for (unsigned try = 0; try < HOSTS_TRIED; try++) {
        struct noted_host *host = place(hosts, tid, try);
        pid_t there = atomic_load(&host->tid);

        if (there == tid)
            return host;
        if (!there && !empty)
            empty = host;
    }
    return empty;
}

void java_hosts__note(struct java_hosts *hosts, pid_t tid, const void *java_thread)
{
    struct noted_host *host;

    pthread_mutex_lock(&hosts->lock);
    host = find_place(hosts, tid);
    if (host) {
        atomic_store(&host->tid, 0);
        atomic_store(&host->java_thread, java_thread);
        atomic_store(&host->tid, java_thread ? tid : 0);
    }
    pthread_mutex_unlock(&hosts->lock);
}

void java_hosts__set(struct java_hosts *hosts, const void *java_thread)
{
    own_java_thread = java_thread;
    if (!java_thread)
        java_hosts__note(hosts, gettid(), NULL);
}

void java_hosts__forget_noted(struct java_hosts *hosts)
{
    pthread_mutex_lock(&hosts->lock);
    for (unsigned i = 0; i < JAVA_HOSTS; i++)
        if (atomic_load_explicit(&hosts->of[i].tid, memory_order_relaxed))
            atomic_store(&hosts->of[i].tid, 0);
    pthread_mutex_unlock(&hosts->lock);
}

const void *java_hosts__here(struct java_hosts *hosts, pid_t tid)
{
    if (own_java_thread)
        return own_java_thread;
    for (unsigned try = 0; try < HOSTS_TRIED; try++) {
        struct noted_host *host = place(hosts, tid, try);
        const void *java_thread;

        if (atomic_load(&host->tid) != tid)
            continue;
        java_thread = atomic_load(&host->java_thread);
        return atomic_load(&host->tid) == tid ? java_thread : NULL;
    }
    return NULL;
}
