/*
 * Reading the logical stacks of another process, from its segment; treadle.h has the format.
 *
 * The segment's bytes are the other process's: what the head says is checked once, against the size
 * of the file, and every index and every frame when it is read. A file that is cut while it is
 * mapped gives a fault: callers read between fault_guard__enter and fault_guard__leave. Nothing in
 * the other process waits for a reader. One thread at a time uses a reader. What includes this
 * header and has no stacks itself defines TREADLE_FORMAT_ONLY.
 */
#ifndef TREADLE_SEGMENT_READER_H
#define TREADLE_SEGMENT_READER_H

#include "native/activity/treadle.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define SEGMENT_FRAMES_MAX 64u /* of a stack that a reader can read */

struct segment_frame {
    uint64_t place; /* struct treadle_frame's */
    uint32_t identifier;
    uint32_t kind; /* enum treadle_kind */
    uint32_t length;
    int64_t number;
    char text[TREADLE_PARAMETER_BYTES]; /* `length` bytes */
};

/* The stack of a thread at one moment, the oldest frame first. */
struct segment_stack {
    pid_t tid;
    uint32_t depth;
    struct segment_frame frames[SEGMENT_FRAMES_MAX];
};

/* A part of a chain. */
struct segment_part {
    uint64_t id[2];
    uint64_t begin_ns; /* CLOCK_MONOTONIC */
    uint64_t elapsed_ns;
    uint64_t cpu_ns;
    pid_t tid;
    uint32_t flags; /* TREADLE_PART_UNENDED, … */
    uint32_t depth; /* frames of its path … */
    uint32_t count; /* … of which the oldest are known */
    struct segment_frame frames[TREADLE_FRAMES];
};

#define SEGMENT_PARTS_MAX 4096u /* of a ring that a reader can read */

enum segment_part_read {
    SEGMENT_NO_PART, /* not there yet, or being written */
    SEGMENT_OPEN_PART,
    SEGMENT_PART,
    SEGMENT_PART_GONE, /* a later one is in its place, or it was never there */
};

/* What a segment has counted so far. */
struct segment_losses {
    uint64_t lost_parts;
    uint64_t lost_frames;
    uint64_t lost_threads;
    uint64_t lost_identifiers;
    uint64_t cut_identifiers;
    uint64_t cut_parameters;
};

enum segment_read {
    SEGMENT_NO_THREAD, /* the slot is free */
    SEGMENT_STACK,
    SEGMENT_TORN, /* the stack changed whenever it was looked at: nothing is known */
};

struct segment_reader;

/* Opens the segment at `path`, which must be a file of this process's user that no other user can
 * open. On failure returns NULL, with a line in `why`: what is wrong, and what was expected. */
struct segment_reader *segment_reader__open(const char *path, char *why, size_t why_bytes);

/* True of a file that may become a segment, but whose process has not written the head. */
bool segment_reader__is_headless(const char *path);

/* Does not end a watch. */
void segment_reader__close(struct segment_reader *reader);

const char *segment_reader__path(const struct segment_reader *reader);
pid_t segment_reader__pid(const struct segment_reader *reader);
uint64_t segment_reader__start_ticks(const struct segment_reader *reader);
uint64_t segment_reader__inode(const struct segment_reader *reader);

/* Why the process records nothing, for people; NULL: it records. */
const char *segment_reader__unrecorded(const struct segment_reader *reader);

/* Has the process record frames for the next `lease_ns`, or go on. 0 or -errno. end: no more,
 * unless another reader watches. */
int segment_reader__watch(struct segment_reader *reader, uint64_t lease_ns);
void segment_reader__end_watch(struct segment_reader *reader);

/* How many slots there are now, free ones included. Maps what the file has grown by. */
uint32_t segment_reader__slots(struct segment_reader *reader);

/* Reads the stack in a slot. Without a watch: frames as the process recorded them last. */
enum segment_read segment_reader__read(const struct segment_reader *reader, uint32_t slot,
                                       struct segment_stack *stack);

/* The text of an identifier, which is copied to `text`; its length, 0: there is none. */
size_t segment_reader__identifier(const struct segment_reader *reader, uint32_t index,
                                  char text[TREADLE_IDENTIFIER_BYTES]);

/* The turn of the part that will be begun next, and how large the ring of parts is: `*max` parts
 * before it may be there. 0, and *max 0: there is no ring. Maps what the file has grown by. */
uint64_t segment_reader__parts(struct segment_reader *reader, uint32_t *max);

/* The turn of the part that was to be begun next when the segment was opened. */
uint64_t segment_reader__parts_at_open(const struct segment_reader *reader);

/* Reads the part of a turn; what is read may be anything that the other process wrote. */
enum segment_part_read segment_reader__read_part(const struct segment_reader *reader, uint64_t turn,
                                                 struct segment_part *part);

struct segment_losses segment_reader__losses(const struct segment_reader *reader);

#endif
