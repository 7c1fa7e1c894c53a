#include "agent/host/log.h"

#include "native/standard_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static enum log_level shown = LOG_WARN;
static __thread int answer_fd __attribute__((tls_model("initial-exec"))) = -1;

void log__set_level(enum log_level level)
{
    shown = level;
}

void log__begin_answer(const char *path)
{
    log__end_answer();
    if (path)
        answer_fd = standard_files__avoid(
            open(path, O_WRONLY | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
}

void log__answer(const char *line)
{
    if (answer_fd >= 0)
        (void)!write(answer_fd, line, strlen(line));
}

void log__end_answer(void)
{
    if (answer_fd >= 0)
        close(answer_fd);
    answer_fd = -1;
}

void log__line(enum log_level level, const char *format, ...)
{
    static const char prefix[] = "treadle: ";
    char line[4096];
    size_t used = sizeof(prefix) - 1;
    int saved = errno, length;
    va_list arguments;

    if (level > shown)
        return;
    memcpy(line, prefix, used);
    va_start(arguments, format);
    length = vsnprintf(line + used, sizeof(line) - used - 1, format, arguments);
    va_end(arguments);
    if (length > 0)
        used += (size_t)length < sizeof(line) - used - 1 ? (size_t)length : sizeof(line) - used - 2;
    line[used++] = '\n';
    (void)!write(STDERR_FILENO, line, used);
    if (answer_fd >= 0)
        (void)!write(answer_fd, line + sizeof(prefix) - 1, used - (sizeof(prefix) - 1));
    errno = saved;
}
