#include "tools/timeline/timeline_html.h"

#include "tools/output/json_rows.h"
#include "tools/page/html_block.h"
#include "tools/report/report_model.h"
#include "tools/timeline/timeline_text.h"

#include <errno.h>
#include <stdlib.h>

/* As they stand in the block `slices`. */
#define FLAG_FACTOR  4u
#define PLACE_FACTOR 32u

_Static_assert(SLICE_KINDS <= FLAG_FACTOR, "kinds fit before the flags");
_Static_assert(SLICE_PREEMPTED * 2 * FLAG_FACTOR <= PLACE_FACTOR, "flags fit before the place");

typedef void part_writer(const struct timeline_model *model, FILE *out);

/* NULL without memory. */
static json_t *text_of(part_writer *write, const struct timeline_model *model)
{
    char *text = NULL;
    size_t length = 0;
    FILE *stream = open_memstream(&text, &length);
    json_t *made = NULL;

    if (!stream)
        return NULL;
    write(model, stream);
    if (fclose(stream) == 0)
        made = json_stringn(text, length);
    free(text);
    return made;
}

static json_t *thread_json(const struct timeline_track *track)
{
    json_t *thread = json_object();

    json_object_set_new(thread, "name", json_row__text(track->name));
    json_object_set_new(
        thread, "kind",
        json_string(report_thread_kind__name((enum ledger_thread_kind)track->kind)));
    json_object_set_new(thread, "tid", json_integer(track->tid));
    json_object_set_new(thread, "java_id", json_row__integer(track->java_id));
    return thread;
}

static json_t *about_json(const struct timeline_model *model)
{
    const struct timeline_store *store = model->store;
    json_t *about = json_object();
    json_t *reasons = json_array();
    json_t *labels = json_array();
    json_t *threads = json_array();

    for (unsigned i = 0; i < TIMELINE_REASONS; i++)
        json_array_append_new(reasons, json_string(timeline_reason__name(i)));
    for (size_t i = 0; i < model->label_count; i++)
        json_array_append_new(labels, json_row__text(model->labels[i]));
    for (size_t i = 0; i < model->track_count; i++)
        json_array_append_new(threads, thread_json(&model->tracks[i]));
    json_object_set_new(about, "version", json_string(TREADLE_VERSION));
    json_object_set_new(about, "pid", json_integer(store->pid));
    json_object_set_new(about, "length_ns", json_row__integer(store->ended_ns - store->began_ns));
    json_object_set_new(about, "contents", text_of(timeline_text__write_contents, model));
    json_object_set_new(about, "losses", text_of(timeline_text__write_losses, model));
    json_object_set_new(about, "lost",
                        json_boolean(timeline_text__lost_switches(model) ||
                                     timeline_text__lost_events(model) || store->unheard_waits ||
                                     store->unseen_calls || model->unmatched));
    json_object_set_new(about, "reasons", reasons);
    json_object_set_new(about, "labels", labels);
    json_object_set_new(about, "threads", threads);
    return about;
}

static int write_about(struct html_block *block, const struct timeline_model *model, FILE *out)
{
    FILE *stream = html_block__begin_stream(block, out, "about");

    if (!stream)
        return -ENOMEM;
    json_row__write(stream, about_json(model));
    html_block__end_stream(block, stream);
    return 0;
}

static void write_slice(struct html_block *block, const struct timeline_slice *slice,
                        uint64_t before_ns)
{
    html_block__number(block, slice->begin_ns - before_ns);
    html_block__number(block, slice->end_ns - slice->begin_ns);
    html_block__number(block, slice->kind + FLAG_FACTOR * slice->flags +
                                  PLACE_FACTOR * (uint64_t)slice->place);
    html_block__number(block, slice->label);
    html_block__number(block, slice->identity);
    html_block__number(block, slice->owner == TIMELINE_NONE ? 0 : (uint64_t)slice->owner + 1);
}

static void write_slices(struct html_block *block, const struct timeline_model *model, FILE *out)
{
    size_t at = 0;

    html_block__begin(block, out, "slices");
    for (uint32_t track = 0; track < model->track_count; track++) {
        uint64_t before_ns = model->store->began_ns;
        size_t end = at;

        while (end < model->slice_count && model->slices[end].track == track)
            end++;
        html_block__number(block, end - at);
        for (; at < end; at++) {
            write_slice(block, &model->slices[at], before_ns);
            before_ns = model->slices[at].begin_ns;
        }
    }
    html_block__end(block);
}

static void write_runs(struct html_block *block, const struct timeline_model *model, FILE *out)
{
    size_t at = 0;

    html_block__begin(block, out, "runs");
    while (at < model->run_count) {
        uint64_t before_ns = model->store->began_ns;
        size_t end = at;

        while (end < model->run_count && model->runs[end].place == model->runs[at].place)
            end++;
        html_block__number(block, model->runs[at].place);
        html_block__number(block, end - at);
        for (; at < end; at++) {
            const struct timeline_slice *run = &model->runs[at];

            html_block__number(block, run->begin_ns - before_ns);
            html_block__number(block, run->end_ns - run->begin_ns);
            html_block__number(block, run->track);
            html_block__number(block, run->flags);
            before_ns = run->begin_ns;
        }
    }
    html_block__end(block);
}

static void write_arrows(struct html_block *block, const struct timeline_model *model, FILE *out)
{
    uint64_t before_ns = model->store->began_ns;

    html_block__begin(block, out, "arrows");
    for (size_t i = 0; i < model->arrow_count; i++) {
        const struct timeline_arrow *arrow = &model->arrows[i];

        html_block__number(block, arrow->at_ns - before_ns);
        html_block__number(block, arrow->from);
        html_block__number(block, arrow->to);
        html_block__number(block, arrow->label);
        before_ns = arrow->at_ns;
    }
    html_block__end(block);
}

int timeline_html__write(const struct timeline_model *model, const struct html_page *page,
                         FILE *out)
{
    struct html_block block;
    int error;

    fwrite(page->before, 1, page->before_bytes, out);
    error = write_about(&block, model, out);
    if (error)
        return error;
    write_slices(&block, model, out);
    write_runs(&block, model, out);
    write_arrows(&block, model, out);
    fwrite(page->after, 1, page->after_bytes, out);
    return 0;
}
