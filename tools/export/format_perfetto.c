/*
 * Perfetto's trace: a process and a track a thread. A ledger has totals and no time line, so a
 * track's slices are its tree laid out along the chosen metric, see icicle.h, and its name says so;
 * for the same reason there are no counters. Base, cum, how far a sampled one may be off, and calls
 * are arguments of each slice, a thread's totals those of its outermost one.
 */
#include "tools/export/export_format.h"
#include "tools/export/frame_names.h"
#include "tools/export/icicle.h"
#include "tools/export/perfetto_packets.h"
#include "tools/report/report_errors.h"
#include "tools/report/report_losses.h"

#include <stdlib.h>
#include <string.h>

#define PROCESS_TRACK 1u

/* Words for notes; behind them the columns of threads. */
enum note_word {
    NOTE_BASE = 1,
    NOTE_CUM,
    NOTE_CALLS,
    NOTE_RECURSION,
    NOTE_RECURSION_MAX,
    NOTE_BASE_ERROR,
    NOTE_CUM_ERROR,
    NOTE_KIND,
    NOTE_TIDS,
    NOTE_COLUMN, /* + enum report_column */
};
#define NOTES_MAX ((unsigned)NOTE_COLUMN + (unsigned)COLUMN_COUNT)

struct perfetto_writer {
    const struct export_job *job;
    struct perfetto_packets packets;
    uint64_t track;
    struct report_errors *errors; /* of the metric; or NULL */
};

struct notes {
    Timeline__Note items[NOTES_MAX];
    Timeline__Note *places[NOTES_MAX];
    size_t count;
};

static void write_categories(struct perfetto_writer *writer)
{
    static const enum ledger_node_kind kinds[] = {NODE_ROOT,   NODE_EXACT,   NODE_GAP,
                                                  NODE_FOLDED, NODE_SAMPLED, NODE_NATIVE,
                                                  NODE_UNSEEN, NODE_LOGICAL};

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        enum ledger_node_kind kind = kinds[i];

        perfetto_packets__word(&writer->packets, PERFETTO_CATEGORIES, kind,
                               perfetto_packets__text(report_node_kind__name(kind)));
    }
}

static void write_note_name(struct perfetto_writer *writer, uint64_t id, const char *name)
{
    perfetto_packets__word(&writer->packets, PERFETTO_NOTE_NAMES, id, perfetto_packets__text(name));
}

static void write_note_names(struct perfetto_writer *writer)
{
    static const char *const names[NOTE_COLUMN] = {
        [NOTE_BASE] = "base",
        [NOTE_CUM] = "cum",
        [NOTE_CALLS] = "calls",
        [NOTE_RECURSION] = "recursion",
        [NOTE_RECURSION_MAX] = "recursion_max",
        [NOTE_KIND] = "kind",
        [NOTE_TIDS] = "tids",
        [NOTE_BASE_ERROR] = "base_error_ns",
        [NOTE_CUM_ERROR] = "cum_error_ns",
    };
    uint64_t columns = report_columns__of_threads(&writer->job->model->header);

    for (unsigned i = NOTE_BASE; i < NOTE_COLUMN; i++)
        write_note_name(writer, i, names[i]);
    for (enum report_column column = 0; column < COLUMN_COUNT; column++)
        if (columns & COLUMN_BIT(column))
            write_note_name(writer, (uint64_t)NOTE_COLUMN + column,
                            report_column__csv_name(column));
}

static void write_event_names(struct perfetto_writer *writer)
{
    const struct report_model *model = writer->job->model;
    struct frame_names names;

    frame_names__make(&names, model, writer->job->selected);
    for (uint32_t i = 0; i < model->method_count; i++)
        if (names.items[i].bytes)
            perfetto_packets__word(&writer->packets, PERFETTO_EVENT_NAMES, (uint64_t)i + 1,
                                   names.items[i]);
    frame_names__release(&names);
}

static void write_process(struct perfetto_writer *writer)
{
    const struct report_model *model = writer->job->model;
    Timeline__Track track = TIMELINE__TRACK__INIT;
    Timeline__Process process = TIMELINE__PROCESS__INIT;
    struct text_store store = {0};

    process.has_pid = process.has_name = true;
    process.pid = model->header.pid;
    process.name = perfetto_packets__bytes(report_losses__title(&store, model));
    track.id = PROCESS_TRACK;
    track.process = &process;
    perfetto_packets__track(&writer->packets, &track);
    text_store__release(&store);
}

static void write_thread_track(struct perfetto_writer *writer, const struct report_thread *thread)
{
    char *name = NULL;
    size_t length = 0;
    struct text thread_name = thread_name__of(thread);
    FILE *out = open_memstream(&name, &length);

    if (!out)
        return;
    fwrite(thread_name.bytes, 1, thread_name.length, out);
    fprintf(out, " (tree of %s totals, no time line)", report_column__name(writer->job->column));
    if (fclose(out) == 0) {
        Timeline__Track track = TIMELINE__TRACK__INIT;

        track.id = writer->track;
        track.has_parent = track.has_name = true;
        track.parent = PROCESS_TRACK;
        track.name = perfetto_packets__bytes((struct text){name, length});
        perfetto_packets__track(&writer->packets, &track);
    }
    free(name);
}

