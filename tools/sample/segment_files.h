/* Finding the segments of logical stacks: /dev/shm/treadle-PID-RANDOM.activity, or in /tmp. */
#ifndef TREADLE_SEGMENT_FILES_H
#define TREADLE_SEGMENT_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct segment_files {
    char **paths; /* the oldest first */
    size_t count;
    size_t room;
};

/* Finds the segments of a process by their names; zero the result first. only_mapped: those that
 * the process has mapped now, as far as /proc tells; a program that was executed in its place has
 * others. */
void segment_files__find(struct segment_files *found, pid_t pid, bool only_mapped);
void segment_files__release(struct segment_files *found);

/* Finds the segment that a process of this user made, as far as can be told, while it was another
 * user's, whose the file is. The path is to be freed; NULL: there is none. */
char *segment_files__of_other_user(pid_t pid, uint64_t start_ticks, uid_t *owner);

/* Finds a segment that a process has mapped, under the name that it has there: of use where none is
 * found here. The path is to be freed; NULL: there is none. */
char *segment_files__in_maps(pid_t pid);

/* When the last process of that pid started that left a segment of this user; false: none did. */
bool segment_files__newest_start(pid_t pid, uint64_t *start_ticks);

/* True of a segment of this user whose process is gone, or of what was to be one before the process
 * was killed. */
bool segment_files__is_left(const char *path);

/* Removes the file at `path` if it is such a segment. False: nothing was removed. */
bool segment_files__remove(const char *path);

/* Removes segments of this user whose processes are gone, but for the ten newest of the last week
 * in which there is something.
 * Returns how many. */
unsigned segment_files__tidy(void);

#endif
