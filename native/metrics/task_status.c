#include "native/metrics/task_status.h"

#include "native/metrics/kernel_metrics.h"
#include "native/metrics/task_lines.h"
#include "native/proc/process_stat.h"
#include "native/proc/task_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define BIT(metric)   (UINT64_C(1) << (metric))
#define NS_PER_SECOND UINT64_C(1000000000)
#define PATH_BYTES    64
#define SWITCHES      (BIT(METRIC_VOLUNTARY_SWITCHES) | BIT(METRIC_INVOLUNTARY_SWITCHES))
#define STATUS_CHUNKS 512 /* a process may be in 65536 groups, and status lists them */

/* The kernel's encoding of "CPU clock of this process" and "of this thread"; see
 * clock_getcpuclockid of glibc. The first works for any process, the second for threads of the
 * calling one. */
static clockid_t process_clock(pid_t pid)
{
    return (clockid_t)((~(unsigned)pid << 3) | 2u);
}

static clockid_t thread_clock(pid_t tid)
{
    return (clockid_t)((~(unsigned)tid << 3) | 6u);
}

/* The kernel says EINVAL for a clock whose process or thread is gone. */
static int read_clock(clockid_t clock, uint64_t *ns)
{
    struct timespec now;

    if (clock_gettime(clock, &now) != 0)
        return errno == EINVAL ? -ESRCH : -errno;
    *ns = (uint64_t)now.tv_sec * NS_PER_SECOND + (uint64_t)now.tv_nsec;
    return 0;
}

/* Divided first: the product would overflow after a few years of CPU time. */
static uint64_t ticks_ns(uint64_t ticks)
{
    long configured = sysconf(_SC_CLK_TCK);
    uint64_t per_second = configured > 0 ? (uint64_t)configured : 100;

    return ticks / per_second * NS_PER_SECOND + ticks % per_second * NS_PER_SECOND / per_second;
}

static uint64_t timeval_ns(struct timeval time)
{
    return (uint64_t)time.tv_sec * NS_PER_SECOND + (uint64_t)time.tv_usec * 1000;
}

