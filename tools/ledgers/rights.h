/*
 * Root that looks into what another user wrote does so with that user's rights: whatever the bytes
 * make it do, it is no more than the user may do anyway.
 */
#ifndef TREADLE_RIGHTS_H
#define TREADLE_RIGHTS_H

#include <sys/types.h>

/* For good, supplementary groups too, if this is root and the user is not; else nothing happens.
 * 0 or -errno. */
int rights__become(uid_t uid, gid_t gid);

/* The same for the owner of an open file. */
int rights__become_owner(int fd);

/* Says that the output cannot be written, and why; -errno is given. EXIT_BAD_INPUT. */
int rights__refuse_output(const char *output, int error);

#endif
