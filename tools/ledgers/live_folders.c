#include "tools/ledgers/live_folders.h"

#include "native/ledger/ledger_format.h"
#include "tools/report/memory.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LIVE_SUFFIX ".live"

/* The pid in "treadle-PID-…SUFFIX", or 0. */
static pid_t pid_in_name(const char *name, const char *suffix)
{
    static const char prefix[] = "treadle-";
    size_t length = strlen(name), bytes = strlen(suffix);
    char *end;

    if (strncmp(name, prefix, strlen(prefix)) != 0 || length < bytes ||
        strcmp(name + length - bytes, suffix) != 0)
        return 0;
    long pid = strtol(name + strlen(prefix), &end, 10);
    return *end == '-' && pid > 0 && pid < INT32_MAX ? (pid_t)pid : 0;
}

static bool is_snapshot_name(const char *name)
{
    size_t length = strlen(name);

    return length > 7 && strcmp(name + length - 7, ".ledger") == 0;
}

static void add(struct found_ledgers *found, const char *folder, const char *name, pid_t pid,
                const struct stat *file)
{
    bool here = strcmp(folder, ".") == 0;
    size_t bytes = strlen(folder) + strlen(name) + 2;
    char *path = memory__zeroed(bytes, 1);

    snprintf(path, bytes, "%s%s%s", here ? "" : folder, here ? "" : "/", name);
    found->items =
        memory__grown(found->items, &found->room, found->count + 1, sizeof(*found->items));
    found->items[found->count++] = (struct found_ledger){
        .path = path,
        .pid = pid,
        .owner = file->st_uid,
        .bytes = (uint64_t)file->st_blocks * 512,
        .changed_ns =
            (uint64_t)file->st_mtim.tv_sec * 1000000000u + (uint64_t)file->st_mtim.tv_nsec,
    };
}

/* True for a regular file. A live ledger is never a link; a snapshot may be one if both the link
 * and the file behind it are this user's: others may let a link lead anywhere, and change it. */
static bool is_file(int folder, const char *name, bool may_be_link, struct stat *file)
{
    if (fstatat(folder, name, file, AT_SYMLINK_NOFOLLOW) != 0)
        return false;
    if (!S_ISLNK(file->st_mode))
        return S_ISREG(file->st_mode);
    return may_be_link && file->st_uid == geteuid() && fstatat(folder, name, file, 0) == 0 &&
           S_ISREG(file->st_mode) && file->st_uid == geteuid();
}

/* suffix: of the files of processes; NULL: snapshots. */
static void look_into(struct found_ledgers *found, const char *folder, const char *suffix,
                      pid_t pid)
{
    DIR *directory = opendir(folder);

    if (!directory)
        return;
    const struct dirent *entry;
    while ((entry = readdir(directory)) != NULL) {
        struct stat file;
        pid_t named = suffix ? pid_in_name(entry->d_name, suffix) : 0;
        bool wanted = suffix ? named && (!pid || named == pid) : is_snapshot_name(entry->d_name);

        if (wanted && is_file(dirfd(directory), entry->d_name, !suffix, &file))
            add(found, folder, entry->d_name, named, &file);
    }
    closedir(directory);
}

static int by_age(const void *a, const void *b)
{
    const struct found_ledger *x = a;
    const struct found_ledger *y = b;

    if (x->changed_ns != y->changed_ns)
        return x->changed_ns < y->changed_ns ? -1 : 1;
    return strcmp(x->path, y->path);
}

static void find_all(struct found_ledgers *found, const char *suffix, pid_t pid)
{
    const char *folders[] = {"/dev/shm", getenv("XDG_RUNTIME_DIR"), getenv("TMPDIR"), "/tmp"};
    struct stat seen[sizeof(folders) / sizeof(folders[0])];
    size_t seen_count = 0;

    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
        bool known = false;

        if (!folders[i] || !folders[i][0] || stat(folders[i], &seen[seen_count]) != 0)
            continue;
        for (size_t j = 0; j < seen_count; j++)
            known |= seen[j].st_dev == seen[seen_count].st_dev &&
                     seen[j].st_ino == seen[seen_count].st_ino;
        if (known)
            continue;
        seen_count++;
        look_into(found, folders[i], suffix, pid);
    }
    if (found->count)
        qsort(found->items, found->count, sizeof(*found->items), by_age);
}

void live_folders__find(struct found_ledgers *found, pid_t pid)
{
    find_all(found, LIVE_SUFFIX, pid);
}

void live_folders__find_timelines(struct found_ledgers *found)
{
    find_all(found, TIMELINE_SUFFIX, 0);
}

void live_folders__find_snapshots_in(struct found_ledgers *found, const char *folder)
{
    look_into(found, folder, NULL, 0);
    if (found->count)
        qsort(found->items, found->count, sizeof(*found->items), by_age);
}

void live_folders__find_snapshots(struct found_ledgers *found)
{
    live_folders__find_snapshots_in(found, ".");
}

static bool is_same_folder(const char *a, const char *b)
{
    struct stat x, y;

    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* Two JVMs may work in one folder. */
static bool is_known(const char *folder, const struct found_ledgers *live, size_t before)
{
    if (is_same_folder(folder, "."))
        return true;
    for (size_t i = 0; i < before; i++) {
        char other[32];

        snprintf(other, sizeof(other), "/proc/%d/cwd", (int)live->items[i].pid);
        if (is_same_folder(folder, other))
            return true;
    }
    return false;
}

void live_folders__find_snapshots_beside(struct found_ledgers *found,
                                         const struct found_ledgers *live)
{
    size_t first = found->count;

    for (size_t i = 0; i < live->count; i++) {
        char link[32], folder[PATH_MAX];

        snprintf(link, sizeof(link), "/proc/%d/cwd", (int)live->items[i].pid);
        ssize_t length = readlink(link, folder, sizeof(folder) - 1);
        if (length <= 0 || is_known(link, live, i) || !found_ledger__is_trusted(&live->items[i]))
            continue;
        folder[length] = '\0';
        look_into(found, folder, NULL, 0);
    }
    if (found->count > first)
        qsort(found->items + first, found->count - first, sizeof(*found->items), by_age);
}

bool found_ledgers__add(struct found_ledgers *found, const char *path)
{
    struct stat file;

    if (stat(path, &file) != 0)
        return false;
    add(found, ".", path, 0, &file);
    found->items[found->count - 1].is_given = true;
    return true;
}

void found_ledgers__release(struct found_ledgers *found)
{
    for (size_t i = 0; i < found->count; i++)
        free(found->items[i].path);
    free(found->items);
    *found = (struct found_ledgers){0};
}

bool live_folders__names_live(const char *path)
{
    const char *slash = strrchr(path, '/');

    return pid_in_name(slash ? slash + 1 : path, LIVE_SUFFIX) != 0;
}

bool found_ledger__is_foreign(const struct found_ledger *ledger)
{
    return ledger->owner != geteuid();
}

bool found_ledger__is_trusted(const struct found_ledger *ledger)
{
    char path[32];
    struct stat process;

    snprintf(path, sizeof(path), "/proc/%d", (int)ledger->pid);
    if (stat(path, &process) == 0)
        return process.st_uid == ledger->owner;
    return ledger->owner == geteuid() || geteuid() == 0;
}
