#include "native/metrics/metric_reader.h"

#include "native/metrics/kernel_metrics.h"
#include "native/metrics/task_lines.h"
#include "native/proc/task_file.h"
#include "native/standard_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#define BIT(metric) (UINT64_C(1) << (metric))

/* The descriptor given out last is the lowest free one, so it tells how many are in use. What is
 * kept is never standard input, output or error. */
static int keep_if_half_is_left(int fd)
{
    struct rlimit limit;

    if (fd < 0)
        return fd;
    fd = standard_files__avoid(fd);
    if (fd < 0)
        return -errno;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && (rlim_t)fd < limit.rlim_cur / 2)
        return fd;
    (void)close(fd);
    return -EMFILE;
}

static int open_task_file(const char *path, int *fd)
{
    *fd = keep_if_half_is_left(task_file__open(AT_FDCWD, path));
    if (*fd >= 0)
        return 0;
    int error = *fd;
    *fd = -1;
    return error;
}

static void close_task_file(int *fd)
{
    if (*fd >= 0)
        (void)close(*fd);
    *fd = -1;
}

static int open_schedstat(struct metric_reader *reader)
{
    return open_task_file("/proc/thread-self/schedstat", &reader->schedstat_fd);
}

static void close_schedstat(struct metric_reader *reader)
{
    close_task_file(&reader->schedstat_fd);
}

static int open_io(struct metric_reader *reader)
{
    return open_task_file("/proc/thread-self/io", &reader->io_fd);
}

static void close_io(struct metric_reader *reader)
{
    close_task_file(&reader->io_fd);
}

static int open_taskstats(struct metric_reader *reader)
{
    int error = taskstats__open(&reader->taskstats);

    if (error != 0)
        return error;
    int fd = keep_if_half_is_left(reader->taskstats.fd);
    reader->taskstats.fd = fd < 0 ? -1 : fd;
    return fd < 0 ? fd : 0;
}

static void close_taskstats(struct metric_reader *reader)
{
    taskstats__close(&reader->taskstats);
}

static uint64_t timeval_ns(struct timeval time)
{
    return (uint64_t)time.tv_sec * UINT64_C(1000000000) + (uint64_t)time.tv_usec * 1000;
}

static int read_rusage(struct metric_reader *reader, uint64_t bits,
                       uint64_t value[LEDGER_METRIC_SLOTS], uint64_t *read_bits)
{
    (void)reader;
    struct rusage usage;
    if (getrusage(RUSAGE_THREAD, &usage) != 0)
        return -errno;
    const uint64_t readings[] = {
        [METRIC_USER] = timeval_ns(usage.ru_utime),
        [METRIC_SYSTEM] = timeval_ns(usage.ru_stime),
        [METRIC_VOLUNTARY_SWITCHES] = (uint64_t)usage.ru_nvcsw,
        [METRIC_INVOLUNTARY_SWITCHES] = (uint64_t)usage.ru_nivcsw,
        [METRIC_MINOR_FAULTS] = (uint64_t)usage.ru_minflt,
        [METRIC_MAJOR_FAULTS] = (uint64_t)usage.ru_majflt,
        [METRIC_BLOCK_INPUTS] = (uint64_t)usage.ru_inblock,
        [METRIC_BLOCK_OUTPUTS] = (uint64_t)usage.ru_oublock,
    };
    for (size_t i = 0; i < sizeof(readings) / sizeof(readings[0]); i++) {
        if (!(bits & BIT(i)))
            continue;
        value[i] = readings[i];
        *read_bits |= BIT(i);
    }
    return 0;
}

static int read_own_file(struct metric_reader *reader, int fd, char text[TASK_FILE_BYTES])
{
    int length = task_file__read(fd, text);

    if (length > 0)
        reader->own_read_bytes += (uint64_t)length;
    return length;
}

static int read_schedstat(struct metric_reader *reader, uint64_t bits,
                          uint64_t value[LEDGER_METRIC_SLOTS], uint64_t *read_bits)
{
    char text[TASK_FILE_BYTES];
    struct task_schedstat schedstat;
    int length = read_own_file(reader, reader->schedstat_fd, text);
    int error = length < 0 ? length : task_schedstat__parse(text, &schedstat);

    if (error != 0)
        return error;
    if (bits & BIT(METRIC_RUN_QUEUE_DELAY))
        value[METRIC_RUN_QUEUE_DELAY] = schedstat.run_queue_delay_ns;
    if (bits & BIT(METRIC_TIMESLICES))
        value[METRIC_TIMESLICES] = schedstat.timeslices;
    *read_bits |= bits & (BIT(METRIC_RUN_QUEUE_DELAY) | BIT(METRIC_TIMESLICES));
    return 0;
}

