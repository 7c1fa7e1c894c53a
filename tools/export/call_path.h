/*
 * The call path from a thread's root to a node as one line, "demo.Main.main;demo.Main.fib", kept up
 * to date while the nodes are gone through in tree order.
 *
 * The paths of all nodes together take space by the square of a tree's depth. So of a path with
 * more than CALL_PATH_FRAMES frames only the outermost and the innermost CALL_PATH_FRAMES / 2 are
 * kept, and one frame between them says how many were left out.
 */
#ifndef TREADLE_CALL_PATH_H
#define TREADLE_CALL_PATH_H

#include "tools/report/text.h"

#include <stddef.h>
#include <stdint.h>

#define CALL_PATH_FRAMES 512u

/* Zero it to begin. */
struct call_path {
    char *bytes; /* the whole path, nothing left out */
    size_t room;
    size_t *ends; /* by frame: where it ends in bytes; the next begins one later */
    size_t end_room;
    size_t frames;
    char *shortened;
    size_t shortened_room;
};

void call_path__release(struct call_path *path);

/* Makes the path that of a node called `name` with `frames_above` frames above its own, which must
 * be the first frames of the current path. */
void call_path__enter(struct call_path *path, size_t frames_above, struct text name);

/* Makes the path empty, as it is above a root. */
void call_path__leave_all(struct call_path *path);

/* Returns the path, shortened as said above; valid until the next call with the same path. */
struct text call_path__text(struct call_path *path);

/* Returns the number of frames of a stack of `frames` that are left out; *behind becomes the
 * number of frames above these. */
size_t call_path__left_out(size_t frames, size_t *behind);

#endif
