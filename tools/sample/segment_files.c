#define TREADLE_FORMAT_ONLY /* reads stacks, has none */
#include "tools/sample/segment_files.h"

#include "native/activity/segment_reader.h"
#include "native/proc/process_stat.h"
#include "tools/report/memory.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define KEPT   10u
#define KEPT_S (7 * 86400)

static const char *const folders[] = {"/dev/shm", "/tmp"};

/* The pid in "treadle-PID-….activity", or 0. */
static pid_t pid_in_name(const char *name)
{
    static const char prefix[] = "treadle-", suffix[] = ".activity";
    size_t length = strlen(name);
    char *end;

    if (strncmp(name, prefix, sizeof(prefix) - 1) != 0 || length < sizeof(suffix) ||
        strcmp(name + length - (sizeof(suffix) - 1), suffix) != 0)
        return 0;
    long pid = strtol(name + sizeof(prefix) - 1, &end, 10);
    return *end == '-' && pid > 0 && pid < INT32_MAX ? (pid_t)pid : 0;
}

static void add(struct segment_files *found, const char *folder, const char *name)
{
    char *path;

    if (asprintf(&path, "%s/%s", folder, name) < 0)
        return;
    found->paths =
        memory__grown(found->paths, &found->room, found->count + 1, sizeof(*found->paths));
    found->paths[found->count++] = path;
}

static bool is_own(const struct stat *file)
{
    return S_ISREG(file->st_mode) && file->st_uid == geteuid();
}

