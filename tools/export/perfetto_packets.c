#include "tools/export/perfetto_packets.h"

#include "tools/report/memory.h"

#include <stdlib.h>
#include <string.h>

#define SEQUENCE 1u

enum dictionary_state {
    DICTIONARY_BEGINS = 1,
    DICTIONARY_IS_USED = 2,
};

ProtobufCBinaryData perfetto_packets__bytes(struct text text)
{
    return (ProtobufCBinaryData){text.length, (uint8_t *)text.bytes};
}

struct text perfetto_packets__text(const char *word)
{
    return (struct text){word, strlen(word)};
}

void perfetto_packets__release(struct perfetto_packets *packets)
{
    free(packets->packed);
    packets->packed = NULL;
    packets->packed_room = 0;
}

void perfetto_packets__write(struct perfetto_packets *packets, Timeline__Packet *packet)
{
    Timeline__Trace trace = TIMELINE__TRACE__INIT;
    size_t size;

    packet->has_sequence = true;
    packet->sequence = SEQUENCE;
    packet->has_dictionary_state = true;
    packet->dictionary_state = packets->written++ ? DICTIONARY_IS_USED : DICTIONARY_BEGINS;
    trace.n_packets = 1;
    trace.packets = &packet;
    size = timeline__trace__get_packed_size(&trace);
    packets->packed = memory__grown(packets->packed, &packets->packed_room, size, 1);
    timeline__trace__pack(&trace, packets->packed);
    fwrite(packets->packed, 1, size, packets->out);
}

void perfetto_packets__word(struct perfetto_packets *packets, enum perfetto_words which,
                            uint64_t id, struct text word)
{
    Timeline__Packet packet = TIMELINE__PACKET__INIT;
    Timeline__Dictionary dictionary = TIMELINE__DICTIONARY__INIT;
    Timeline__Word one = TIMELINE__WORD__INIT;
    Timeline__Word *words = &one;

    one.has_id = one.has_text = true;
    one.id = id;
    one.text = perfetto_packets__bytes(word);
    if (which == PERFETTO_CATEGORIES) {
        dictionary.n_categories = 1;
        dictionary.categories = &words;
    } else if (which == PERFETTO_EVENT_NAMES) {
        dictionary.n_event_names = 1;
        dictionary.event_names = &words;
    } else {
        dictionary.n_note_names = 1;
        dictionary.note_names = &words;
    }
    packet.dictionary = &dictionary;
    perfetto_packets__write(packets, &packet);
}

void perfetto_packets__track(struct perfetto_packets *packets, Timeline__Track *track)
{
    Timeline__Packet packet = TIMELINE__PACKET__INIT;

    track->has_id = true;
    packet.track = track;
    perfetto_packets__write(packets, &packet);
}

void perfetto_packets__event(struct perfetto_packets *packets, Timeline__Event *event,
                             uint64_t at_ns)
{
    Timeline__Packet packet = TIMELINE__PACKET__INIT;

    packet.has_time_ns = true;
    packet.time_ns = at_ns;
    packet.event = event;
    event->has_kind = event->has_track = true;
    perfetto_packets__write(packets, &packet);
}
