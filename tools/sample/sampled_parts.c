#define TREADLE_FORMAT_ONLY /* reads stacks, has none */
#include "tools/sample/sampled_parts.h"

#include <inttypes.h>
#include <stdio.h>

static ledger_ref method_of(struct sampled_parts *parts, struct segment_reader *segment,
                            const struct segment_frame *frame)
{
    char identifier[TREADLE_IDENTIFIER_BYTES], number[24];
    struct activity_frame text = {.identifier = identifier};

    text.identifier_length = segment_reader__identifier(segment, frame->identifier, identifier);
    text.parameter = frame->text;
    text.parameter_length = frame->kind == TREADLE_TEXT ? frame->length : 0;
    if (frame->kind == TREADLE_NUMBER) {
        text.parameter = number;
        text.parameter_length = (size_t)snprintf(number, sizeof(number), "%" PRId64, frame->number);
    }
    return activity_tree__method(parts->tree, &text);
}

static void add(struct sampled_parts *parts, struct segment_reader *segment,
                const struct segment_part *from, bool is_open)
{
    struct ledger *ledger = parts->ring.ledger;
    struct ledger_part part = {
        .id = {from->id[0], from->id[1]},
        .begin_ns = from->begin_ns,
        .tid = from->tid,
        .pid = ledger->header->pid,
        .flags = from->flags & TREADLE_PART_OTEL ? PART_OTEL : 0,
        .depth = from->depth,
        .thread = parts->name_of(parts->context, from->tid),
    };
    unsigned frames = 0;
    ledger_ref ref;

    for (uint32_t i = from->count; i-- > 0 && frames < PART_FRAMES;)
        if ((part.path[frames] = method_of(parts, segment, &from->frames[i])) != 0)
            frames++;
    ref = chain_parts__begin(&parts->ring, &part);
    if (!ref || is_open)
        return;
    if (from->flags & TREADLE_PART_UNENDED)
        chain_part__give_up(ledger, ref);
    else
        chain_part__end(ledger, ref, from->elapsed_ns, from->cpu_ns);
}

static void count_lost(struct sampled_parts *parts, uint64_t count)
{
    ledger__count(&parts->ring.ledger->header->lost_parts, count);
}

/* Skips what was written over before anybody looked. */
static void catch_up(struct sampled_parts *parts, struct part_feed *feed, uint64_t begun,
                     uint32_t max)
{
    uint64_t lost;

    if (feed->low > begun)
        feed->low = begun;
    if (begun - feed->low <= max)
        return;
    lost = begun - max - feed->low;
    for (uint64_t turn = feed->low; turn < feed->low + max && turn < begun - max; turn++)
        lost -= feed->taken[turn % max] == turn + 1;
    count_lost(parts, lost);
    feed->low = begun - max;
}

static void take(struct sampled_parts *parts, struct segment_reader *segment,
                 struct part_feed *feed, bool is_last)
{
    uint32_t max;
    uint64_t begun = segment_reader__parts(segment, &max);
    struct segment_part part;
    bool is_lowest = true;

    if (!max)
        return;
    catch_up(parts, feed, begun, max);
    for (uint64_t turn = feed->low; turn < begun; turn++) {
        uint64_t *taken = &feed->taken[turn % max];
        enum segment_part_read read = SEGMENT_PART_GONE;

        if (*taken != turn + 1)
            read = segment_reader__read_part(segment, turn, &part);
        if (read == SEGMENT_PART || (read == SEGMENT_OPEN_PART && is_last)) {
            add(parts, segment, &part, read == SEGMENT_OPEN_PART);
            *taken = turn + 1;
        }
        is_lowest = is_lowest && (read == SEGMENT_PART || read == SEGMENT_PART_GONE);
        if (is_lowest)
            feed->low = turn + 1;
    }
}

void sampled_parts__take(struct sampled_parts *parts, struct segment_reader *segment,
                         struct part_feed *feed)
{
    take(parts, segment, feed, false);
}

void sampled_parts__take_open(struct sampled_parts *parts, struct segment_reader *segment,
                              struct part_feed *feed)
{
    take(parts, segment, feed, true);
}
