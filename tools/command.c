#include "tools/command.h"

#include "tools/report/text.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

__attribute__((format(printf, 1, 0))) static void write_line(const char *format, va_list arguments)
{
    char *line = NULL;
    int length = vasprintf(&line, format, arguments);

    if (length < 0)
        return;
    struct text_store store = {0};
    char *printable = text__printable(text__from_java(&store, line, (size_t)length), 0);
    fprintf(stderr, "treadle: %s\n", printable);
    free(printable);
    text_store__release(&store);
    free(line);
}

int command__fail(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    write_line(format, arguments);
    va_end(arguments);
    return EXIT_BAD_INPUT;
}

void command__note(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    write_line(format, arguments);
    va_end(arguments);
}

/* Why standard output could not be written. A block that fails before the last one leaves no reason
 * behind, so one more byte asks for it; what was written is of no use by then. */
static int output_error(void)
{
    if (!errno && write(STDOUT_FILENO, "\n", 1) == 1)
        return EIO;
    return errno;
}

/* A full disk shows only when the last of the buffer is written. A closed pipe is the reader's
 * choice and no error. */
int command__flush_output(int status)
{
    int failed = ferror(stdout), error;

    errno = 0;
    if (fflush(stdout) != 0)
        failed = 1;
    clearerr(stdout);
    if (!failed)
        return status;
    error = output_error();
    return error == EPIPE
               ? status
               : command__fail("standard output: cannot be written: %s", strerror(error));
}
