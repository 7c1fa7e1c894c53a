#include "native/sampling/sample_timer.h"

#include "native/standard_files.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NS_PER_S 1000000000u

#define FD_PART 4 /* the process's descriptors: at most one in so many is ours */

/* The kernel's own encoding of the CPU clock of a thread: CPUCLOCK_PERTHREAD_MASK, CPUCLOCK_SCHED.
 */
#define CLOCK_OF_THREAD 6u

/* glibc has no name of its own for the target of SIGEV_THREAD_ID. */
#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

/* What the signals of our timers carry: its address. */
static const char timer_mark;

bool sample_timer__sent(const siginfo_t *info)
{
    if (info->si_code == SI_TIMER)
        return info->si_value.sival_ptr == &timer_mark;
    return info->si_code >= POLL_IN && info->si_code <= POLL_HUP;
}

static int open_event(pid_t tid, uint64_t interval_ns, bool with_stacks)
{
    struct perf_event_attr attributes = {
        .type = PERF_TYPE_SOFTWARE,
        .size = sizeof(attributes),
        .config = PERF_COUNT_SW_TASK_CLOCK,
        .sample_period = interval_ns,
        .wakeup_events = 1,
        .disabled = 1,
    };
    long fd;

    if (with_stacks)
        kernel_stacks__ask(&attributes);
    fd = syscall(SYS_perf_event_open, &attributes, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);

    return fd < 0 ? -errno : (int)fd;
}

/* Moves a descriptor to a high number, if there is one: low ones are the host's, which may use
 * select(). */
static int move_up(int fd)
{
    int moved = fcntl(fd, F_DUPFD_CLOEXEC, FD_SETSIZE);

    if (moved < 0)
        return standard_files__avoid(fd);
    close(fd);
    return moved;
}

uint64_t sample_timer__tick_ns(void)
{
    struct timespec tick;

    /* The coarse clocks move by ticks. */
    if (clock_getres(CLOCK_MONOTONIC_COARSE, &tick) != 0)
        return 0;
    return (uint64_t)tick.tv_sec * NS_PER_S + (uint64_t)tick.tv_nsec;
}

enum ledger_sample_clock sample_timer__choose(enum ledger_sample_clock wanted, uint64_t interval_ns,
                                              int *error)
{
    int fd;

    *error = 0;
    if (wanted == LEDGER_SAMPLE_CLOCK_TIMER ||
        (wanted == LEDGER_SAMPLE_CLOCK_NONE &&
         interval_ns >= SAMPLE_TIMER_TICKS_LEAST * sample_timer__tick_ns()))
        return LEDGER_SAMPLE_CLOCK_TIMER;
    fd = open_event(0, interval_ns, false);
    *error = fd < 0 ? -fd : 0;
    if (fd < 0)
        return LEDGER_SAMPLE_CLOCK_TIMER;
    close(fd);
    return LEDGER_SAMPLE_CLOCK_PERF;
}

int sample_timer__check_kernel_stacks(void)
{
    int fd = open_event(0, NS_PER_S, true);

    if (fd < 0)
        return fd;
    close(fd);
    return 0;
}

static bool is_one_too_many(int fd)
{
    struct rlimit limit;

    if (fd >= FD_SETSIZE)
        fd -= FD_SETSIZE;
    return getrlimit(RLIMIT_NOFILE, &limit) == 0 && (rlim_t)fd > limit.rlim_cur / FD_PART;
}

