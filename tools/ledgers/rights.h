/*
 * When root reads what another user wrote, it does so with that user's rights: whatever the bytes
 * cause, they cannot do more than that user may do anyway.
 */
#ifndef TREADLE_RIGHTS_H
#define TREADLE_RIGHTS_H

#include <sys/types.h>

/* If this process is root and the file's owner is not, takes the owner's ids for good,
 * supplementary groups included; else does nothing. 0 or -errno. */
int rights__become_owner(int fd);

/* Says that the output cannot be written, and why; `error` is -errno. Returns EXIT_BAD_INPUT. */
int rights__refuse_output(const char *output, int error);

#endif
