#include "native/metrics/task_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#define INTERRUPTIONS 8

struct keyed_line {
    const char *key;
    enum ledger_metric metric;
};

static const struct keyed_line keyed_lines[] = {
    {"rchar:", METRIC_READ_BYTES},
    {"wchar:", METRIC_WRITE_BYTES},
    {"read_bytes:", METRIC_DISK_READ_BYTES},
    {"write_bytes:", METRIC_DISK_WRITE_BYTES},
    {"voluntary_ctxt_switches:", METRIC_VOLUNTARY_SWITCHES},
    {"nonvoluntary_ctxt_switches:", METRIC_INVOLUNTARY_SWITCHES},
};

#define KEYED_LINE_COUNT (sizeof keyed_lines / sizeof keyed_lines[0])

int task_file__open(int folder_fd, const char *path)
{
    int fd = openat(folder_fd, path, O_RDONLY | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

int task_file__read(int fd, char text[TASK_FILE_BYTES])
{
    for (int i = 0; i < INTERRUPTIONS; i++) {
        ssize_t got = pread(fd, text, TASK_FILE_BYTES - 1, 0);
        if (got >= 0) {
            text[got] = '\0';
            return (int)got;
        }
        if (errno != EINTR)
            return -errno;
    }
    return -EINTR;
}

int task_file__load(int folder_fd, const char *path, char text[TASK_FILE_BYTES])
{
    int fd = task_file__open(folder_fd, path);
    if (fd < 0)
        return fd;
    int length = task_file__read(fd, text);
    (void)close(fd);
    return length;
}

static const char *skip_blanks(const char *text)
{
    while (*text == ' ' || *text == '\t')
        text++;
    return text;
}

static bool take_number(const char **text, uint64_t *number)
{
    const char *at = skip_blanks(*text);
    if (*at < '0' || *at > '9')
        return false;
    uint64_t sum = 0;
    while (*at >= '0' && *at <= '9')
        sum = sum * 10 + (uint64_t)(*at++ - '0');
    *number = sum;
    *text = at;
    return true;
}

static const char *skip_words(const char *text, int count)
{
    while (count-- > 0) {
        text = skip_blanks(text);
        while (*text != '\0' && *text != ' ' && *text != '\t')
            text++;
    }
    return text;
}

int task_stat__parse(const char *text, struct task_stat *stat)
{
    /* The name may hold any byte but NUL; what follows it holds no parenthesis. */
    const char *open = strchr(text, '(');
    const char *close = strrchr(text, ')');
    if (open == NULL || close == NULL || close < open)
        return -EBADMSG;
    size_t length = (size_t)(close - open) - 1;
    if (length >= sizeof stat->name)
        length = sizeof stat->name - 1;
    memcpy(stat->name, open + 1, length);
    stat->name[length] = '\0';

    const char *minor = skip_words(close + 1, 7); /* fields 3 to 9 */
    if (!take_number(&minor, &stat->minor_faults))
        return -EBADMSG;
    const char *major = skip_words(minor, 1);
    if (!take_number(&major, &stat->major_faults))
        return -EBADMSG;
    const char *times = skip_words(major, 1);
    if (!take_number(&times, &stat->user_ticks) || !take_number(&times, &stat->system_ticks))
        return -EBADMSG;
    const char *start = skip_words(times, 6); /* fields 16 to 21 */
    return take_number(&start, &stat->start_ticks) ? 0 : -EBADMSG;
}

int task_schedstat__parse(const char *text, struct task_schedstat *schedstat)
{
    if (!take_number(&text, &schedstat->run_ns) ||
        !take_number(&text, &schedstat->run_queue_delay_ns) ||
        !take_number(&text, &schedstat->timeslices))
        return -EBADMSG;
    bool kept = (schedstat->run_ns | schedstat->run_queue_delay_ns | schedstat->timeslices) != 0;
    return kept ? 0 : -ENODATA;
}

static uint64_t parse_line(const char *line, uint64_t bits, uint64_t value[LEDGER_METRIC_SLOTS])
{
    for (size_t i = 0; i < KEYED_LINE_COUNT; i++) {
        const struct keyed_line *row = &keyed_lines[i];
        uint64_t bit = UINT64_C(1) << row->metric;
        size_t length = strlen(row->key);
        if (!(bits & bit) || strncmp(line, row->key, length) != 0)
            continue;
        const char *number = line + length;
        return take_number(&number, &value[row->metric]) ? bit : 0;
    }
    return 0;
}

uint64_t task_lines__parse(const char *text, uint64_t bits, uint64_t value[LEDGER_METRIC_SLOTS])
{
    uint64_t found = 0;
    for (const char *line = text; line != NULL && *line != '\0';) {
        found |= parse_line(line, bits, value);
        line = strchr(line, '\n');
        if (line != NULL)
            line++;
    }
    return found;
}
