#include "agent/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static enum log_level shown = LOG_WARN;

void log__set_level(enum log_level level)
{
    shown = level;
}

void log__line(enum log_level level, const char *format, ...)
{
    static const char prefix[] = "treadle: ";
    char line[4096];
    size_t used = sizeof prefix - 1;
    int saved = errno, length;
    va_list arguments;

    if (level > shown)
        return;
    memcpy(line, prefix, used);
    va_start(arguments, format);
    length = vsnprintf(line + used, sizeof line - used - 1, format, arguments);
    va_end(arguments);
    if (length > 0)
        used += (size_t)length < sizeof line - used - 1 ? (size_t)length : sizeof line - used - 2;
    line[used++] = '\n';
    (void)!write(STDERR_FILENO, line, used);
    errno = saved;
}
