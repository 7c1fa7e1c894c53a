#include "tools/output/text_table.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define COLUMNS_MIN 40u
#define COLUMNS_MAX 10000u

static size_t columns_of_environment(void)
{
    const char *text = getenv("COLUMNS");
    char *end;
    unsigned long columns = text && text[0] ? strtoul(text, &end, 10) : 0;

    return columns && !*end && columns <= COLUMNS_MAX ? columns : 0;
}

static size_t columns_of_terminal(void)
{
    struct winsize size;

    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        return size.ws_col;
    return 80;
}

struct screen screen__stdout(void)
{
    bool terminal = isatty(STDOUT_FILENO);
    const char *no_colour = getenv("NO_COLOR");
    const char *kind = getenv("TERM");
    bool dumb = !kind || strcmp(kind, "dumb") == 0;
    size_t columns = columns_of_environment();

    if (!columns && terminal)
        columns = columns_of_terminal();
    if (columns && columns < COLUMNS_MIN)
        columns = COLUMNS_MIN;
    return (struct screen){stdout, columns, terminal && !dumb && !(no_colour && no_colour[0])};
}

const char *screen__bold(const struct screen *screen)
{
    return screen->colour ? "\033[1m" : "";
}

const char *screen__dim(const struct screen *screen)
{
    return screen->colour ? "\033[2m" : "";
}

const char *screen__warn(const struct screen *screen)
{
    return screen->colour ? "\033[33m" : "";
}

const char *screen__plain(const struct screen *screen)
{
    return screen->colour ? "\033[0m" : "";
}

static void pad(const struct screen *screen, size_t used, size_t columns)
{
    for (; used < columns; used++)
        fputc(' ', screen->out);
}

void screen__left(const struct screen *screen, const char *printable, size_t columns)
{
    fputs(printable, screen->out);
    pad(screen, text__columns(printable), columns);
}

void screen__right(const struct screen *screen, const char *printable, size_t columns)
{
    pad(screen, text__columns(printable), columns);
    fputs(printable, screen->out);
}