static int read_io(struct metric_reader *reader, uint64_t bits, uint64_t value[LEDGER_METRIC_SLOTS],
                   uint64_t *read_bits)
{
    char text[TASK_FILE_BYTES];
    /* Without this read: the kernel makes the text before it counts the read. */
    uint64_t own_read_bytes = reader->own_read_bytes;
    int length = read_own_file(reader, reader->io_fd, text);

    if (length < 0)
        return length;
    uint64_t found = task_lines__parse(text, bits, value);
    if (found & BIT(METRIC_READ_BYTES))
        value[METRIC_READ_BYTES] -= own_read_bytes;
    *read_bits |= found;
    return found == bits ? 0 : -EBADMSG;
}

static int read_taskstats(struct metric_reader *reader, uint64_t bits,
                          uint64_t value[LEDGER_METRIC_SLOTS], uint64_t *read_bits)
{
    uint64_t found = 0;
    int error = taskstats__read(&reader->taskstats, reader->tid, bits, &found, value);

    *read_bits |= found;
    return error;
}

struct opened_source {
    enum ledger_metric_source source;
    int (*open)(struct metric_reader *reader); /* NULL: nothing to open */
    void (*close)(struct metric_reader *reader);
    int (*read)(struct metric_reader *reader, uint64_t bits, uint64_t value[LEDGER_METRIC_SLOTS],
                uint64_t *read_bits);
};

static const struct opened_source sources[] = {
    {SOURCE_RUSAGE, NULL, NULL, read_rusage},
    {SOURCE_SCHEDSTAT, open_schedstat, close_schedstat, read_schedstat},
    {SOURCE_IO, open_io, close_io, read_io},
    {SOURCE_TASKSTATS, open_taskstats, close_taskstats, read_taskstats},
};

#define OPENED_SOURCES (sizeof(sources) / sizeof(sources[0]))

/* Includes a first read: some sources can be opened by any user but read by few. *works: the
 * source's bits. */
static int try_source(struct metric_reader *reader, const struct opened_source *source,
                      uint64_t bits, uint64_t *works)
{
    uint64_t value[LEDGER_METRIC_SLOTS];
    int error = source->open != NULL ? source->open(reader) : 0;

    if (error != 0)
        return error;
    error = source->read(reader, bits, value, works);
    if (*works == 0 && source->close != NULL)
        source->close(reader);
    return error;
}

/* Those of the bits whose source works. *first_error: of the first one that does not, unless it was
 * set before. */
static uint64_t open_sources(struct metric_reader *reader, uint64_t wanted, int *first_error)
{
    uint64_t all = 0;

    for (size_t i = 0; i < OPENED_SOURCES; i++) {
        const struct opened_source *source = &sources[i];
        uint64_t bits = wanted & kernel_metric_source__get(source->source)->bits;
        uint64_t works = 0;

        if (bits == 0)
            continue;
        int error = try_source(reader, source, bits, &works);
        all |= works;
        if (*first_error == 0)
            *first_error = error;
    }
    return all;
}

int metric_reader__open(struct metric_reader *reader, uint64_t wanted)
{
    int first_error = 0;

    *reader = (struct metric_reader){
        .schedstat_fd = -1,
        .io_fd = -1,
        .taskstats = {.fd = -1},
        .tid = (pid_t)syscall(SYS_gettid),
    };
    reader->wanted = open_sources(reader, wanted, &first_error);
    return first_error;
}

/* Sources that are wanted are left as they are: their metrics come in one group. */
void metric_reader__open_more(struct metric_reader *reader, uint64_t bits)
{
    int error = 0;

    for (size_t i = 0; i < OPENED_SOURCES; i++)
        if (reader->wanted & kernel_metric_source__get(sources[i].source)->bits)
            bits &= ~kernel_metric_source__get(sources[i].source)->bits;
    reader->more = open_sources(reader, bits, &error);
}

void metric_reader__close(struct metric_reader *reader)
{
    for (size_t i = 0; i < OPENED_SOURCES; i++)
        if (sources[i].close != NULL)
            sources[i].close(reader);
    reader->wanted = reader->more = 0;
}

uint64_t metric_reader__read(struct metric_reader *reader, uint64_t bits,
                             uint64_t value[LEDGER_METRIC_SLOTS])
{
    int errno_before = errno;
    uint64_t read_bits = 0;

    for (size_t i = 0; i < OPENED_SOURCES; i++) {
        uint64_t wanted = bits & (reader->wanted | reader->more) &
                          kernel_metric_source__get(sources[i].source)->bits;

        if (wanted != 0)
            (void)sources[i].read(reader, wanted, value, &read_bits);
    }
    errno = errno_before;
    return read_bits;
}

int metric_reader__read_run_queue_delay(struct metric_reader *reader, uint64_t *delay_ns)
{
    const uint64_t bit = BIT(METRIC_RUN_QUEUE_DELAY);
    bool is_open = reader->schedstat_fd >= 0;
    uint64_t value[LEDGER_METRIC_SLOTS], read_bits = 0;
    int errno_before = errno;
    int error = is_open ? 0 : open_schedstat(reader);

    if (error == 0)
        error = read_schedstat(reader, bit, value, &read_bits);
    if (error == 0)
        *delay_ns = value[METRIC_RUN_QUEUE_DELAY];
    if (!is_open)
        close_schedstat(reader);
    errno = errno_before;
    return error;
}
