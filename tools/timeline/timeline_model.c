#include "tools/timeline/timeline_model.h"

#include "native/ledger/ledger_blocks.h"
#include "tools/report/memory.h"
#include "tools/timeline/timeline_names.h"
#include "tools/timeline/timeline_runs.h"

#include <stdlib.h>
#include <string.h>

#define DRIFT_MOST 1e-3 /* of two clocks; more is none */

static const struct {
    enum ledger_metric metric;
    const char *name;
} reasons[TIMELINE_REASONS] = {
    {METRIC_MONITOR_WAIT, "monitor"},
    {METRIC_OBJECT_WAIT, "object wait"},
    {METRIC_PARK, "park"},
    {METRIC_SLEEP, "sleep"},
    {METRIC_IO_WAIT, "io"},
};

const char *timeline_reason__name(unsigned place)
{
    return reasons[place < TIMELINE_REASONS ? place : 0].name;
}

/* The reader has checked that it is one of them. */
static uint16_t place_of(unsigned reason)
{
    uint16_t place = 0;

    while (place + 1u < TIMELINE_REASONS && reasons[place].metric != reason)
        place++;
    return place;
}

/* ---- tracks ---- */

static uint64_t key_of_tid(int32_t tid)
{
    return (uint64_t)(uint32_t)tid << 1;
}

static uint64_t key_of_id(uint64_t java_id)
{
    return java_id << 1 | 1;
}

static bool has_key(const struct timeline_track *track, uint64_t key)
{
    return key & 1 ? key_of_id(track->java_id) == key && track->java_id
                   : track->tid && key_of_tid(track->tid) == key;
}

static uint32_t find_track(const struct timeline_model *model, uint64_t key)
{
    uint64_t hash = index_table__hash_number(0, key);
    size_t probe = 0;
    uint32_t index;

    while ((index = index_table__next(&model->track_table, hash, &probe)) != INDEX_TABLE_NONE)
        if (has_key(&model->tracks[index], key))
            return index;
    return TIMELINE_NONE;
}

static void add_key(struct timeline_model *model, uint64_t key, uint32_t track)
{
    index_table__add(&model->track_table, index_table__hash_number(0, key), track);
}

static uint32_t add_track(struct timeline_model *model, uint64_t java_id, int32_t tid,
                          enum ledger_thread_kind kind)
{
    uint32_t index = (uint32_t)model->track_count++;

    model->tracks = memory__grown(model->tracks, &model->track_room, model->track_count,
                                  sizeof(*model->tracks));
    model->tracks[index] =
        (struct timeline_track){.java_id = java_id, .tid = tid, .kind = (uint8_t)kind};
    if (java_id)
        add_key(model, key_of_id(java_id), index);
    /* The first one is found; more keys of one tid would only be in the way. */
    if (tid && find_track(model, key_of_tid(tid)) == TIMELINE_NONE)
        add_key(model, key_of_tid(tid), index);
    return index;
}

/* A virtual thread has no tid of its own. */
static uint32_t track_of(struct timeline_model *model, uint64_t java_id, int32_t tid, uint8_t kind)
{
    int32_t own_tid = kind == THREAD_VIRTUAL ? 0 : tid;
    uint32_t track = java_id ? find_track(model, key_of_id(java_id)) : TIMELINE_NONE;

    if (track == TIMELINE_NONE && !java_id)
        track = find_track(model, key_of_tid(own_tid));
    return track != TIMELINE_NONE ? track : add_track(model, java_id, own_tid, kind);
}

uint32_t timeline_model__find(const struct timeline_model *model, uint64_t java_id, int32_t tid)
{
    return find_track(model, java_id ? key_of_id(java_id) : key_of_tid(tid));
}

uint32_t timeline_model__track(struct timeline_model *model, uint64_t java_id, int32_t tid,
                               enum ledger_thread_kind kind)
{
    return track_of(model, java_id, tid, (uint8_t)kind);
}

/* ---- slices ---- */

static struct timeline_slice *add_slice(struct timeline_model *model,
                                        const struct timeline_slice *like, uint64_t begin_ns,
                                        uint64_t end_ns)
{
    const struct timeline_store *store = model->store;
    struct timeline_slice *slice;

    if (begin_ns < store->began_ns)
        begin_ns = store->began_ns;
    if (end_ns > store->ended_ns)
        end_ns = store->ended_ns;
    if (begin_ns >= end_ns)
        return NULL;
    model->slices = memory__grown(model->slices, &model->slice_room, model->slice_count + 1,
                                  sizeof(*model->slices));
    slice = &model->slices[model->slice_count++];
    *slice = *like;
    slice->begin_ns = begin_ns;
    slice->end_ns = end_ns;
    model->counts[slice->kind]++;
    return slice;
}