static int start_event(struct sample_timer *timer, pid_t tid, int signal, uint64_t interval_ns)
{
    struct f_owner_ex owner = {.type = F_OWNER_TID, .pid = tid};
    int fd = open_event(tid, interval_ns, true);

    if (fd < 0)
        fd = open_event(tid, interval_ns, false);
    if (fd < 0)
        return fd;
    fd = move_up(fd);
    if (is_one_too_many(fd)) {
        close(fd);
        return -EMFILE;
    }
    timer->stacks = kernel_stacks__new(fd, interval_ns);
    if (fcntl(fd, F_SETFL, O_ASYNC) != 0 || fcntl(fd, F_SETSIG, signal) != 0 ||
        fcntl(fd, F_SETOWN_EX, &owner) != 0 || ioctl(fd, PERF_EVENT_IOC_ENABLE, 0) != 0) {
        int error = -errno;

        kernel_stacks__delete(timer->stacks);
        timer->stacks = NULL;
        close(fd);
        return error;
    }
    timer->fd = fd;
    timer->clock = LEDGER_SAMPLE_CLOCK_PERF;
    return 0;
}

static struct timespec timespec_of(uint64_t ns)
{
    return (struct timespec){.tv_sec = (time_t)(ns / NS_PER_S), .tv_nsec = (long)(ns % NS_PER_S)};
}

/* The first interval, from 1 ns to the whole one. For tids that follow each other it is far apart.
 */
static uint64_t first_ns(pid_t tid, uint64_t interval_ns)
{
    uint64_t hash = (uint64_t)tid * UINT64_C(0x9e3779b97f4a7c15);

    return (uint64_t)((unsigned __int128)hash * interval_ns >> 64) + 1;
}

static int start_posix(struct sample_timer *timer, pid_t tid, int signal, uint64_t interval_ns)
{
    clockid_t clock = (clockid_t)(~(unsigned)tid << 3 | CLOCK_OF_THREAD);
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = signal};
    struct itimerspec when = {.it_value = timespec_of(first_ns(tid, interval_ns)),
                              .it_interval = timespec_of(interval_ns)};

    event.sigev_value.sival_ptr = (void *)(uintptr_t)&timer_mark;
    event.sigev_notify_thread_id = tid;
    if (timer_create(clock, &event, &timer->id) != 0)
        return -errno;
    if (timer_settime(timer->id, 0, &when, NULL) != 0) {
        int error = -errno;

        timer_delete(timer->id);
        return error;
    }
    timer->clock = LEDGER_SAMPLE_CLOCK_TIMER;
    return 0;
}

int sample_timer__start(struct sample_timer *timer, enum ledger_sample_clock clock, pid_t tid,
                        int signal, uint64_t interval_ns)
{
    memset(timer, 0, sizeof(*timer));
    if (clock == LEDGER_SAMPLE_CLOCK_PERF && start_event(timer, tid, signal, interval_ns) == 0)
        return 0;
    return start_posix(timer, tid, signal, interval_ns);
}

void sample_timer__stop(struct sample_timer *timer)
{
    if (timer->clock == LEDGER_SAMPLE_CLOCK_PERF) {
        /* A forked child may still have the event open. */
        (void)ioctl(timer->fd, PERF_EVENT_IOC_DISABLE, 0);
        kernel_stacks__delete(timer->stacks);
        timer->stacks = NULL;
        close(timer->fd);
    } else if (timer->clock == LEDGER_SAMPLE_CLOCK_TIMER) {
        timer_delete(timer->id);
    }
    timer->clock = LEDGER_SAMPLE_CLOCK_NONE;
}

bool sample_timer__is_over(const struct sample_timer *timer)
{
    struct f_owner_ex owner = {0};
    struct itimerspec left;

    if (timer->clock == LEDGER_SAMPLE_CLOCK_PERF)
        /* Linux before 5.12 names the owner even if it has ended: the timer is then over when the
         * tid is. POLLHUP would not tell: an event without a ring buffer always has it. */
        return fcntl(timer->fd, F_GETOWN_EX, &owner) != 0 || owner.pid == 0;
    if (timer->clock == LEDGER_SAMPLE_CLOCK_TIMER)
        return timer_gettime(timer->id, &left) != 0 ||
               (left.it_value.tv_sec == 0 && left.it_value.tv_nsec == 0);
    return true;
}
