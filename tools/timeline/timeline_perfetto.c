#include "tools/timeline/timeline_perfetto.h"

#include "tools/export/perfetto_packets.h"
#include "tools/report/memory.h"
#include "tools/report/report_model.h"

#include <stdlib.h>
#include <string.h>

/* Ids of tracks. */
#define PROCESS_TRACK   1u
#define PROCESSOR_TRACK 16u                        /* + processor */
#define THREAD_TRACK    (PROCESSOR_TRACK + 65536u) /* + 2 * track; its runs: one more */

enum word {
    WORD_RUN = 1,
    WORD_LETS_GO,
    WORD_GOES_ON,
    WORD_THREAD, /* + track */
};

enum note_word {
    NOTE_PROCESSOR = 1,
    NOTE_IDENTITY,
    NOTE_OWNER,
    NOTE_BEGAN_BEFORE,
    NOTE_GOES_ON,
    NOTE_PREEMPTED,
    NOTE_WAITER,
    NOTE_RELEASER,
    NOTE_WORDS,
};

#define NOTES_MOST 6u

struct writer {
    struct perfetto_packets packets;
    const struct timeline_model *model;
    uint64_t track;
};

static uint64_t track_id(uint32_t track)
{
    return THREAD_TRACK + 2 * (uint64_t)track;
}

static uint64_t label_word(const struct writer *writer, uint32_t label)
{
    return WORD_THREAD + (uint64_t)writer->model->track_count + label;
}

static uint64_t thread_word(uint32_t track)
{
    return WORD_THREAD + (uint64_t)track;
}

static void write_word(struct writer *writer, enum perfetto_words which, uint64_t id,
                       const char *word)
{
    perfetto_packets__word(&writer->packets, which, id, perfetto_packets__text(word));
}

static void write_words(struct writer *writer)
{
    static const char *const categories[SLICE_KINDS] = {
        [SLICE_WAIT] = "wait", [SLICE_CALL] = "call", [SLICE_PAUSE] = "pause", [SLICE_RUN] = "run"};
    static const char *const notes[NOTE_WORDS] = {
        [NOTE_PROCESSOR] = "processor",
        [NOTE_IDENTITY] = "identity",
        [NOTE_OWNER] = "owner",
        [NOTE_BEGAN_BEFORE] = "began before the timeline",
        [NOTE_GOES_ON] = "goes on behind it",
        [NOTE_PREEMPTED] = "preempted",
        [NOTE_WAITER] = "waiter",
        [NOTE_RELEASER] = "let go by",
    };
    const struct timeline_model *model = writer->model;

    for (unsigned i = 0; i < SLICE_KINDS; i++)
        write_word(writer, PERFETTO_CATEGORIES, i + 1, categories[i]);
    for (unsigned i = NOTE_PROCESSOR; i < NOTE_WORDS; i++)
        write_word(writer, PERFETTO_NOTE_NAMES, i, notes[i]);
    write_word(writer, PERFETTO_EVENT_NAMES, WORD_RUN, "running");
    write_word(writer, PERFETTO_EVENT_NAMES, WORD_LETS_GO, "lets go");
    write_word(writer, PERFETTO_EVENT_NAMES, WORD_GOES_ON, "goes on");
    for (uint32_t i = 0; i < model->track_count; i++)
        perfetto_packets__word(&writer->packets, PERFETTO_EVENT_NAMES, thread_word(i),
                               model->tracks[i].name);
    for (uint32_t i = 0; i < model->label_count; i++)
        perfetto_packets__word(&writer->packets, PERFETTO_EVENT_NAMES, label_word(writer, i),
                               model->labels[i]);
}

/* ---- tracks ---- */

static void write_process(struct writer *writer)
{
    Timeline__Track track = TIMELINE__TRACK__INIT;
    Timeline__Process process = TIMELINE__PROCESS__INIT;

    process.has_pid = process.has_name = true;
    process.pid = writer->model->store->pid;
    process.name = perfetto_packets__bytes(perfetto_packets__text("java"));
    track.id = PROCESS_TRACK;
    track.process = &process;
    perfetto_packets__track(&writer->packets, &track);
}

static void write_child(struct writer *writer, uint64_t id, uint64_t parent, struct text name)
{
    Timeline__Track track = TIMELINE__TRACK__INIT;

    track.id = id;
    track.has_parent = parent != 0;
    track.parent = parent;
    track.has_name = true;
    track.name = perfetto_packets__bytes(name);
    perfetto_packets__track(&writer->packets, &track);
}

