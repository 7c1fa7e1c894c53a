#include "native/ledger/orphan_ledgers.h"

#include "native/ledger/ledger_file.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Orphans that one call looks at; the others are left for the next call. */
#define ORPHANS_MAX 4096u

#define LIVE_SUFFIX ".live"

struct orphan {
    char name[NAME_MAX + 1];
    uint64_t changed_ns;
};

void orphan_ledger__lock(int fd)
{
    (void)flock(fd, LOCK_SH | LOCK_NB);
}

static bool ends_with(const char *name, const char *suffix)
{
    size_t length = strlen(name), bytes = strlen(suffix);

    return length > bytes && strcmp(name + length - bytes, suffix) == 0;
}

/* The name with another suffix; "" if it is too long. */
static void replace_suffix(char replaced[PATH_MAX], const char *name, const char *from,
                           const char *to)
{
    int kept = (int)(strlen(name) - strlen(from));

    if (snprintf(replaced, PATH_MAX, "%.*s%s", kept, name, to) >= PATH_MAX)
        replaced[0] = '\0';
}

static bool is_of_the_dead(int fd)
{
    char message[256];
    const struct ledger_complaint to = {"", message, sizeof(message)};
    struct ledger_header header;

    return ledger_file__read_header(fd, &header, &to) == 0 &&
           ledger_header__life(&header) == LEDGER_IS_ORPHAN;
}

/* A timeline belongs to the ledger beside it as long as there is one. */
static bool is_lone_timeline(int folder, const char *name, int fd)
{
    char ledger[PATH_MAX], magic[sizeof(TIMELINE_MAGIC)];
    struct stat file;

    replace_suffix(ledger, name, TIMELINE_SUFFIX, LIVE_SUFFIX);
    return ledger[0] && fstatat(folder, ledger, &file, AT_SYMLINK_NOFOLLOW) != 0 &&
           ledger_file__read_at(fd, magic, sizeof(magic), 0) == (ssize_t)sizeof(magic) &&
           memcmp(magic, TIMELINE_MAGIC, sizeof(magic)) == 0;
}

static bool is_own(const struct stat *file)
{
    return S_ISREG(file->st_mode) && file->st_uid == geteuid();
}

/* An open ledger of this user whose process is gone, or a timeline without a ledger; *changed_ns:
 * when it was written last. */
static bool is_orphan(int folder, const char *name, int fd, uint64_t *changed_ns)
{
    struct stat file;

    if (fstat(fd, &file) != 0 || !is_own(&file) ||
        !(ends_with(name, TIMELINE_SUFFIX) ? is_lone_timeline(folder, name, fd)
                                           : is_of_the_dead(fd)) ||
        flock(fd, LOCK_EX | LOCK_NB) != 0)
        return false;
    *changed_ns = (uint64_t)file.st_mtim.tv_sec * 1000000000u + (uint64_t)file.st_mtim.tv_nsec;
    return true;
}

/* Another user's file is not even opened: -1. */
static int open_at(int folder, const char *name)
{
    struct stat file;

    if (fstatat(folder, name, &file, AT_SYMLINK_NOFOLLOW) != 0 || !is_own(&file))
        return -1;
    return openat(folder, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY);
}

/* The timeline that the process was killed in, if any (native/timeline). */
static void remove_timeline_at(int folder, const char *live_name)
{
    char name[PATH_MAX];

    if (!ends_with(live_name, LIVE_SUFFIX))
        return;
    replace_suffix(name, live_name, LIVE_SUFFIX, TIMELINE_SUFFIX);
    if (name[0])
        (void)unlinkat(folder, name, 0);
}

/* Removes a file if it still is an orphan. */
static bool remove_at(int folder, const char *name)
{
    uint64_t changed_ns;
    int fd = open_at(folder, name);
    bool removed =
        fd >= 0 && is_orphan(folder, name, fd, &changed_ns) && unlinkat(folder, name, 0) == 0;

    if (removed)
        remove_timeline_at(folder, name);
    if (fd >= 0)
        close(fd);
    return removed;
}

bool orphan_ledger__is(const char *path)
{
    uint64_t changed_ns;
    int fd = open_at(AT_FDCWD, path);
    bool is = fd >= 0 && is_orphan(AT_FDCWD, path, fd, &changed_ns);

    if (fd >= 0)
        close(fd);
    return is;
}

bool orphan_ledger__remove(const char *path)
{
    return remove_at(AT_FDCWD, path);
}

static bool may_be_orphan(const char *name)
{
    return strncmp(name, "treadle-", 8) == 0 &&
           (ends_with(name, LIVE_SUFFIX) || ends_with(name, TIMELINE_SUFFIX));
}

static unsigned find_orphans(DIR *folder, struct orphan *orphans)
{
    const struct dirent *entry;
    unsigned count = 0;

    while (count < ORPHANS_MAX && (entry = readdir(folder))) {
        struct orphan *orphan = &orphans[count];
        int fd = may_be_orphan(entry->d_name) ? open_at(dirfd(folder), entry->d_name) : -1;

        if (fd < 0)
            continue;
        snprintf(orphan->name, sizeof(orphan->name), "%s", entry->d_name);
        count += is_orphan(dirfd(folder), orphan->name, fd, &orphan->changed_ns);
        close(fd);
    }
    return count;
}

static int newest_first(const void *a, const void *b)
{
    const struct orphan *x = a, *y = b;

    return (x->changed_ns < y->changed_ns) - (x->changed_ns > y->changed_ns);
}

unsigned orphan_ledgers__tidy(const char *folder)
{
    struct orphan *orphans = malloc(ORPHANS_MAX * sizeof(*orphans));
    DIR *directory = orphans ? opendir(folder) : NULL;
    struct timespec now;
    unsigned count, removed = 0;
    uint64_t now_ns;

    if (!directory) {
        free(orphans);
        return 0;
    }
    clock_gettime(CLOCK_REALTIME, &now);
    now_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    count = find_orphans(directory, orphans);
    qsort(orphans, count, sizeof(*orphans), newest_first);
    for (unsigned i = 0; i < count; i++)
        if (i >= ORPHANS_KEPT || orphans[i].changed_ns + ORPHANS_KEPT_NS < now_ns)
            removed += remove_at(dirfd(directory), orphans[i].name);
    closedir(directory);
    free(orphans);
    return removed;
}