static void add_wait(struct timeline_model *model, const struct timeline_slice *like,
                     uint64_t begin_ns, uint64_t end_ns)
{
    struct timeline_slice *slice = add_slice(model, like, begin_ns, end_ns);
    struct timeline_track *track = &model->tracks[like->track];

    if (!slice)
        return;
    track->wait_ns[slice->place] += slice->end_ns - slice->begin_ns;
    track->waits[slice->place]++;
}

/* From the ledger's clock to CLOCK_MONOTONIC, which may run at slightly different rates. One line
 * for all calls, so that those that are nested stay so. */
struct clock_line {
    uint64_t ledger_ns; /* the same moment on both */
    uint64_t ns;
    double drift; /* ns a ns */
};

/* Both were read when a call returned, the ledger's clock first: what passed in between makes the
 * drift seem larger, by the less the later the call. The smallest of the later half is next to it.
 */
static struct clock_line line_through(const struct timeline_store *store,
                                      const struct timeline_event *events, size_t count)
{
    struct clock_line line = {store->ledger_began_ns, store->began_ns, 0};
    double span_ns = (double)(store->ended_ns - store->began_ns);
    bool found = false;

    for (size_t i = 0; i < count; i++) {
        const struct timeline_event *event = &events[i];
        double passed_ns, ledger_ns;

        if (event->kind != TIMELINE_CALL || event->at_ns < store->began_ns)
            continue;
        passed_ns = (double)(event->at_ns - store->began_ns);
        ledger_ns = (double)event->call.left_ns - (double)line.ledger_ns;
        if (passed_ns < span_ns / 2 || ledger_ns <= 0)
            continue;
        if (!found || passed_ns / ledger_ns - 1 < line.drift)
            line.drift = passed_ns / ledger_ns - 1;
        found = true;
    }
    if (line.drift > DRIFT_MOST || line.drift < -DRIFT_MOST)
        line.drift = 0;
    return line;
}

/* Before the line's begin there is nothing to draw. */
static uint64_t on_line(const struct clock_line *line, uint64_t ledger_ns)
{
    uint64_t passed_ns = ledger_ns > line->ledger_ns ? ledger_ns - line->ledger_ns : 0;

    return line->ns + passed_ns + (uint64_t)(int64_t)((double)passed_ns * line->drift);
}

/* What is known of a thread while its events are gone through. */
struct open_wait {
    struct timeline_slice slice;
    bool is_open;
    bool has_events; /* of waits */
};

struct walk {
    struct timeline_model *model;
    struct timeline_names *names;
    struct open_wait *waits; /* by track */
    size_t room;
    bool all; /* no event was lost */
    struct clock_line line;
};

static struct open_wait *wait_of(struct walk *walk, uint32_t track)
{
    size_t before = walk->room;

    walk->waits = memory__grown(walk->waits, &walk->room, (size_t)track + 1, sizeof(*walk->waits));
    memset(walk->waits + before, 0, (walk->room - before) * sizeof(*walk->waits));
    return &walk->waits[track];
}

static struct timeline_slice wait_like(struct walk *walk, uint32_t track, unsigned reason)
{
    return (struct timeline_slice){
        .track = track,
        .kind = SLICE_WAIT,
        .place = place_of(reason),
        .owner = TIMELINE_NONE,
        .label = timeline_names__reason(walk->names, timeline_reason__name(place_of(reason)), 0)};
}

static void take_wait(struct walk *walk, const struct timeline_event *event, uint32_t track)
{
    struct open_wait *wait = wait_of(walk, track);

    walk->model->unmatched += wait->is_open;
    wait->slice = wait_like(walk, track, event->reason);
    wait->slice.begin_ns = event->at_ns;
    wait->is_open = wait->has_events = true;
}

static void take_lock(struct walk *walk, const struct timeline_event *event, uint32_t track)
{
    struct open_wait *wait = wait_of(walk, track);
    struct timeline_slice *slice = &wait->slice;

    /* Of a wait that began before the timeline the lock may still be told at its end. */
    if (!wait->is_open)
        return;
    slice->identity = event->lock.identity;
    slice->lock_class = event->lock.class_name;
    slice->lock_kind = event->lock.kind;
    slice->label = timeline_names__reason(walk->names, timeline_reason__name(slice->place),
                                          event->lock.class_name);
    if (event->lock.owner_id) {
        uint32_t owner = find_track(walk->model, key_of_id(event->lock.owner_id));

        /* Of one that has no event of its own it is not known whether it is virtual. */
        if (owner == TIMELINE_NONE && event->lock.owner_tid)
            owner = find_track(walk->model, key_of_tid(event->lock.owner_tid));
        if (owner == TIMELINE_NONE)
            owner = timeline_names__owner(walk->names, walk->model, event->lock.owner_id);
        slice->owner = owner;
    }
}

