#include "tools/timeline/timeline_runs.h"

#include "tools/report/memory.h"

#include <stdlib.h>
#include <string.h>

#define PROCESSORS 65536u

struct open_run {
    uint64_t begin_ns; /* 0: it has no processor */
    uint16_t processor;
    bool has_events;
};

struct processor {
    uint32_t track; /* of the thread that has it, + 1; or 0 */
    bool has_events;
};

struct walk {
    struct timeline_model *model;
    struct open_run *runs; /* by track */
    size_t room;
    struct processor *processors;
    bool all; /* no record of a switch was lost */
};

static bool is_within(const struct timeline_model *model, uint64_t at_ns)
{
    return at_ns >= model->store->began_ns && at_ns <= model->store->ended_ns;
}

static void add_run(struct timeline_model *model, uint32_t track, uint16_t processor,
                    uint64_t begin_ns, uint64_t end_ns, unsigned flags)
{
    const struct timeline_store *store = model->store;
    struct timeline_slice *run;

    if (begin_ns < store->began_ns)
        begin_ns = store->began_ns;
    if (end_ns > store->ended_ns)
        end_ns = store->ended_ns;
    if (begin_ns >= end_ns)
        return;
    model->runs =
        memory__grown(model->runs, &model->run_room, model->run_count + 1, sizeof(*model->runs));
    run = &model->runs[model->run_count++];
    *run = (struct timeline_slice){.begin_ns = begin_ns,
                                   .end_ns = end_ns,
                                   .track = track,
                                   .kind = SLICE_RUN,
                                   .flags = (uint8_t)flags,
                                   .place = processor,
                                   .owner = TIMELINE_NONE};
    model->counts[SLICE_RUN]++;
    model->tracks[track].run_ns += end_ns - begin_ns;
}

static struct open_run *run_of(struct walk *walk, uint32_t track)
{
    size_t before = walk->room;

    walk->runs = memory__grown(walk->runs, &walk->room, (size_t)track + 1, sizeof(*walk->runs));
    memset(walk->runs + before, 0, (walk->room - before) * sizeof(*walk->runs));
    return &walk->runs[track];
}

/* Nobody knows when it ended. */
static void drop(struct walk *walk, struct open_run *run)
{
    if (!run->begin_ns)
        return;
    walk->model->unmatched++;
    walk->processors[run->processor].track = 0;
    run->begin_ns = 0;
}

static void begin_run(struct walk *walk, uint32_t track, const struct timeline_switch *one)
{
    struct processor *processor = &walk->processors[one->processor];
    struct open_run *run = run_of(walk, track);

    if (processor->track)
        drop(walk, &walk->runs[processor->track - 1]);
    drop(walk, run);
    run->begin_ns = one->at_ns;
    run->processor = one->processor;
    processor->track = track + 1;
}

static void end_run(struct walk *walk, uint32_t track, const struct timeline_switch *one)
{
    struct processor *processor = &walk->processors[one->processor];
    struct open_run *run = run_of(walk, track);
    unsigned flags = one->kind == TIMELINE_PREEMPTED ? SLICE_PREEMPTED : 0;

    if (run->begin_ns && run->processor == one->processor) {
        add_run(walk->model, track, one->processor, run->begin_ns, one->at_ns, flags);
        processor->track = 0;
        run->begin_ns = 0;
    } else if (!run->has_events && !processor->has_events && walk->all) {
        add_run(walk->model, track, one->processor, walk->model->store->began_ns, one->at_ns,
                flags | SLICE_BEGAN_BEFORE);
    } else if (one->kind != TIMELINE_ENDED) {
        drop(walk, run);
        walk->model->unmatched++;
    }
}

static void count(struct timeline_model *model, uint32_t track, const struct timeline_switch *one)
{
    if (!is_within(model, one->at_ns) ||
        (one->kind != TIMELINE_OFF && one->kind != TIMELINE_PREEMPTED))
        return;
    model->switches++;
    model->tracks[track].switches++;
    model->tracks[track].preempted += one->kind == TIMELINE_PREEMPTED;
}

static void take(struct walk *walk, const struct timeline_switch *one)
{
    uint32_t track;

    if (one->kind == TIMELINE_LOST)
        return;
    track = timeline_model__track(walk->model, 0, one->tid, THREAD_NATIVE);
    if (one->kind == TIMELINE_ON)
        begin_run(walk, track, one);
    else
        end_run(walk, track, one);
    count(walk->model, track, one);
    run_of(walk, track)->has_events = true;
    walk->processors[one->processor].has_events = true;
}

/* Switches from before the timeline's begin say who runs then. */
void timeline_runs__add(struct timeline_model *model, struct timeline_store *store)
{
    size_t switches = timeline_store__sort_switches(store);
    const struct timeline_switch *all = store->switches.items;
    struct walk walk = {.model = model,
                        .processors = memory__zeroed(PROCESSORS, sizeof(*walk.processors))};

    for (size_t i = 0; i < switches; i++)
        if (all[i].kind == TIMELINE_LOST && is_within(model, all[i].at_ns))
            model->lost_switches += (uint64_t)all[i].tid;
    walk.all = !model->lost_switches && !timeline_ring__overwritten(&store->switches);
    for (size_t i = 0; i < switches; i++)
        take(&walk, &all[i]);
    for (size_t track = 0; track < walk.room; track++)
        if (walk.runs[track].begin_ns)
            add_run(model, (uint32_t)track, walk.runs[track].processor, walk.runs[track].begin_ns,
                    store->ended_ns, SLICE_GOES_ON);
    free(walk.runs);
    free(walk.processors);
}
