#include "tools/ledgers/live_ledger.h"

#include "native/ledger/ledger_file.h"
#include "native/snapshot/snapshot.h"
#include "tools/command.h"
#include "tools/jvm/process_status.h"
#include "tools/ledgers/ledger_summary.h"
#include "tools/ledgers/live_counts.h"
#include "tools/ledgers/live_folders.h"
#include "tools/ledgers/rights.h"
#include "tools/report/report_losses.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
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

/* This process's path of a file that another process sees: below that process's root, if the path
 * does not name the same file here. */
static char *seen_from_here(pid_t pid, const char *path)
{
    char *below = NULL;
    struct stat theirs, ours;

    if (asprintf(&below, "/proc/%d/root%s", (int)pid, path) < 0)
        return NULL;
    if (stat(below, &theirs) == 0 &&
        (stat(path, &ours) != 0 || theirs.st_dev != ours.st_dev || theirs.st_ino != ours.st_ino))
        return below;
    free(below);
    return strdup(path);
}

/* "…/treadle-PID-….live" for that pid. */
static bool names_ledger_of(const char *path, pid_t pid)
{
    struct stat file;
    const char *slash = strrchr(path, '/');
    char name[32];

    snprintf(name, sizeof(name), "/treadle-%d-", (int)pid);
    return slash && strncmp(slash, name, strlen(name)) == 0 && live_folders__names_live(path) &&
           lstat(path, &file) == 0 && S_ISREG(file.st_mode);
}

/* The process maps its ledger: whatever folder it lies in, its maps name it. */
static char *find_in_maps(pid_t pid)
{
    char maps_path[64], *line = NULL, *path = NULL;
    size_t room = 0;
    struct process_status status;
    FILE *maps;

    snprintf(maps_path, sizeof(maps_path), "/proc/%d/maps", (int)pid);
    maps = process_status__read(&status, pid) == 0 ? fopen(maps_path, "re") : NULL;
    if (!maps)
        return NULL;
    while (!path && getline(&line, &room, maps) > 0) {
        char *start = strchr(line, '/');

        line[strcspn(line, "\n")] = '\0';
        if (!start || !live_folders__names_live(start))
            continue;
        path = seen_from_here(pid, start);
        if (path && !names_ledger_of(path, status.inner_pid)) {
            free(path);
            path = NULL;
        }
    }
    free(line);
    fclose(maps);
    return path;
}

/* The header of a file, to be read with the rights of the file's owner. */
struct header_reading {
    int fd;
    struct ledger_complaint to;
    struct ledger_header header;
    char message[512];
};

static int read_header_now(void *context)
{
    struct header_reading *reading = context;
    const struct ledger_complaint to = {reading->to.path, reading->message,
                                        sizeof(reading->message)};

    return ledger_file__read_header(reading->fd, &reading->header, &to) == 0 ? 0 : -EINVAL;
}

/* Root without the capability to become another user. */
static int refuse_rights(const struct ledger_complaint *to, int error)
{
    return ledger_complaint__say(to,
                                 "root's rights cannot be given up: %s; another user's file is not "
                                 "read with them, a copy of root's own is",
                                 strerror(-error));
}

/* 0, or -1 after a complaint. Root keeps its rights, and reads nothing of another user's file. */
static int read_header_as_owner(int fd, struct ledger_header *header,
                                const struct ledger_complaint *to)
{
    struct header_reading *reading = rights__shared(sizeof(*reading));
    int error = reading ? 0 : -ENOMEM;

    if (reading) {
        reading->fd = fd;
        reading->to = *to;
        error = rights__work_as_owner(fd, read_header_now, reading);
        *header = reading->header;
        reading->message[sizeof(reading->message) - 1] = '\0';
    }
    if (error == -EINVAL && reading->message[0])
        snprintf(to->message, to->bytes, "%s", reading->message);
    else if (error == -EPERM && geteuid() == 0)
        refuse_rights(to, error);
    else if (error)
        ledger_complaint__say(to, "cannot be read: %s", strerror(-error));
    rights__release_shared(reading, sizeof(*reading));
    return error ? -1 : 0;
}

static bool read_header(const char *path, struct ledger_header *header)
{
    char message[512];
    const struct ledger_complaint nobody = {path, message, sizeof(message)};
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
    bool is_read = fd >= 0 && read_header_as_owner(fd, header, &nobody) == 0;

    if (fd >= 0)
        close(fd);
    return is_read;
}

char *live_ledger__of_running(pid_t pid, struct ledger_header *header)
{
    char *path = find_in_maps(pid);

    /* The ledger that a process maps is its own, whatever the pid in the ledger: a container's pids
     * are others. */
    if (path && read_header(path, header) && header->state == LEDGER_LIVE)
        return path;
    free(path);
    path = find_in_folders(pid);
    if (path && read_header(path, header) && ledger_header__life(header) == LEDGER_IS_LIVE)
        return path;
    free(path);
    return NULL;
}