static void take_waited(struct walk *walk, const struct timeline_event *event, uint32_t track)
{
    struct open_wait *wait = wait_of(walk, track);

    if (wait->is_open && wait->slice.place == place_of(event->reason)) {
        add_wait(walk->model, &wait->slice, wait->slice.begin_ns, event->at_ns);
    } else if (!wait->has_events && walk->all) {
        struct timeline_slice like = wait_like(walk, track, event->reason);

        like.flags = SLICE_BEGAN_BEFORE;
        add_wait(walk->model, &like, walk->model->store->began_ns, event->at_ns);
    } else {
        walk->model->unmatched++;
    }
    wait->is_open = false;
    wait->has_events = true;
}

static void take_call(struct walk *walk, const struct timeline_event *event, uint32_t track)
{
    bool is_pause = event->kind == TIMELINE_GC;
    struct timeline_slice like = {
        .track = track, .owner = TIMELINE_NONE, .kind = is_pause ? SLICE_PAUSE : SLICE_CALL};
    uint64_t begin_ns = event->at_ns - event->call.length_ns, end_ns = event->at_ns;

    like.label = is_pause ? timeline_names__reason(walk->names, "garbage collection", 0)
                          : timeline_names__method(walk->names, event->call.method);
    if (!is_pause) {
        begin_ns = on_line(&walk->line, event->call.left_ns - event->call.length_ns);
        end_ns = on_line(&walk->line, event->call.left_ns);
    }
    if (begin_ns < walk->model->store->began_ns)
        like.flags = SLICE_BEGAN_BEFORE;
    if (add_slice(walk->model, &like, begin_ns, end_ns))
        walk->model->tracks[track].calls += !is_pause;
}

static void take_event(struct walk *walk, const struct timeline_event *event)
{
    uint32_t track = track_of(walk->model, event->java_id, event->tid, event->thread_kind);

    if (event->kind == TIMELINE_THREAD)
        walk->model->tracks[track].name = timeline_names__keep(
            walk->names, event->name, strnlen(event->name, sizeof(event->name)));
    else if (event->kind == TIMELINE_WAIT)
        take_wait(walk, event, track);
    else if (event->kind == TIMELINE_LOCK)
        take_lock(walk, event, track);
    else if (event->kind == TIMELINE_WAITED)
        take_waited(walk, event, track);
    else
        take_call(walk, event, track);
}

/* Threads that have waited all the time have no event of a wait. */
static void add_lasting(struct walk *walk)
{
    const struct timeline_store *store = walk->model->store;

    for (size_t i = 0; i < store->waiting_count && walk->all; i++) {
        const struct timeline_event *event = &store->waiting[i];
        uint32_t track = track_of(walk->model, event->java_id, event->tid, event->thread_kind);
        struct timeline_slice like;

        if (wait_of(walk, track)->has_events)
            continue;
        like = wait_like(walk, track, event->reason);
        like.flags = SLICE_BEGAN_BEFORE | SLICE_GOES_ON;
        add_wait(walk->model, &like, store->began_ns, store->ended_ns);
    }
}

static void close_waits(struct walk *walk)
{
    for (size_t track = 0; track < walk->room; track++) {
        struct open_wait *wait = &walk->waits[track];

        if (!wait->is_open)
            continue;
        wait->slice.flags |= SLICE_GOES_ON;
        add_wait(walk->model, &wait->slice, wait->slice.begin_ns, walk->model->store->ended_ns);
    }
}

static void take_events(struct timeline_model *model, struct timeline_store *store,
                        struct timeline_names *names)
{
    size_t count = timeline_store__sort_events(store);
    const struct timeline_event *events = store->events.items;
    struct walk walk = {.model = model, .names = names};

    walk.line = line_through(store, events, count);
    walk.all = !store->lost_events && !timeline_ring__overwritten(&store->events);
    for (size_t i = 0; i < count; i++)
        if (events[i].at_ns >= store->began_ns)
            take_event(&walk, &events[i]);
    close_waits(&walk);
    add_lasting(&walk);
    free(walk.waits);
}

/* ---- arrows ---- */

static int by_end(const void *a, const void *b)
{
    const struct timeline_slice *const *x = a, *const *y = b;

    return ((*x)->end_ns > (*y)->end_ns) - ((*x)->end_ns < (*y)->end_ns);
}

/* The last wait for a lock that was over. */
struct lock_turn {
    ledger_ref class_name;
    uint32_t identity;
    uint32_t kind;
    const struct timeline_slice *wait;
};

struct turns {
    struct index_table table;
    struct lock_turn *items;
    size_t count, room;
};

