#include "tools/export/call_path.h"

#include "tools/report/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GAP_BYTES 48u

void call_path__release(struct call_path *path)
{
    free(path->bytes);
    free(path->ends);
    free(path->shortened);
}

void call_path__leave_all(struct call_path *path)
{
    path->frames = 0;
}

void call_path__enter(struct call_path *path, size_t frames_above, struct text name)
{
    size_t at = frames_above ? path->ends[frames_above - 1] + 1 : 0;

    path->bytes = memory__grown(path->bytes, &path->room, at + name.length + 1, 1);
    path->ends = memory__grown(path->ends, &path->end_room, frames_above + 1, sizeof(*path->ends));
    if (at)
        path->bytes[at - 1] = ';';
    memcpy(path->bytes + at, name.bytes, name.length);
    path->bytes[at + name.length] = '\0';
    path->ends[frames_above] = at + name.length;
    path->frames = frames_above + 1;
}

size_t call_path__left_out(size_t frames, size_t *behind)
{
    *behind = CALL_PATH_FRAMES / 2;
    return frames > CALL_PATH_FRAMES ? frames - CALL_PATH_FRAMES : 0;
}

/* Names the frames that are left out: "(7 frames left out)". */
static struct text gap_name(char name[GAP_BYTES], size_t left_out)
{
    int length = snprintf(name, GAP_BYTES, "(%zu frames left out)", left_out);

    return (struct text){name, (size_t)length};
}

struct text call_path__text(struct call_path *path)
{
    if (path->frames == 0)
        return (struct text){"", 0};
    size_t end = path->ends[path->frames - 1];
    size_t behind;
    size_t left_out = call_path__left_out(path->frames, &behind);
    if (left_out == 0)
        return (struct text){path->bytes, end};
    char gap[GAP_BYTES];
    struct text name = gap_name(gap, left_out);
    size_t head = path->ends[behind - 1] + 1;        /* with its ';' */
    size_t tail = path->ends[behind + left_out - 1]; /* ditto, before it */
    size_t length = head + name.length + (end - tail);
    path->shortened = memory__grown(path->shortened, &path->shortened_room, length + 1, 1);
    memcpy(path->shortened, path->bytes, head);
    memcpy(path->shortened + head, name.bytes, name.length);
    memcpy(path->shortened + head + name.length, path->bytes + tail, end - tail);
    path->shortened[length] = '\0';
    return (struct text){path->shortened, length};
}
