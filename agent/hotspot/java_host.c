#include "agent/hotspot/java_host.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <unistd.h>

#define HOSTS       16384u
#define HOSTS_TRIED 32u

struct noted_host {
    _Atomic pid_t tid; /* 0: nobody's. Published last */
    _Atomic(const void *) java_thread;
};

/* By tid, in one of HOSTS_TRIED places. Written under the lock. */
static struct noted_host hosts[HOSTS];
static pthread_mutex_t hosts_lock = PTHREAD_MUTEX_INITIALIZER;

static __thread const void *own_java_thread __attribute__((tls_model("initial-exec")));

static struct noted_host *place(pid_t tid, unsigned try)
{
    return &hosts[((unsigned)tid + try) % HOSTS];
}

/* Under the lock: the tid's own place, or a free one; NULL: neither. */
static struct noted_host *find_place(pid_t tid)
{
    struct noted_host *empty = NULL;

    for (unsigned try = 0; try < HOSTS_TRIED; try++) {
        struct noted_host *host = place(tid, try);
        pid_t there = atomic_load(&host->tid);

        if (there == tid)
            return host;
        if (!there && !empty)
            empty = host;
    }
    return empty;
}

void java_host__note(pid_t tid, const void *java_thread)
{
    struct noted_host *host;

    pthread_mutex_lock(&hosts_lock);
    host = find_place(tid);
    if (host) {
        atomic_store(&host->tid, 0);
        atomic_store(&host->java_thread, java_thread);
        atomic_store(&host->tid, java_thread ? tid : 0);
    }
    pthread_mutex_unlock(&hosts_lock);
}

void java_host__set(const void *java_thread)
{
    own_java_thread = java_thread;
    if (!java_thread)
        java_host__note(gettid(), NULL);
}

void java_host__forget_noted(void)
{
    pthread_mutex_lock(&hosts_lock);
    for (unsigned i = 0; i < HOSTS; i++)
        if (atomic_load_explicit(&hosts[i].tid, memory_order_relaxed))
            atomic_store(&hosts[i].tid, 0);
    pthread_mutex_unlock(&hosts_lock);
}

const void *java_host__here(pid_t tid)
{
    if (own_java_thread)
        return own_java_thread;
    for (unsigned try = 0; try < HOSTS_TRIED; try++) {
        struct noted_host *host = place(tid, try);
        const void *java_thread;

        if (atomic_load(&host->tid) != tid)
            continue;
        java_thread = atomic_load(&host->java_thread);
        return atomic_load(&host->tid) == tid ? java_thread : NULL;
    }
    return NULL;
}
