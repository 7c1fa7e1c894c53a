#include "tools/jvm/process_status.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The value of the line if it has that key, else NULL. */
static const char *value_of(const char *line, const char *key)
{
    size_t length = strlen(key);

    return strncmp(line, key, length) == 0 && line[length] == ':' ? line + length + 1 : NULL;
}

/* The last number of a line: NSpid has one for each namespace, the innermost last. */
static long last_number(const char *text)
{
    long last = 0;
    char *end;

    for (long number = strtol(text, &end, 10); end != text; number = strtol(text, &end, 10)) {
        last = number;
        text = end;
    }
    return last;
}

/* "real effective saved file system": the second number. */
static unsigned long effective(const char *text)
{
    char *end;

    (void)strtoul(text, &end, 10);
    return strtoul(end, NULL, 10);
}

static void take_state(struct process_status *status, char letter)
{
    status->ended = letter == 'Z' || letter == 'X';
    status->suspended = letter == 'T' || letter == 't';
}

static void take(struct process_status *status, const char *line)
{
    const char *value;

    if ((value = value_of(line, "State")) != NULL)
        take_state(status, value[strspn(value, " \t")]);
    else if ((value = value_of(line, "Tgid")) != NULL)
        status->process = (pid_t)strtol(value, NULL, 10);
    else if ((value = value_of(line, "PPid")) != NULL)
        status->parent = (pid_t)strtol(value, NULL, 10);
    else if ((value = value_of(line, "NSpid")) != NULL)
        status->inner_pid = (pid_t)last_number(value);
    else if ((value = value_of(line, "Uid")) != NULL)
        status->uid = (uid_t)effective(value);
    else if ((value = value_of(line, "Gid")) != NULL)
        status->gid = (gid_t)effective(value);
    else if ((value = value_of(line, "SigCgt")) != NULL)
        status->catches_quit = strtoull(value, NULL, 16) >> (SIGQUIT - 1) & 1;
}

int process_status__read(struct process_status *status, pid_t pid)
{
    char path[64], *line = NULL;
    size_t room = 0;
    FILE *file;

    *status = (struct process_status){.process = pid, .inner_pid = pid};
    snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
    file = fopen(path, "re");
    if (!file)
        return -errno;
    while (getline(&line, &room, file) > 0)
        take(status, line);
    free(line);
    fclose(file);
    return 0;
}