/* pid 0: of all processes. Those of this user, or those of others. */
static void look_into(struct segment_files *found, const char *folder, pid_t pid, bool of_this_user)
{
    DIR *directory = opendir(folder);
    const struct dirent *entry;
    struct stat file;

    while (directory && (entry = readdir(directory)) != NULL) {
        pid_t named = pid_in_name(entry->d_name);

        if (named && (!pid || named == pid) &&
            fstatat(dirfd(directory), entry->d_name, &file, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISREG(file.st_mode) && is_own(&file) == of_this_user)
            add(found, folder, entry->d_name);
    }
    if (directory)
        closedir(directory);
}

static int64_t changed_s(const char *path)
{
    struct stat file;

    return lstat(path, &file) == 0 ? file.st_ctim.tv_sec : 0;
}

static int by_age(const void *a, const void *b)
{
    int64_t x = changed_s(*(char *const *)a), y = changed_s(*(char *const *)b);

    return x < y ? -1 : x > y;
}

/* True if the process's maps name the file, or cannot be read. */
static bool is_mapped(pid_t pid, const char *path)
{
    char maps[64], line[1024];
    bool found = false;
    FILE *file;

    snprintf(maps, sizeof(maps), "/proc/%d/maps", pid);
    file = fopen(maps, "re");
    if (!file)
        return true;
    while (!found && fgets(line, sizeof(line), file))
        found = strstr(line, path) != NULL;
    fclose(file);
    return found;
}

static void keep_mapped(struct segment_files *found, pid_t pid)
{
    size_t kept = 0;

    for (size_t i = 0; i < found->count; i++)
        if (is_mapped(pid, found->paths[i]))
            found->paths[kept++] = found->paths[i];
        else
            free(found->paths[i]);
    found->count = kept;
}

void segment_files__find(struct segment_files *found, pid_t pid, bool only_mapped)
{
    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
        look_into(found, folders[i], pid, true);
    if (only_mapped)
        keep_mapped(found, pid);
    if (found->count)
        qsort((void *)found->paths, found->count, sizeof(*found->paths), by_age);
}

void segment_files__release(struct segment_files *found)
{
    for (size_t i = 0; i < found->count; i++)
        free(found->paths[i]);
    free((void *)found->paths);
}

static int64_t clock_s(clockid_t clock)
{
    struct timespec now;

    return clock_gettime(clock, &now) == 0 ? now.tv_sec : 0;
}

/* When a process started, as files' times are. */
static int64_t started_s(uint64_t start_ticks)
{
    return clock_s(CLOCK_REALTIME) - clock_s(CLOCK_BOOTTIME) +
           (int64_t)start_ticks / sysconf(_SC_CLK_TCK);
}

/* The maps of a process that changed its user cannot be read, as a rule; but what an earlier
 * process of its pid left was last changed before it began. */
char *segment_files__of_other_user(pid_t pid, uint64_t start_ticks, uid_t *owner)
{
    int64_t start_s = started_s(start_ticks);
    struct segment_files found = {0};
    struct stat file;
    char *path = NULL;

    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
        look_into(&found, folders[i], pid, false);
    keep_mapped(&found, pid);
    for (size_t i = 0; i < found.count && !path; i++)
        if (lstat(found.paths[i], &file) == 0 && file.st_mtim.tv_sec + 1 >= start_s) {
            *owner = file.st_uid;
            path = strdup(found.paths[i]);
        }
    segment_files__release(&found);
    return path;
}

char *segment_files__in_maps(pid_t pid)
{
    char name[64], line[1024], *path = NULL;
    FILE *file;

    snprintf(name, sizeof(name), "/proc/%d/maps", pid);
    file = fopen(name, "re");
    while (file && !path && fgets(line, sizeof(line), file)) {
        char *begin = strchr(line, '/'), *last = strrchr(line, '/');

        line[strcspn(line, "\n")] = '\0';
        if (begin && pid_in_name(last + 1))
            path = strdup(begin);
    }
    if (file)
        fclose(file);
    return path;
}

bool segment_files__newest_start(pid_t pid, uint64_t *start_ticks)
{
    struct segment_files found = {0};
    bool any = false;
    char why[200];

    segment_files__find(&found, pid, false);
    for (size_t i = 0; i < found.count; i++) {
        struct segment_reader *segment = segment_reader__open(found.paths[i], why, sizeof(why));

        if (segment && segment_reader__pid(segment) == pid) {
            *start_ticks = segment_reader__start_ticks(segment);
            any = true;
        }
        segment_reader__close(segment);
    }
    segment_files__release(&found);
    return any;
}

/* Its process is the one that the file's name has, unless that one began later. It was killed in
 * the few microseconds before it wrote the head. */
static bool is_headless_left(const char *path, const struct stat *file)
{
    const char *slash = strrchr(path, '/');
    pid_t pid = pid_in_name(slash ? slash + 1 : path);
    uint64_t start_ticks;

    return pid && file->st_mtim.tv_sec + TREADLE_LEFT_S < time(NULL) &&
           segment_reader__is_headless(path) &&
           (process_start__read(pid, &start_ticks) != 0 ||
            file->st_mtim.tv_sec + 1 < started_s(start_ticks));
}

bool segment_files__is_left(const char *path)
{
    char why[200];
    struct stat file;
    bool may_be = lstat(path, &file) == 0 && is_own(&file);

    if (may_be && is_headless_left(path, &file))
        return true;
    struct segment_reader *segment = may_be ? segment_reader__open(path, why, sizeof(why)) : NULL;
    uint64_t start_ticks;
    bool is_gone =
        segment && (process_start__read(segment_reader__pid(segment), &start_ticks) != 0 ||
                    start_ticks != segment_reader__start_ticks(segment));

    segment_reader__close(segment);
    return is_gone;
}

bool segment_files__remove(const char *path)
{
    return segment_files__is_left(path) && unlink(path) == 0;
}

unsigned segment_files__tidy(void)
{
    struct segment_files found = {0};
    unsigned removed = 0, gone = 0;

    segment_files__find(&found, 0, false);
    for (size_t i = found.count; i-- > 0;)
        if (segment_files__is_left(found.paths[i]) &&
            (segment_reader__is_headless(found.paths[i]) || ++gone > KEPT ||
             changed_s(found.paths[i]) + KEPT_S < time(NULL)))
            removed += unlink(found.paths[i]) == 0;
    segment_files__release(&found);
    return removed;
}