static struct lock_turn *turn_of(struct turns *turns, const struct timeline_slice *wait)
{
    uint64_t hash = index_table__hash_number(wait->lock_kind,
                                             (uint64_t)wait->lock_class << 32 | wait->identity);
    size_t probe = 0;
    uint32_t index;

    while (turns->items &&
           (index = index_table__next(&turns->table, hash, &probe)) != INDEX_TABLE_NONE) {
        struct lock_turn *turn = &turns->items[index];

        if (turn->class_name == wait->lock_class && turn->identity == wait->identity &&
            turn->kind == wait->lock_kind)
            return turn;
    }
    turns->items =
        memory__grown(turns->items, &turns->room, turns->count + 1, sizeof(*turns->items));
    index_table__add(&turns->table, hash, (uint32_t)turns->count);
    turns->items[turns->count] = (struct lock_turn){
        .class_name = wait->lock_class, .identity = wait->identity, .kind = wait->lock_kind};
    return &turns->items[turns->count++];
}

/* What has no owner, such as a queue, is not got by the end of a wait. */
static bool has_turns(const struct timeline_slice *wait)
{
    return wait->identity && (wait->lock_kind == BLOCK_MONITOR || wait->owner != TIMELINE_NONE);
}

static void add_arrow(struct timeline_model *model, uint32_t from,
                      const struct timeline_slice *wait)
{
    model->arrows = memory__grown(model->arrows, &model->arrow_room, model->arrow_count + 1,
                                  sizeof(*model->arrows));
    model->arrows[model->arrow_count++] = (struct timeline_arrow){
        .at_ns = wait->end_ns, .from = from, .to = wait->track, .label = wait->label};
}

static void take_turn(struct timeline_model *model, struct turns *turns,
                      const struct timeline_slice *wait)
{
    uint32_t from = wait->owner;

    if (has_turns(wait)) {
        struct lock_turn *turn = turn_of(turns, wait);
        const struct timeline_slice *last = turn->wait;

        if (last && last->end_ns > wait->begin_ns && last->track != wait->track)
            from = last->track;
        turn->wait = wait;
    }
    if (from != TIMELINE_NONE && from != wait->track)
        add_arrow(model, from, wait);
}

static void draw_arrows(struct timeline_model *model)
{
    const struct timeline_slice **waits =
        memory__zeroed(model->slice_count, sizeof(const struct timeline_slice *));
    struct turns turns = {0};
    size_t count = 0;

    for (size_t i = 0; i < model->slice_count; i++)
        if (model->slices[i].kind == SLICE_WAIT && !(model->slices[i].flags & SLICE_GOES_ON))
            waits[count++] = &model->slices[i];
    if (count)
        qsort((void *)waits, count, sizeof(const struct timeline_slice *), by_end);
    for (size_t i = 0; i < count; i++)
        take_turn(model, &turns, waits[i]);
    index_table__release(&turns.table);
    free(turns.items);
    free((void *)waits);
}

/* ---- order ---- */

static int compare(uint64_t x, uint64_t y)
{
    return (x > y) - (x < y);
}

static int by_track(const void *a, const void *b)
{
    const struct timeline_slice *x = a, *y = b;
    int order = compare(x->track, y->track);

    if (!order)
        order = compare(x->begin_ns, y->begin_ns);
    if (!order)
        order = compare(y->end_ns, x->end_ns);
    /* A call, then the wait that fills it. */
    return order ? order : compare(y->kind, x->kind);
}

static int by_processor(const void *a, const void *b)
{
    const struct timeline_slice *x = a, *y = b;
    int order = compare(x->place, y->place);

    return order ? order : compare(x->begin_ns, y->begin_ns);
}

void timeline_model__make(struct timeline_model *model, struct timeline_store *store,
                          const struct ledger_reader *ledger)
{
    struct timeline_names names = {.texts = &model->texts, .ledger = ledger};

    memset(model, 0, sizeof(*model));
    model->store = store;
    take_events(model, store, &names);
    timeline_runs__add(model, store);
    if (model->slice_count)
        qsort(model->slices, model->slice_count, sizeof(*model->slices), by_track);
    draw_arrows(model);
    if (model->run_count)
        qsort(model->runs, model->run_count, sizeof(*model->runs), by_processor);
    timeline_names__name_tracks(&names, model);
    model->labels = names.labels;
    model->label_count = names.label_count;
    timeline_names__release(&names);
}

void timeline_model__release(struct timeline_model *model)
{
    text_store__release(&model->texts);
    index_table__release(&model->track_table);
    free(model->tracks);
    free(model->slices);
    free(model->runs);
    free(model->arrows);
    free(model->labels);
    memset(model, 0, sizeof(*model));
}
