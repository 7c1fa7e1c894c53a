#include "tools/live_ledger.h"

#include "native/snapshot.h"
#include "tools/command.h"
#include "tools/live_folders.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static char *find_in_folders(pid_t pid)
{
    struct found_ledgers found = {0};
    char *path = NULL;

    live_folders__find(&found, pid);
    for (size_t i = found.count; i-- > 0 && !path;)
        if (found_ledger__is_trusted(&found.items[i]))
            path = strdup(found.items[i].path);
    found_ledgers__release(&found);
    return path;
}

/* The process maps its ledger: whatever folder it lies in, its maps name it. */
static char *find_in_maps(pid_t pid)
{
    char maps_path[64], name[64], *line = NULL, *path = NULL;
    size_t room = 0;
    FILE *maps;

    snprintf(maps_path, sizeof(maps_path), "/proc/%d/maps", (int)pid);
    snprintf(name, sizeof(name), "/treadle-%d-", (int)pid);
    maps = fopen(maps_path, "re");
    if (!maps)
        return NULL;
    while (!path && getline(&line, &room, maps) > 0) {
        char *start = strchr(line, '/');
        size_t length = strcspn(line, "\n");

        line[length] = '\0';
        if (start && strstr(start, name) && length > 5 && strcmp(line + length - 5, ".live") == 0)
            path = strdup(start);
    }
    free(line);
    fclose(maps);
    return path;
}

char *live_ledger__find(pid_t pid)
{
    char *path = pid > 0 ? find_in_folders(pid) : NULL;

    if (!path && pid > 0)
        path = find_in_maps(pid);
    if (!path)
        command__fail("process %d has no ledger in /dev/shm, $XDG_RUNTIME_DIR, $TMPDIR or /tmp; "
                      "`treadle list` shows those that have",
                      (int)pid);
    return path;
}

/* It is shown as what it is: the books of a process that runs. */
static int mark_live(int fd)
{
    uint32_t state = LEDGER_LIVE;

    return pwrite(fd, &state, sizeof(state), offsetof(struct ledger_header, state)) ==
                   (ssize_t)sizeof(state)
               ? 0
               : -EIO;
}

/* A settled copy in memory, or -1 if there is nothing to settle: then the file is read as it is. */
static int settled_copy(const char *path)
{
    int source_fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    int copy_fd = source_fd < 0 ? -1 : memfd_create("treadle", MFD_CLOEXEC);

    if (copy_fd >= 0 && (snapshot__copy(source_fd, copy_fd) != 0 || mark_live(copy_fd) != 0)) {
        close(copy_fd);
        copy_fd = -1;
    }
    if (source_fd >= 0)
        close(source_fd);
    return copy_fd;
}

struct ledger_reader *live_ledger__read(const char *path, char *message, size_t message_bytes)
{
    struct ledger_reader *reader = ledger_reader__open(path, message, message_bytes);
    struct ledger_reader *settled;
    int fd;

    if (!reader || ledger_reader__life(reader) != LEDGER_IS_LIVE)
        return reader;
    fd = settled_copy(path);
    if (fd < 0)
        return reader;
    settled = ledger_reader__open_fd(fd, path, message, message_bytes);
    close(fd);
    if (!settled)
        return reader;
    ledger_reader__close(reader);
    return settled;
}