char *live_ledger__find_quietly(pid_t pid)
{
    char *path = pid > 0 ? find_in_folders(pid) : NULL;

    return !path && pid > 0 ? find_in_maps(pid) : path;
}

char *live_ledger__find(pid_t pid)
{
    char *path = live_ledger__find_quietly(pid);

    if (!path)
        live_ledger__refuse(pid);
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
static int settled_copy(int source_fd, snapshot_copy *copy)
{
    int copy_fd = memfd_create("treadle", MFD_CLOEXEC);

    if (copy_fd >= 0 && (copy(source_fd, copy_fd) != 0 || mark_live(copy_fd) != 0)) {
        close(copy_fd);
        copy_fd = -1;
    }
    return copy_fd;
}

/* The file, open; what another user wrote is looked into with that user's rights only, whatever the
 * file is called and says. -1 after a line in message. */
static int open_ledger(const char *path, char *message, size_t message_bytes)
{
    const struct ledger_complaint to = {path, message, message_bytes};
    int fd, error;

    errno = 0;
    fd = ledger_file__open(path, &to);
    if (fd < 0 && errno == EACCES)
        ledger_complaint__say(&to, "cannot be opened: %s%s", strerror(EACCES), rights__loss());
    if (fd < 0)
        return -1;
    error = rights__become_owner(fd);
    if (!error)
        return fd;
    refuse_rights(&to, error);
    close(fd);
    return -1;
}

int live_ledger__read_header(const char *path, struct ledger_header *header, uid_t *owner,
                             char *message, size_t message_bytes)
{
    const struct ledger_complaint to = {path, message, message_bytes};
    int fd = open_ledger(path, message, message_bytes), error;
    struct stat file;

    if (fd < 0)
        return -1;
    error = fstat(fd, &file) != 0
                ? ledger_complaint__say(&to, "cannot be read: %s", strerror(errno))
                : ledger_file__read_header(fd, header, &to);
    *owner = error ? 0 : file.st_uid;
    close(fd);
    return error;
}

static struct ledger_reader *read_settled(int fd, snapshot_copy *copy, const char *path,
                                          char *message, size_t message_bytes)
{
    int copy_fd = settled_copy(fd, copy);
    struct ledger_reader *settled;

    if (copy_fd < 0)
        return NULL;
    settled = ledger_reader__open_fd(copy_fd, path, message, message_bytes);
    close(copy_fd);
    return settled;
}

struct ledger_reader *live_ledger__read_as_it_is(const char *path, char *message,
                                                 size_t message_bytes)
{
    int fd = open_ledger(path, message, message_bytes);
    struct ledger_reader *reader;

    if (fd < 0)
        return NULL;
    reader = ledger_reader__open_fd(fd, path, message, message_bytes);
    close(fd);
    return reader;
}

struct ledger_reader *live_ledger__read(const char *path, char *message, size_t message_bytes)
{
    int fd = open_ledger(path, message, message_bytes);
    struct ledger_reader *reader, *settled = NULL;

    if (fd < 0)
        return NULL;
    reader = ledger_reader__open_fd(fd, path, message, message_bytes);
    if (reader && ledger_reader__life(reader) == LEDGER_IS_LIVE)
        settled = read_settled(fd, live_counts__copy, path, message, message_bytes);
    close(fd);
    if (!settled)
        return reader;
    ledger_reader__close(reader);
    return settled;
}

/* Says what is missing of a ledger whose end is cut off, which cannot be settled; "" for a whole
 * ledger. */
static void explain_partial(const struct ledger_reader *reader, char text[PARTIAL_TEXT_BYTES])
{
    report_losses__partial(ledger_reader__present_bytes(reader),
                           ledger_reader__missing_bytes(reader), ledger_reader__header(reader),
                           text);
}

/* Why a ledger cannot be settled. */
static void explain(const char *path, char *message, size_t message_bytes)
{
    struct ledger_reader *reader = ledger_reader__open(path, message, message_bytes);
    const struct ledger_header *header = reader ? ledger_reader__header(reader) : NULL;
    char partial[PARTIAL_TEXT_BYTES];

    if (!reader)
        return;
    explain_partial(reader, partial);
    if (ledger_reader__life(reader) == LEDGER_IS_CLOSED)
        snprintf(message, message_bytes,
                 "%s: is a snapshot, which does not change; to show it: treadle report %s", path,
                 path);
    else if (ledger_reader__life(reader) == LEDGER_IS_ORPHAN)
        snprintf(message, message_bytes,
                 "process %d has ended; to show its ledger: treadle report %s", (int)header->pid,
                 path);
    else if (partial[0])
        snprintf(message, message_bytes, "%s: %s; to show what is there: treadle report %s", path,
                 partial, path);
    else
        snprintf(message, message_bytes, "%s: there is no memory for a copy of %u chunks", path,
                 header->chunks_used);
    ledger_reader__close(reader);
}

static bool is_running(pid_t pid)
{
    struct process_status process;

    return pid > 0 && process_status__read(&process, pid) == 0 && !process.ended;
}

static int refuse_unprofiled(pid_t pid)
{
    if (!is_running(pid))
        return command__fail("there is no process %d", (int)pid);
    return command__fail("process %d is not profiled: it has no ledger in /dev/shm, "
                         "$XDG_RUNTIME_DIR, $TMPDIR or /tmp; to profile it: treadle attach %d",
                         (int)pid, (int)pid);
}

int live_ledger__refuse(pid_t pid)
{
    char message[512];
    struct ledger_reader *reader;
    char *path = live_ledger__find_quietly(pid);
    int status;

    if (!path)
        return refuse_unprofiled(pid);
    reader = live_ledger__read_as_it_is(path, message, sizeof(message));
    if (!reader)
        status = command__fail("%s", message);
    else if (is_running(pid)) /* the ledger is of an earlier process with this pid */
        status = refuse_unprofiled(pid);
    else
        status = command__fail("process %d has ended; to show its ledger: treadle report %s",
                               (int)pid, path);
    ledger_reader__close(reader);
    free(path);
    return status;
}

struct ledger_reader *live_ledger__read_running(const char *path, char *message,
                                                size_t message_bytes)
{
    int fd = open_ledger(path, message, message_bytes);
    struct ledger_reader *reader;

    if (fd < 0)
        return NULL;
    message[0] = '\0';
    reader = read_settled(fd, snapshot__copy, path, message, message_bytes);
    close(fd);
    if (!reader && !message[0])
        explain(path, message, message_bytes);
    return reader;
}

struct copying {
    int source_fd;
    int target_fd;
};

static int copy_now(void *context)
{
    const struct copying *copying = context;

    return live_counts__copy(copying->source_fd, copying->target_fd);
}

/* live_counts__copy with the rights of the user who wrote the ledger. */
static int copy_as_owner(int source_fd, int target_fd)
{
    struct copying copying = {source_fd, target_fd};

    return rights__work_as_owner(source_fd, copy_now, &copying);
}

/* A line, if what is wrong with a snapshot is its ledger: its end is cut off, or it is none. */
static bool fails_as_ledger(const char *live_path)
{
    char message[512], partial[PARTIAL_TEXT_BYTES] = "";
    struct ledger_summary summary;
    struct text_store texts = {0};

    if (ledger_summary__read(&summary, &texts, live_path, message, sizeof(message)) != 0) {
        command__fail("%s", message);
        return true;
    }
    text_store__release(&texts);
    report_losses__partial(summary.present_bytes, summary.missing_bytes, &summary.header, partial);
    if (partial[0])
        command__fail("%s: %s; to show what is there: treadle report %s", live_path, partial,
                      live_path);
    return partial[0] != '\0';
}

int live_ledger__dump(const char *live_path, const char *pattern, pid_t pid)
{
    char path[PATH_MAX];
    struct ledger_header header;
    char message[512];
    const struct ledger_complaint to = {live_path, message, sizeof(message)};
    int fd = ledger_file__open(live_path, &to);
    int error;

    if (fd < 0)
        return command__fail("%s", message);
    if (read_header_as_owner(fd, &header, &to) != 0) {
        close(fd);
        return command__fail("%s", message);
    }
    error = snapshot__path(path, sizeof(path), pattern, (int)pid, header.snapshots + 1);
    if (error) {
        close(fd);
        return command__fail("'%s' is not a valid path: after %% only p, n and t are known",
                             pattern);
    }
    error = snapshot__write_with(copy_as_owner, fd, path);
    close(fd);
    if (error == -ESRCH && header.pid != pid)
        return command__fail("process %d has a pid namespace of its own: take the snapshot inside "
                             "it, or with jcmd %d JVMTI.data_dump",
                             (int)pid, (int)pid);
    if (error == -ESRCH)
        return command__fail("process %d has ended; to show its ledger: treadle report %s",
                             (int)pid, live_path);
    if (error == -EINVAL && fails_as_ledger(live_path))
        return EXIT_BAD_INPUT;
    if (error)
        return command__fail("%s: cannot be written: %s", path, strerror(-error));
    puts(path);
    return EXIT_FINE;
}
