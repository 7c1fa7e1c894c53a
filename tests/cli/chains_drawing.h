/* Parts of two chains, worked out by hand, of a ring that holds five. */
#ifndef TREADLE_TESTS_CHAINS_DRAWING_H
#define TREADLE_TESTS_CHAINS_DRAWING_H

#include "native/ledger/chain_parts.h"
#include "tests/cli/plain_drawing.h"

#include <stdlib.h>

static inline ledger_ref chains__frame(struct drawing *drawing, uint64_t key,
                                       const char *identifier, const char *parameter)
{
    struct ledger_method_names names = {
        .class_name = "", .name = identifier, .signature = parameter};

    return ledger__add_method(&drawing->ledger, key, &names, METHOD_LOGICAL);
}

struct drawn_part {
    uint64_t id;
    uint64_t begin_ms;
    uint64_t elapsed_ms; /* 0: under way */
    uint64_t cpu_ms;
    const char *thread;
    ledger_ref path[2]; /* the innermost first */
    uint32_t flags;
};

static inline void chains__add(struct drawing *drawing, struct chain_parts *parts,
                               const struct drawn_part *drawn)
{
    struct ledger_part part = {.id = {0xabc, drawn->id},
                               .begin_ns = drawn->begin_ms * PLAIN_MS,
                               .pid = 4242,
                               .tid = 4243,
                               .flags = drawn->flags & ~(uint32_t)PART_UNENDED,
                               .depth = drawn->path[1] ? 2 : 1,
                               .path = {drawn->path[0], drawn->path[1]}};
    ledger_ref ref;

    part.thread = drawn->thread ? drawing__string(drawing, drawn->thread) : 0;
    ref = chain_parts__begin(parts, &part);
    drawing__check(ref != 0, "no room for a part");
    if (drawn->flags & PART_UNENDED)
        chain_part__give_up(&drawing->ledger, ref);
    else if (drawn->elapsed_ms)
        chain_part__end(&drawing->ledger, ref, drawn->elapsed_ms * PLAIN_MS,
                        drawn->cpu_ms * PLAIN_MS);
}

/*
 * Chain 1: a request of 100 ms with 10 ms of CPU time; a callee from 20 to 80 ms with 30 ms of CPU
 * time on a virtual thread: 60 of the 90 ms of waiting. Chain 2: a part whose end was not seen, and
 * one that is under way. The first part gives way: 7 ms, with 3 ms of CPU time.
 */
static inline void chains__draw(struct drawing *drawing)
{
    plain__describe(drawing);
    ledger_ref request = chains__frame(drawing, 901, "request", "GET");
    ledger_ref serve = chains__frame(drawing, 902, "serve", "");
    const struct drawn_part drawn[] = {
        {9, 1, 7, 3, "main", {serve}, 0},
        {1, 100, 100, 10, "main", {request}, PART_OTEL},
        {1, 120, 60, 30, NULL, {serve, request}, PART_VIRTUAL},
        {2, 300, 0, 0, "pool-1", {serve}, PART_UNENDED},
        {2, 310, 0, 0, "pool-2", {serve}, 0},
        {3, 400, 5, 5, "main", {request}, 0},
    };
    struct chain_parts *parts = calloc(1, sizeof(*parts));
    ledger_ref main_thread = drawing__thread(drawing, "main", THREAD_PLATFORM, PLAIN_MS);

    drawing__check(parts != NULL, "no memory");
    plain__set_times(drawing, main_thread, 4242, 0, 0);
    chain_parts__init(parts, &drawing->ledger);
    parts->most = 5;
    for (size_t i = 0; i < sizeof(drawn) / sizeof(drawn[0]); i++)
        chains__add(drawing, parts, &drawn[i]);
    drawing->ledger.header->lost_parts = 2;
    free(parts);
}

#endif