/* A virtual thread is no thread to Perfetto, which knows threads by their tids. */
static void write_thread(struct writer *writer, uint32_t index)
{
    const struct timeline_track *thread = &writer->model->tracks[index];
    Timeline__Track track = TIMELINE__TRACK__INIT;
    Timeline__Thread descriptor = TIMELINE__THREAD__INIT;

    if (!thread->tid) {
        write_child(writer, track_id(index), PROCESS_TRACK, thread->name);
        return;
    }
    descriptor.has_pid = descriptor.has_tid = descriptor.has_name = true;
    descriptor.pid = writer->model->store->pid;
    descriptor.tid = thread->tid;
    descriptor.name = perfetto_packets__bytes(thread->name);
    track.id = track_id(index);
    track.has_parent = true;
    track.parent = PROCESS_TRACK;
    track.thread = &descriptor;
    perfetto_packets__track(&writer->packets, &track);
    if (thread->run_ns)
        write_child(writer, track_id(index) + 1, track_id(index),
                    perfetto_packets__text("on a processor"));
}

static void write_processor(struct writer *writer, unsigned processor)
{
    char name[32];

    snprintf(name, sizeof(name), "processor %u", processor);
    write_child(writer, PROCESSOR_TRACK + processor, 0, perfetto_packets__text(name));
}

/* ---- events ---- */

struct notes {
    Timeline__Note items[NOTES_MOST];
    Timeline__Note *places[NOTES_MOST];
    size_t count;
};

static Timeline__Note *add_note(struct notes *notes, enum note_word word)
{
    Timeline__Note *note = &notes->items[notes->count];

    *note = (Timeline__Note)TIMELINE__NOTE__INIT;
    note->has_name_word = true;
    note->name_word = word;
    notes->places[notes->count++] = note;
    return note;
}

static void add_number(struct notes *notes, enum note_word word, uint64_t number)
{
    Timeline__Note *note = add_note(notes, word);

    note->has_number = true;
    note->number = number;
}

static void add_thread(const struct writer *writer, struct notes *notes, enum note_word word,
                       uint32_t track)
{
    Timeline__Note *note = add_note(notes, word);

    note->has_text = true;
    note->text = perfetto_packets__bytes(writer->model->tracks[track].name);
}

static void add_notes(const struct writer *writer, struct notes *notes,
                      const struct timeline_slice *slice)
{
    if (slice->kind == SLICE_RUN)
        add_number(notes, NOTE_PROCESSOR, slice->place);
    if (slice->identity)
        add_number(notes, NOTE_IDENTITY, slice->identity);
    if (slice->owner != TIMELINE_NONE)
        add_thread(writer, notes, NOTE_OWNER, slice->owner);
    if (slice->flags & SLICE_BEGAN_BEFORE)
        add_number(notes, NOTE_BEGAN_BEFORE, 1);
    if (slice->flags & SLICE_GOES_ON)
        add_number(notes, NOTE_GOES_ON, 1);
    if (slice->flags & SLICE_PREEMPTED)
        add_number(notes, NOTE_PREEMPTED, 1);
}

static void begin_slice(struct writer *writer, const struct timeline_slice *slice, uint64_t word)
{
    Timeline__Event event = TIMELINE__EVENT__INIT;
    uint64_t category = (uint64_t)slice->kind + 1;
    struct notes notes = {.count = 0};

    add_notes(writer, &notes, slice);
    event.kind = TIMELINE__EVENT_KIND__SLICE_BEGIN;
    event.track = writer->track;
    event.has_name_word = true;
    event.name_word = word;
    event.n_category_words = 1;
    event.category_words = &category;
    event.n_notes = notes.count;
    event.notes = notes.places;
    perfetto_packets__event(&writer->packets, &event, slice->begin_ns);
}

static void end_slice(struct writer *writer, uint64_t at_ns)
{
    Timeline__Event event = TIMELINE__EVENT__INIT;

    event.kind = TIMELINE__EVENT_KIND__SLICE_END;
    event.track = writer->track;
    perfetto_packets__event(&writer->packets, &event, at_ns);
}

/* One end of an arrow. */
struct tip {
    uint64_t at_ns;
    uint32_t track;
    uint32_t arrow;
    bool is_head;
};

static void write_tip(struct writer *writer, const struct tip *tip)
{
    const struct timeline_arrow *arrow = &writer->model->arrows[tip->arrow];
    Timeline__Event event = TIMELINE__EVENT__INIT;
    uint64_t number = (uint64_t)tip->arrow + 1, category = SLICE_WAIT + 1;
    struct notes notes = {.count = 0};

    add_thread(writer, &notes, tip->is_head ? NOTE_RELEASER : NOTE_WAITER,
               tip->is_head ? arrow->from : arrow->to);
    event.kind = TIMELINE__EVENT_KIND__INSTANT;
    event.track = writer->track;
    event.has_name_word = true;
    event.name_word = tip->is_head ? WORD_GOES_ON : WORD_LETS_GO;
    event.n_category_words = 1;
    event.category_words = &category;
    event.n_notes = notes.count;
    event.notes = notes.places;
    if (tip->is_head) {
        event.n_arrows_to = 1;
        event.arrows_to = &number;
    } else {
        event.n_arrows_from = 1;
        event.arrows_from = &number;
    }
    perfetto_packets__event(&writer->packets, &event, tip->at_ns);
}

static int by_track(const void *a, const void *b)
{
    const struct tip *x = a, *y = b;

    if (x->track != y->track)
        return x->track < y->track ? -1 : 1;
    return (x->at_ns > y->at_ns) - (x->at_ns < y->at_ns);
}

