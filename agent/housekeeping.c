#include "agent/housekeeping.h"

#include "agent/agent.h"
#include "native/kernel_metrics.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

/* How long it rests: so many times as long as it worked, within bounds. While a JVM starts it looks
 * more often, for that is when VM threads come and go. */
#define START_NS       200000000u
#define START_COST     4u
#define START_ROUND_NS 1000000u
#define COST           1000u
#define ROUND_NS_MIN   100000000u
#define ROUND_NS_MAX   5000000000u
#define ALL_METRICS_NS 1000000000u
#define AHEAD_BYTES    (1u << 20)
#define AHEAD_PART     16u
#define STACK_BYTES    (256u * 1024u)

static void scan(struct agent *agent)
{
    struct ledger_header *header = agent->ledger.header;
    uint64_t now_ns = ledger_time__now_ns(&agent->setup.time);
    bool all = now_ns - agent->all_metrics_ns > ALL_METRICS_NS;

    if (all)
        agent->all_metrics_ns = now_ns;
    (void)process_scan__run(&agent->scan, now_ns, all ? SCAN_ALL : SCAN_CPU);
    (void)process_cpu__read(getpid(), &header->process_cpu_ns, &header->process_user_ns,
                            &header->process_system_ns);
    header->asof_ns = now_ns;
}

static void work(struct agent *agent)
{
    struct ledger_header *header = agent->ledger.header;
    uint64_t used = (uint64_t)header->chunks_used * LEDGER_CHUNK_BYTES;

    (void)ledger__reserve_ahead(&agent->ledger, AHEAD_BYTES + used / AHEAD_PART);
    /* A snapshot that is being written scans too: no need to wait for it. */
    if (pthread_mutex_trylock(&agent->snapshot_lock) != 0)
        return;
    if (!atomic_load(&agent->over))
        scan(agent);
    pthread_mutex_unlock(&agent->snapshot_lock);
}

/* True when it is time to end. */
static bool rest(struct agent *agent, uint64_t rest_ns)
{
    struct timespec until;
    bool over;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += (time_t)((uint64_t)until.tv_nsec + rest_ns) / 1000000000;
    until.tv_nsec = (long)(((uint64_t)until.tv_nsec + rest_ns) % 1000000000u);
    pthread_mutex_lock(&agent->housekeeping_lock);
    while (!agent->housekeeping_over &&
           pthread_cond_timedwait(&agent->housekeeping_wake, &agent->housekeeping_lock, &until) ==
               0)
        ;
    over = agent->housekeeping_over;
    pthread_mutex_unlock(&agent->housekeeping_lock);
    return over;
}

static uint64_t rest_after(const struct agent *agent, uint64_t work_ns)
{
    bool starting = ledger_time__now_ns(&agent->setup.time) < START_NS;
    uint64_t rest_ns = work_ns * (starting ? START_COST : COST);
    uint64_t least_ns = starting ? START_ROUND_NS : ROUND_NS_MIN;

    if (rest_ns < least_ns)
        return least_ns;
    return rest_ns < ROUND_NS_MAX ? rest_ns : ROUND_NS_MAX;
}

static void *run(void *context)
{
    struct agent *agent = context;
    uint64_t rest_ns = START_ROUND_NS;

    pthread_setname_np(pthread_self(), "treadle");
    while (!rest(agent, rest_ns)) {
        uint64_t before_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);

        work(agent);
        rest_ns = rest_after(agent, clock_ns(CLOCK_THREAD_CPUTIME_ID) - before_ns);
    }
    return NULL;
}

int housekeeping__start(struct agent *agent)
{
    pthread_condattr_t monotonic;
    pthread_attr_t attributes;
    sigset_t all, before;
    pthread_t thread;
    int error;

    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&agent->housekeeping_lock, NULL);
    pthread_cond_init(&agent->housekeeping_wake, &monotonic);
    pthread_condattr_destroy(&monotonic);
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    error = -pthread_create(&thread, &attributes, run, agent);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return error;
}

void housekeeping__stop(struct agent *agent)
{
    pthread_mutex_lock(&agent->housekeeping_lock);
    agent->housekeeping_over = true;
    pthread_cond_signal(&agent->housekeeping_wake);
    pthread_mutex_unlock(&agent->housekeeping_lock);
}
