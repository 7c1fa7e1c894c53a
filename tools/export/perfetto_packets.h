/*
 * Packets of Perfetto's trace, written one at a time: no more than one is in memory. Names are
 * words of a dictionary that the packets build up.
 */
#ifndef TREADLE_PERFETTO_PACKETS_H
#define TREADLE_PERFETTO_PACKETS_H

#include "timeline.pb-c.h"
#include "tools/report/text.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum perfetto_words {
    PERFETTO_CATEGORIES,
    PERFETTO_EVENT_NAMES,
    PERFETTO_NOTE_NAMES,
};

/* Set `out` to begin, zero the rest; errors are left to ferror(). */
struct perfetto_packets {
    FILE *out;
    uint8_t *packed;
    size_t packed_room;
    uint64_t written;
};

void perfetto_packets__release(struct perfetto_packets *packets);

/* The first packet begins the dictionary. */
void perfetto_packets__write(struct perfetto_packets *packets, Timeline__Packet *packet);

/* id is not 0. */
void perfetto_packets__word(struct perfetto_packets *packets, enum perfetto_words which,
                            uint64_t id, struct text word);

/* The track's id must be set. */
void perfetto_packets__track(struct perfetto_packets *packets, Timeline__Track *track);

/* The event's kind and track must be set. */
void perfetto_packets__event(struct perfetto_packets *packets, Timeline__Event *event,
                             uint64_t at_ns);

ProtobufCBinaryData perfetto_packets__bytes(struct text text);
struct text perfetto_packets__text(const char *word);

#endif
