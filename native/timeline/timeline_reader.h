/*
 * Reading the events of a timeline from outside, while they are written or later. The file is read
 * and not mapped, and every number in it is checked: it may be damaged, cut off or hostile. An
 * event that was overwritten before it was read, that no writer has finished, or that makes no
 * sense is counted instead.
 */
#ifndef TREADLE_TIMELINE_READER_H
#define TREADLE_TIMELINE_READER_H

#include "native/ledger/ledger_file.h"
#include "native/timeline/timeline_format.h"

#include <stdbool.h>
#include <stdint.h>

#define TIMELINE_READER_SLOTS 1024u

struct timeline_reader {
    int fd;
    struct timeline_header header; /* as it was read last */
    uint64_t next[TIMELINE_LANES_MAX];
    uint64_t stalled_ns[TIMELINE_LANES_MAX]; /* since when the next event is waited for; or 0 */
    uint64_t patience_ns; /* so long an event that is not finished is waited for */
    uint64_t read;
    uint64_t lost;      /* overwritten, or not finished */
    uint64_t senseless; /* left out, for no agent writes such an event */
    struct timeline_event events[TIMELINE_READER_SLOTS];
    struct timeline_event again[TIMELINE_READER_SLOTS];
};

/* Gets an event that makes sense in itself. */
typedef void timeline_taker(void *context, const struct timeline_event *event);

/* Opens a regular file, and nothing else: a FIFO or a device is an error at once. The descriptor,
 * or -1 after a complaint. */
int timeline_reader__open(const char *path, bool follows_link, const struct ledger_complaint *to);

/* Takes over the descriptor of a regular file. 0, or -1 after a complaint; fd is then not taken. */
int timeline_reader__begin(struct timeline_reader *reader, int fd,
                           const struct ledger_complaint *to);
void timeline_reader__end(struct timeline_reader *reader);

/* Passes on the events since the last call; of each lane in the order in which they were begun.
 * last: none is waited for any more. */
void timeline_reader__drain(struct timeline_reader *reader, bool last, timeline_taker *take,
                            void *context);

/* Returns that were not timed, when the file was read last. */
uint64_t timeline_reader__unseen_calls(const struct timeline_reader *reader);

#endif
