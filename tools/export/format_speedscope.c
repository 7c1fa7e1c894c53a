/*
 * speedscope's JSON: one profile a thread, the heaviest first, its tree as frames that open and
 * close along the chosen metric, see icicle.h.
 */
#include "native/metrics/kernel_metrics.h"
#include "tools/export/export_format.h"
#include "tools/export/frame_names.h"
#include "tools/export/icicle.h"
#include "tools/output/json_rows.h"
#include "tools/report/memory.h"
#include "tools/report/report_losses.h"
#include "tools/report/report_order.h"

#include <stdlib.h>

#define EVENT_BYTES 96u /* {"type":"O","frame":4294967295,"at":9223372036854775807} and some */
#define SCHEMA      "https://www.speedscope.app/file-format-schema.json"

struct speedscope_writer {
    const struct export_job *job;
    FILE *out;
    uint32_t *frame_of; /* by method */
    const char *before; /* the next event */
    json_t *event;      /* one for all events, its values set anew for each */
    json_t *frame;
    json_t *at;
    json_t *type;
};

static const char *unit_of(enum report_column column)
{
    static const char *const units[] = {
        [UNIT_NS] = "nanoseconds", [UNIT_COUNT] = "none", [UNIT_BYTES] = "bytes"};

    return units[report_column__unit(column)];
}

static void write_frames(struct speedscope_writer *writer)
{
    const struct report_model *model = writer->job->model;
    struct frame_names names;
    uint32_t frames = 0;

    frame_names__make(&names, model, writer->job->selected);
    fputs("\"shared\":{\"frames\":[", writer->out);
    for (uint32_t i = 0; i < model->method_count; i++) {
        if (!names.items[i].bytes)
            continue;
        json_t *frame = json_object();
        json_object_set_new(frame, "name", json_row__text(names.items[i]));
        struct text file = frame_file__of(&model->methods[i]);
        if (file.length)
            json_object_set_new(frame, "file", json_row__text(file));
        fputs(frames ? ",\n" : "\n", writer->out);
        json_row__write(writer->out, frame);
        writer->frame_of[i] = frames++;
    }
    fputs("]},\n", writer->out);
    frame_names__release(&names);
}

static void write_event(struct speedscope_writer *writer, const char *type, uint32_t node,
                        uint64_t at)
{
    uint32_t method = writer->job->model->nodes[node].method;

    json_string_set(writer->type, type);
    json_integer_set(writer->frame, writer->frame_of[method]);
    json_integer_set(writer->at, (json_int_t)at);
    fputs(writer->before, writer->out);
    /* At once: written to a stream directly, each of its signs would be a call of its own. */
    char text[EVENT_BYTES];
    fwrite(text, 1, json_dumpb(writer->event, text, sizeof(text), JSON_COMPACT), writer->out);
    writer->before = ",\n";
}

static void open_frame(void *context, uint32_t node, uint64_t at)
{
    write_event(context, "O", node, at);
}

static void close_frame(void *context, uint32_t node, uint64_t at)
{
    write_event(context, "C", node, at);
}

static void write_thread(struct speedscope_writer *writer, uint32_t thread)
{
    const struct export_job *job = writer->job;
    const struct icicle_events events = {open_frame, close_frame, writer};
    json_t *profile = json_object();

    json_object_set_new(profile, "type", json_string("evented"));
    json_object_set_new(profile, "name",
                        json_row__text(thread_name__of(&job->model->threads[thread])));
    json_object_set_new(profile, "unit", json_string(unit_of(job->column)));
    json_object_set_new(profile, "startValue", json_integer(0));
    fputc('{', writer->out);
    json_row__write_members(writer->out, profile);
    fputs(",\"events\":[", writer->out);
    writer->before = "\n";
    uint64_t end = icicle__lay_out(job->model, thread, job->column, &events);
    fputs("],", writer->out);
    json_t *rest = json_object();
    json_object_set_new(rest, "endValue", json_row__integer(end));
    json_row__write_members(writer->out, rest);
    fputc('}', writer->out);
}

static void write_profiles(struct speedscope_writer *writer)
{
    const struct report_model *model = writer->job->model;
    uint32_t *order = report_order__threads(model, writer->job->column);
    const char *before = "\n";

    fputs("\"profiles\":[", writer->out);
    for (uint32_t i = 0; i < model->thread_count && !ferror(writer->out); i++) {
        if (!writer->job->selected[order[i]])
            continue;
        fputs(before, writer->out);
        write_thread(writer, order[i]);
        before = ",\n";
    }
    fputs("]}\n", writer->out);
    free(order);
}

int format_speedscope__write(const struct export_job *job, FILE *out, const char *path)
{
    (void)path;
    struct speedscope_writer writer = {
        .job = job,
        .out = out,
        .frame_of = memory__zeroed(job->model->method_count, sizeof(*writer.frame_of)),
        .event = json_object(),
        .type = json_string(""),
        .frame = json_integer(0),
        .at = json_integer(0),
    };
    json_object_set_new(writer.event, "type", writer.type);
    json_object_set_new(writer.event, "frame", writer.frame);
    json_object_set_new(writer.event, "at", writer.at);
    json_t *head = json_object();
    json_object_set_new(head, "$schema", json_string(SCHEMA));
    json_object_set_new(head, "exporter", json_string("treadle " TREADLE_VERSION));
    struct text_store store = {0};
    json_object_set_new(head, "name", json_row__text(report_losses__title(&store, job->model)));
    text_store__release(&store);
    json_object_set_new(head, "activeProfileIndex", json_integer(0));
    fputc('{', out);
    json_row__write_members(out, head);
    fputs(",\n", out);
    write_frames(&writer);
    write_profiles(&writer);
    json_decref(writer.event);
    free(writer.frame_of);
    return 0;
}
