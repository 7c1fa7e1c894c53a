/* A memory file system of a few pages, seen by this process only. Needs root. */
#ifndef TREADLE_TEST_SMALL_DISK_H
#define TREADLE_TEST_SMALL_DISK_H

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

struct small_disk {
    char folder[64];
};

/* False where it may not be, and then the reason is printed. */
static inline bool small_disk__mount(struct small_disk *disk, unsigned kib)
{
    char options[32];
    (void)snprintf(disk->folder, sizeof disk->folder, "/tmp/treadle-disk-XXXXXX");
    (void)snprintf(options, sizeof options, "size=%uk", kib);
    if (mkdtemp(disk->folder) == NULL) {
        printf("no folder under /tmp: %s\n", strerror(errno));
        return false;
    }
    if (unshare(CLONE_NEWNS) == 0 && mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
        mount("tmpfs", disk->folder, "tmpfs", 0, options) == 0)
        return true;
    printf("no small file system to be had: %s\n", strerror(errno));
    (void)rmdir(disk->folder);
    return false;
}

static inline void small_disk__unmount(struct small_disk *disk)
{
    (void)umount2(disk->folder, MNT_DETACH);
    (void)rmdir(disk->folder);
}

/* Writes one file until the disk is full; the other takes it away. */
static inline void small_disk__fill(const struct small_disk *disk)
{
    static const char page[4096] = "full";
    char path[96];
    (void)snprintf(path, sizeof path, "%s/filler", disk->folder);
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    while (fd >= 0 && write(fd, page, sizeof page) > 0)
        ;
    if (fd >= 0)
        (void)close(fd);
}

static inline void small_disk__free(const struct small_disk *disk)
{
    char path[96];
    (void)snprintf(path, sizeof path, "%s/filler", disk->folder);
    (void)unlink(path);
}

static inline int count_files(const char *folder)
{
    int count = 0;
    DIR *dir = opendir(folder);
    if (dir == NULL)
        return -1;
    const struct dirent *entry = NULL;
    while ((entry = readdir(dir)) != NULL)
        count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    (void)closedir(dir);
    return count;
}

#endif
