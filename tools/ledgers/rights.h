/*
 * When root reads what another user wrote, it does so with that user's rights: whatever the bytes
 * cause, they cannot do more than that user may do anyway.
 */
#ifndef TREADLE_RIGHTS_H
#define TREADLE_RIGHTS_H

#include <stddef.h>
#include <sys/types.h>

/* If this process is root and the file's owner is not, takes the owner's ids for good,
 * supplementary groups included; else does nothing. 0 or -errno. */
int rights__become_owner(int fd);

/* Does some work on a file of another user without giving up root's rights: in a child process that
 * has the owner's rights. If this process is not root, or root is the owner, the work is done here.
 * Returns what the work returns, 0 or -errno. What a child writes is seen here only if it lies in
 * memory of rights__shared, and may be anything: an enemy may have taken over the child. */
int rights__work_as_owner(int fd, int (*work)(void *context), void *context);

/* Zeroed memory that a child shares with this process; NULL: there is none. */
void *rights__shared(size_t bytes);
void rights__release_shared(void *memory, size_t bytes);

/* "; …" if root's rights were given up, since other files may then be out of reach; else "". */
const char *rights__loss(void);

/* Says that the output cannot be written, and why; `error` is -errno. Returns EXIT_BAD_INPUT. */
int rights__refuse_output(const char *output, int error);

#endif