static struct tip *tips_of(const struct timeline_model *model)
{
    struct tip *tips = memory__zeroed(model->arrow_count * 2, sizeof(*tips));

    for (uint32_t i = 0; i < model->arrow_count; i++) {
        const struct timeline_arrow *arrow = &model->arrows[i];

        tips[2 * (size_t)i] = (struct tip){arrow->at_ns, arrow->from, i, false};
        tips[2 * (size_t)i + 1] = (struct tip){arrow->at_ns, arrow->to, i, true};
    }
    if (model->arrow_count)
        qsort(tips, model->arrow_count * 2, sizeof(*tips), by_track);
    return tips;
}

/* The slices that are open on a track, by their ends; an inner one ends no later than an outer one:
 * the clocks of a call and of a wait may differ by some ns. */
struct open_slices {
    uint64_t *ends;
    size_t count, room;
};

static void close_until(struct writer *writer, struct open_slices *open, uint64_t at_ns)
{
    while (open->count && open->ends[open->count - 1] <= at_ns)
        end_slice(writer, open->ends[--open->count]);
}

static void open_slice(struct open_slices *open, uint64_t end_ns)
{
    uint64_t most_ns = open->count ? open->ends[open->count - 1] : UINT64_MAX;

    open->ends = memory__grown(open->ends, &open->room, open->count + 1, sizeof(*open->ends));
    open->ends[open->count++] = end_ns < most_ns ? end_ns : most_ns;
}

struct cursor {
    size_t slice;
    size_t tip;
};

static void write_track_events(struct writer *writer, uint32_t track, const struct tip *tips,
                               struct cursor *at)
{
    const struct timeline_model *model = writer->model;
    struct open_slices open = {0};
    size_t tip_count = model->arrow_count * 2;

    writer->track = track_id(track);
    for (;;) {
        bool has_slice = at->slice < model->slice_count && model->slices[at->slice].track == track;
        bool has_tip = at->tip < tip_count && tips[at->tip].track == track;
        const struct timeline_slice *slice = has_slice ? &model->slices[at->slice] : NULL;

        if (!slice && !has_tip)
            break;
        if (has_tip && (!slice || tips[at->tip].at_ns < slice->begin_ns)) {
            close_until(writer, &open, tips[at->tip].at_ns);
            write_tip(writer, &tips[at->tip++]);
            continue;
        }
        close_until(writer, &open, slice->begin_ns);
        begin_slice(writer, slice, label_word(writer, slice->label));
        open_slice(&open, slice->end_ns);
        at->slice++;
    }
    close_until(writer, &open, UINT64_MAX);
    free(open.ends);
}

/* Of a thread, or of a processor. */
static void write_run(struct writer *writer, const struct timeline_slice *run, uint64_t track,
                      uint64_t word)
{
    writer->track = track;
    begin_slice(writer, run, word);
    end_slice(writer, run->end_ns);
}

static int by_begin(const void *a, const void *b)
{
    const struct timeline_slice *const *x = a, *const *y = b;

    return ((*x)->begin_ns > (*y)->begin_ns) - ((*x)->begin_ns < (*y)->begin_ns);
}

/* Those of a thread in the order of their times, on whatever processor they were. */
static void write_runs_of_threads(struct writer *writer)
{
    const struct timeline_model *model = writer->model;
    const struct timeline_slice **runs =
        memory__zeroed(model->run_count, sizeof(const struct timeline_slice *));

    for (size_t i = 0; i < model->run_count; i++)
        runs[i] = &model->runs[i];
    if (model->run_count)
        qsort((void *)runs, model->run_count, sizeof(const struct timeline_slice *), by_begin);
    for (size_t i = 0; i < model->run_count; i++)
        write_run(writer, runs[i], track_id(runs[i]->track) + 1, WORD_RUN);
    free((void *)runs);
}

static void write_runs_of_processors(struct writer *writer)
{
    const struct timeline_model *model = writer->model;

    for (size_t i = 0; i < model->run_count; i++) {
        const struct timeline_slice *run = &model->runs[i];

        if (i == 0 || run->place != model->runs[i - 1].place)
            write_processor(writer, run->place);
        write_run(writer, run, PROCESSOR_TRACK + (uint64_t)run->place, thread_word(run->track));
    }
}

int timeline_perfetto__write(const struct timeline_model *model, FILE *out)
{
    struct writer writer = {.packets = {.out = out}, .model = model};
    struct tip *tips = tips_of(model);
    struct cursor at = {0, 0};

    write_words(&writer);
    write_process(&writer);
    for (uint32_t i = 0; i < model->track_count; i++)
        write_thread(&writer, i);
    for (uint32_t i = 0; i < model->track_count && !ferror(out); i++)
        write_track_events(&writer, i, tips, &at);
    write_runs_of_threads(&writer);
    write_runs_of_processors(&writer);
    free(tips);
    perfetto_packets__release(&writer.packets);
    return 0;
}