static int open_task_of(pid_t pid, pid_t tid)
{
    char path[PATH_BYTES];
    int length = snprintf(path, sizeof(path), "/proc/%d/task/%d", (int)pid, (int)tid);

    if (length < 0 || (size_t)length >= sizeof(path))
        return -EINVAL;
    int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

/* Threads of the calling process are looked up below their own numbers, which the kernel knows
 * beside the processes' though it lists them nowhere. What is open or was read below /proc/PID/task
 * is in the kernel's cache below the entry of the process. When the process exits, its threads and
 * its parent take that apart at the same time and wait for each other: 5 to 8 ms with 24 threads on
 * two processors (Linux 6.18). Whether the number is that of one of our threads, the thread's clock
 * says afterwards. */
static int open_task(pid_t pid, pid_t tid)
{
    int fd;

    if (pid <= 0 || tid <= 0)
        return -EINVAL;
    if (pid != getpid())
        return open_task_of(pid, tid);
    fd = open_task_of(tid, tid);
    return fd < 0 ? open_task_of(pid, tid) : fd;
}

static int load_stat(int folder_fd, const char *path, struct task_stat *stat, uint64_t *bytes)
{
    char text[TASK_FILE_BYTES];
    int length = task_file__load(folder_fd, path, text);

    if (length < 0)
        return length;
    *bytes += (uint64_t)length;
    return task_stat__parse(text, stat);
}

static void put(struct task_status *status, uint64_t bits, enum ledger_metric metric,
                uint64_t reading)
{
    if (!(bits & BIT(metric)))
        return;
    status->value[metric] = reading;
    status->bits |= BIT(metric);
}

static int read_stat(struct task_status *status, int task_fd, uint64_t bits)
{
    struct task_stat stat;
    int error = load_stat(task_fd, "stat", &stat, &status->own_read_bytes);

    if (error != 0)
        return error;
    memcpy(status->name, stat.name, sizeof(status->name));
    status->start_ticks = stat.start_ticks;
    status->cpu_ns = ticks_ns(stat.user_ticks + stat.system_ticks);
    put(status, bits, METRIC_USER, ticks_ns(stat.user_ticks));
    put(status, bits, METRIC_SYSTEM, ticks_ns(stat.system_ticks));
    put(status, bits, METRIC_MINOR_FAULTS, stat.minor_faults);
    put(status, bits, METRIC_MAJOR_FAULTS, stat.major_faults);
    return 0;
}

static int read_schedstat(struct task_status *status, int task_fd, uint64_t bits)
{
    char text[TASK_FILE_BYTES];
    struct task_schedstat schedstat;
    int length = task_file__load(task_fd, "schedstat", text);
    int error = length < 0 ? length : task_schedstat__parse(text, &schedstat);

    if (error != 0)
        return error;
    status->own_read_bytes += (uint64_t)length;
    status->cpu_ns = schedstat.run_ns;
    put(status, bits, METRIC_RUN_QUEUE_DELAY, schedstat.run_queue_delay_ns);
    put(status, bits, METRIC_TIMESLICES, schedstat.timeslices);
    return 0;
}

/* Read last, so that a thread that looks at itself finds all its other reads counted here. */
static int read_io(struct task_status *status, int task_fd, bool itself, uint64_t bits)
{
    char text[TASK_FILE_BYTES];
    int length = task_file__load(task_fd, "io", text);

    if (length < 0)
        return length;
    status->bits |= task_lines__parse(text, bits, status->value);
    if (itself && status->value[METRIC_READ_BYTES] >= status->own_read_bytes)
        status->value[METRIC_READ_BYTES] -= status->own_read_bytes;
    status->own_read_bytes += (uint64_t)length;
    return 0;
}

/* The switches stand at the end of the file, behind lists of any length. All reads go on in the
 * text that the kernel made at the first one. A line that fills the buffer is none of those that
 * are looked for. */
static int scan_switches(struct task_status *status, int fd, uint64_t bits)
{
    char text[TASK_FILE_BYTES];
    size_t kept = 0;

    for (int i = 0; i < STATUS_CHUNKS; i++) {
        ssize_t got = read(fd, text + kept, sizeof(text) - 1 - kept);

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -errno;
        if (got == 0)
            return 0;
        status->own_read_bytes += (uint64_t)got;
        size_t length = kept + (size_t)got;
        text[length] = '\0';
        const char *last_end = strrchr(text, '\n');
        size_t whole = length == sizeof(text) - 1 ? length : 0;
        if (last_end != NULL)
            whole = (size_t)(last_end - text) + 1;
        kept = length - whole;
        char rest_start = text[whole];
        text[whole] = '\0';
        status->bits |= task_lines__parse(text, bits, status->value);
        text[whole] = rest_start;
        memmove(text, text + whole, kept);
    }
    return 0;
}

static int read_switches(struct task_status *status, int task_fd, uint64_t bits)
{
    int fd = task_file__open(task_fd, "status");

    if (fd < 0)
        return fd;
    int error = scan_switches(status, fd, bits & SWITCHES);
    (void)close(fd);
    return error;
}

/* True if the thread is gone. A file that is missing while its thread lives is a metric that this
 * machine does not give. */
static bool is_over(int task_fd, int error)
{
    if (error == -ESRCH)
        return true;
    if (error != -ENOENT)
        return false;
    return faccessat(task_fd, "stat", F_OK, 0) != 0 && (errno == ENOENT || errno == ESRCH);
}

static int read_task(struct task_status *status, int task_fd, pid_t pid, pid_t tid, uint64_t bits)
{
    int error = read_stat(status, task_fd, bits);

    if (error != 0)
        return error;

    bool own = pid == getpid();
    if (!own || (bits & kernel_metric_source__get(SOURCE_SCHEDSTAT)->bits)) {
        error = read_schedstat(status, task_fd, bits);
        if (is_over(task_fd, error))
            return error;
    }
    if (bits & SWITCHES) {
        error = read_switches(status, task_fd, bits);
        if (is_over(task_fd, error))
            return error;
    }
    uint64_t io = bits & kernel_metric_source__get(SOURCE_IO)->bits;
    if (io != 0) {
        error = read_io(status, task_fd, own && tid == gettid(), io);
        if (is_over(task_fd, error))
            return error;
    }
    return own ? read_clock(thread_clock(tid), &status->cpu_ns) : 0;
}

int task_status__read(struct task_status *status, pid_t pid, pid_t tid, uint64_t bits)
{
    *status = (struct task_status){0};
    int task_fd = open_task(pid, tid);
    if (task_fd < 0)
        return task_fd;
    int error = read_task(status, task_fd, pid, tid, bits);
    (void)close(task_fd);
    return error;
}

uint64_t task_status__of_stat(void)
{
    return BIT(METRIC_USER) | BIT(METRIC_SYSTEM) | BIT(METRIC_MINOR_FAULTS) |
           BIT(METRIC_MAJOR_FAULTS);
}

int task_cpu__read(pid_t pid, pid_t tid, uint64_t *cpu_ns)
{
    struct task_status status = {0};

    if (pid == getpid())
        return read_clock(thread_clock(tid), cpu_ns);
    int task_fd = open_task(pid, tid);
    if (task_fd < 0)
        return task_fd;
    int error = read_schedstat(&status, task_fd, 0);
    if (error != 0)
        error = read_stat(&status, task_fd, 0);
    (void)close(task_fd);
    *cpu_ns = status.cpu_ns;
    return error;
}

int task_start__read(pid_t pid, pid_t tid, uint64_t *start_ticks)
{
    struct task_status status = {0};
    int task_fd = open_task(pid, tid);

    if (task_fd < 0)
        return task_fd;
    int error = read_stat(&status, task_fd, 0);
    (void)close(task_fd);
    if (error == 0 && pid == getpid())
        error = read_clock(thread_clock(tid), &status.cpu_ns);
    *start_ticks = status.start_ticks;
    return error;
}

int process_cpu__read(pid_t pid, uint64_t *cpu_ns, uint64_t *user_ns, uint64_t *system_ns)
{
    if (pid <= 0)
        return -EINVAL;
    if (pid == getpid()) {
        struct rusage usage;

        if (getrusage(RUSAGE_SELF, &usage) != 0)
            return -errno;
        *user_ns = timeval_ns(usage.ru_utime);
        *system_ns = timeval_ns(usage.ru_stime);
    } else {
        struct task_stat stat;
        int error = process_stat__load(pid, &stat);

        if (error != 0)
            return error;
        *user_ns = ticks_ns(stat.user_ticks);
        *system_ns = ticks_ns(stat.system_ticks);
    }
    return read_clock(process_clock(pid), cpu_ns);
}