static Timeline__Note *add_note(struct notes *notes, uint64_t word)
{
    Timeline__Note *note = &notes->items[notes->count];

    *note = (Timeline__Note)TIMELINE__NOTE__INIT;
    note->has_name_word = true;
    note->name_word = word;
    notes->places[notes->count++] = note;
    return note;
}

static void add_number(struct notes *notes, uint64_t word, uint64_t number)
{
    Timeline__Note *note = add_note(notes, word);

    note->has_number = true;
    note->number = number;
}

static void add_text(struct notes *notes, uint64_t word, const char *text)
{
    Timeline__Note *note = add_note(notes, word);

    note->has_text = true;
    note->text = perfetto_packets__bytes(perfetto_packets__text(text));
}

static void add_thread_notes(struct notes *notes, const struct report_model *model,
                             const struct report_thread *thread,
                             char tids[LEDGER_THREAD_TIDS * 12 + 1])
{
    uint64_t columns = report_columns__of_threads(&model->header);
    size_t at = 0;

    tids[0] = '\0';
    for (uint32_t i = 0; i < thread_tids__known(thread); i++)
        at += (size_t)snprintf(tids + at, LEDGER_THREAD_TIDS * 12 + 1 - at, "%s%d", i ? " " : "",
                               thread->tids[i]);
    add_text(notes, NOTE_KIND, report_thread_kind__name(thread->kind));
    add_text(notes, NOTE_TIDS, tids);
    for (enum report_column column = 0; column < COLUMN_COUNT; column++)
        if (columns & COLUMN_BIT(column))
            add_number(notes, (uint64_t)NOTE_COLUMN + column, report_thread__value(thread, column));
}

static void write_event(struct perfetto_writer *writer, Timeline__Event *event, uint64_t at)
{
    event->track = writer->track;
    perfetto_packets__event(&writer->packets, event, at);
}

static void begin_slice(void *context, uint32_t index, uint64_t at)
{
    struct perfetto_writer *writer = context;
    const struct report_model *model = writer->job->model;
    const struct report_node *node = &model->nodes[index];
    enum report_column column = writer->job->column;
    char tids[LEDGER_THREAD_TIDS * 12 + 1];
    struct notes notes;
    uint64_t category = node->kind == NODE_KERNEL ? NODE_NATIVE : node->kind;
    Timeline__Event event = TIMELINE__EVENT__INIT;

    notes.count = 0;
    add_number(&notes, NOTE_BASE, model->base[column][index]);
    add_number(&notes, NOTE_CUM, model->cum[column][index]);
    add_number(&notes, NOTE_CALLS, model->base[COLUMN_CALLS][index]);
    if (writer->errors && writer->errors->base[index])
        add_number(&notes, NOTE_BASE_ERROR, writer->errors->base[index]);
    if (writer->errors && writer->errors->cum[index])
        add_number(&notes, NOTE_CUM_ERROR, writer->errors->cum[index]);
    if (node->level)
        add_number(&notes, NOTE_RECURSION, node->level);
    if (node->level_max > node->level)
        add_number(&notes, NOTE_RECURSION_MAX, node->level_max);
    if (node->depth == 0)
        add_thread_notes(&notes, model, &model->threads[node->thread], tids);
    event.kind = TIMELINE__EVENT_KIND__SLICE_BEGIN;
    event.has_name_word = true;
    event.name_word = (uint64_t)node->method + 1;
    event.n_category_words = 1;
    event.category_words = &category;
    event.n_notes = notes.count;
    event.notes = notes.places;
    write_event(writer, &event, at);
}

static void end_slice(void *context, uint32_t node, uint64_t at)
{
    Timeline__Event event = TIMELINE__EVENT__INIT;

    (void)node;
    event.kind = TIMELINE__EVENT_KIND__SLICE_END;
    write_event(context, &event, at);
}

int format_perfetto__write(const struct export_job *job, FILE *out, const char *path)
{
    (void)path;
    struct perfetto_writer writer = {.job = job,
                                     .packets = {.out = out},
                                     .errors = report_errors__of_nodes(job->model, job->column)};
    const struct icicle_events events = {begin_slice, end_slice, &writer};
    write_categories(&writer);
    write_note_names(&writer);
    write_event_names(&writer);
    write_process(&writer);
    for (uint32_t i = 0; i < job->model->thread_count && !ferror(out); i++) {
        if (!job->selected[i])
            continue;
        writer.track = (uint64_t)i + PROCESS_TRACK + 1;
        write_thread_track(&writer, &job->model->threads[i]);
        icicle__lay_out(job->model, i, job->column, &events);
    }
    report_errors__free(writer.errors);
    perfetto_packets__release(&writer.packets);
    return 0;
}
