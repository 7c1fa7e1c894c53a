#include "native/proc/task_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define INTERRUPTIONS 8

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

bool task_file__take_number(const char **text, uint64_t *number)
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
    if (length >= sizeof(stat->name))
        length = sizeof(stat->name) - 1;
    memcpy(stat->name, open + 1, length);
    stat->name[length] = '\0';

    const char *minor = skip_words(close + 1, 7); /* fields 3 to 9 */
    if (!task_file__take_number(&minor, &stat->minor_faults))
        return -EBADMSG;
    const char *major = skip_words(minor, 1);
    if (!task_file__take_number(&major, &stat->major_faults))
        return -EBADMSG;
    const char *times = skip_words(major, 1);
    if (!task_file__take_number(&times, &stat->user_ticks) ||
        !task_file__take_number(&times, &stat->system_ticks))
        return -EBADMSG;
    const char *start = skip_words(times, 6); /* fields 16 to 21 */
    return task_file__take_number(&start, &stat->start_ticks) ? 0 : -EBADMSG;
}

int task_schedstat__parse(const char *text, struct task_schedstat *schedstat)
{
    if (!task_file__take_number(&text, &schedstat->run_ns) ||
        !task_file__take_number(&text, &schedstat->run_queue_delay_ns) ||
        !task_file__take_number(&text, &schedstat->timeslices))
        return -EBADMSG;
    bool kept = (schedstat->run_ns | schedstat->run_queue_delay_ns | schedstat->timeslices) != 0;
    return kept ? 0 : -ENODATA;
}
