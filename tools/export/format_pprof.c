/*
 * pprof: a profile.proto, gzip'd. One sample a node that consumed anything itself, with all metrics
 * and, as labels, the thread and how far a sampled time may be off.
 *
 * The profile is written in parts of one message each, which the format takes for one whole: so no
 * more than one sample is in memory at a time.
 */
#include "native/metrics/kernel_metrics.h"
#include "profile.pb-c.h"
#include "tools/export/call_path.h"
#include "tools/export/export_format.h"
#include "tools/export/frame_names.h"
#include "tools/report/memory.h"
#include "tools/report/report_balance.h"
#include "tools/report/report_errors.h"
#include "tools/report/report_losses.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#define COMPRESSION "w3" /* three quarters of the best, at a fraction of the time */
#define LABELS_MAX  (LEDGER_THREAD_TIDS + 4u + REPORT_ERROR_COLUMNS)

struct pprof_writer {
    const struct export_job *job;
    gzFile out;
    int error; /* 0 or -errno */
    uint8_t *packed;
    size_t packed_room;
    int64_t texts; /* written */
    int64_t key_thread, key_kind, key_tid, key_java_id, key_frame;
    int64_t key_errors[REPORT_ERROR_COLUMNS]; /* "cpu_error", "wall_error" */
    int64_t nanoseconds;
    struct report_errors *errors[REPORT_ERROR_COLUMNS]; /* NULL: not known */
    int64_t kinds[NODE_LOGICAL + 1]; /* texts of node kinds; 0: not written yet */
    uint64_t gap_location;
    uint64_t *stack; /* location ids by depth, the outermost first */
    size_t stack_room;
    uint64_t *frames; /* of one sample, the innermost first */
};

static void write_part(struct pprof_writer *writer, const Pprof__Profile *part)
{
    size_t size = pprof__profile__get_packed_size(part);

    writer->packed = memory__grown(writer->packed, &writer->packed_room, size, 1);
    pprof__profile__pack(part, writer->packed);
    if (!writer->error && size > 0 && gzwrite(writer->out, writer->packed, (unsigned)size) <= 0)
        writer->error = errno ? -errno : -EIO;
}

/* The index of a text, which is written; the empty text is always the first. Most programs that
 * read these files print the texts to a terminal, so what a terminal must not get is escaped. */
static int64_t add_text(struct pprof_writer *writer, struct text text)
{
    if (text.length == 0 && writer->texts > 0)
        return 0;
    struct text_store store = {0};
    struct text escaped = frame_text__escaped(&store, text, '\0');
    ProtobufCBinaryData bytes = {escaped.length, (uint8_t *)escaped.bytes};
    Pprof__Profile part = PPROF__PROFILE__INIT;
    part.n_texts = 1;
    part.texts = &bytes;
    write_part(writer, &part);
    text_store__release(&store);
    return writer->texts++;
}

static int64_t add_word(struct pprof_writer *writer, const char *word)
{
    return add_text(writer, (struct text){word, strlen(word)});
}

static int64_t as_signed(uint64_t value)
{
    return value > INT64_MAX ? INT64_MAX : (int64_t)value;
}

static void write_value_kinds(struct pprof_writer *writer)
{
    static const char *const units[] = {
        [UNIT_NS] = "nanoseconds", [UNIT_COUNT] = "count", [UNIT_BYTES] = "bytes"};
    const struct export_job *job = writer->job;

    for (enum report_column column = 0; column < COLUMN_COUNT; column++) {
        if (!job->model->base[column])
            continue;
        Pprof__ValueKind kind = PPROF__VALUE_KIND__INIT;
        Pprof__ValueKind *kinds = &kind;
        kind.name = add_word(writer, report_column__name(column));
        kind.unit = add_word(writer, units[report_column__unit(column)]);
        Pprof__Profile part = PPROF__PROFILE__INIT;
        part.n_value_kinds = 1;
        part.value_kinds = &kinds;
        if (column == job->column)
            part.first_shown_value_kind = kind.name;
        write_part(writer, &part);
    }
}

static void write_facts(struct pprof_writer *writer)
{
    const struct report_model *model = writer->job->model;
    struct text_store store = {0};
    const struct text comments[] = {report_losses__title(&store, model), model->jvm,
                                    model->machine};
    Pprof__Profile part = PPROF__PROFILE__INIT;

    part.begin_ns = as_signed(report_model__epoch_ns(model, 0));
    part.duration_ns = as_signed(report_process__wall_ns(model));
    write_part(writer, &part);
    for (size_t i = 0; i < sizeof(comments) / sizeof(comments[0]); i++) {
        int64_t place = add_text(writer, comments[i]);
        Pprof__Profile comment = PPROF__PROFILE__INIT;

        comment.n_comments = place ? 1 : 0;
        comment.comments = &place;
        write_part(writer, &comment);
    }
    text_store__release(&store);
}

/* A function and its one location, both with that id. */
static void write_function(struct pprof_writer *writer, Pprof__Function *function)
{
    Pprof__Line line = PPROF__LINE__INIT;
    Pprof__Line *lines = &line;
    Pprof__Location location = PPROF__LOCATION__INIT;
    Pprof__Location *locations = &location;
    Pprof__Profile part = PPROF__PROFILE__INIT;

    line.function = function->id;
    location.id = function->id;
    location.n_lines = 1;
    location.lines = &lines;
    part.n_locations = 1;
    part.locations = &locations;
    part.n_functions = 1;
    part.functions = &function;
    write_part(writer, &part);
}

static uint64_t location_of(uint32_t method)
{
    return (uint64_t)method + 1;
}

static int64_t add_system_name(struct pprof_writer *writer, const struct report_method *method)
{
    char *joined = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&joined, &length);

    if (!out)
        return 0;
    fwrite(method->class_name.bytes, 1, method->class_name.length, out);
    if (method->class_name.length > 0)
        fputc('.', out);
    fwrite(method->name.bytes, 1, method->name.length, out);
    fwrite(method->signature.bytes, 1, method->signature.length, out);
    bool whole = fclose(out) == 0;
    int64_t place = whole ? add_text(writer, (struct text){joined, length}) : 0;
    free(joined);
    return place;
}

static void write_functions(struct pprof_writer *writer)
{
    const struct export_job *job = writer->job;
    struct frame_names names;
    struct text source = {"", 0}; /* of the method before: classes' methods stand together */
    int64_t source_place = 0;

    frame_names__make(&names, job->model, job->selected);
    for (uint32_t i = 0; i < job->model->method_count; i++) {
        if (!names.items[i].bytes)
            continue;
        const struct report_method *method = &job->model->methods[i];
        if (text__compare(source, frame_file__of(method)) != 0) {
            source = frame_file__of(method);
            source_place = add_text(writer, source);
        }
        Pprof__Function function = PPROF__FUNCTION__INIT;
        function.id = location_of(i);
        function.name = add_text(writer, names.items[i]);
        function.system_name = add_system_name(writer, method);
        function.source_file = source_place;
        write_function(writer, &function);
    }
    frame_names__release(&names);
    Pprof__Function gap = PPROF__FUNCTION__INIT;
    writer->gap_location = location_of(job->model->method_count);
    gap.id = writer->gap_location;
    gap.name = add_word(writer, "(frames left out)");
    gap.system_name = gap.name;
    write_function(writer, &gap);
}

static void write_label_texts(struct pprof_writer *writer)
{
    writer->key_thread = add_word(writer, "thread");
    writer->key_kind = add_word(writer, "kind");
    writer->key_tid = add_word(writer, "tid");
    writer->key_java_id = add_word(writer, "java_id");
    writer->key_frame = add_word(writer, "frame");
    for (size_t i = 0; i < REPORT_ERROR_COLUMNS; i++) {
        char key[32];

        writer->errors[i] = report_errors__of_nodes(writer->job->model, report_error_columns[i]);
        if (!writer->errors[i])
            continue;
        snprintf(key, sizeof(key), "%s_error", report_column__name(report_error_columns[i]));
        writer->key_errors[i] = add_word(writer, key);
        writer->nanoseconds = add_word(writer, "nanoseconds");
    }
}

/* The labels of all samples of a thread: the first is the node's kind, which is the sample's. */
static size_t make_labels(struct pprof_writer *writer, const struct report_thread *thread,
                          Pprof__Label labels[LABELS_MAX])
{
    size_t count = 0;

    for (size_t i = 0; i < LABELS_MAX; i++)
        labels[i] = (Pprof__Label)PPROF__LABEL__INIT;
    labels[count++].key = writer->key_frame;
    labels[count].key = writer->key_thread;
    labels[count++].text = add_text(writer, thread_name__of(thread));
    labels[count].key = writer->key_kind;
    labels[count++].text = add_word(writer, report_thread_kind__name(thread->kind));
    if (thread->java_id) {
        labels[count].key = writer->key_java_id;
        labels[count++].number = as_signed(thread->java_id);
    }
    for (uint32_t i = 0; i < thread_tids__known(thread); i++) {
        labels[count].key = writer->key_tid;
        labels[count++].number = thread->tids[i];
    }
    return count;
}

/* Whether any of them is not 0. */
static size_t gather_values(const struct report_model *model, uint32_t node,
                            int64_t values[COLUMN_COUNT], bool *any)
{
    size_t count = 0;

    *any = false;
    for (size_t column = 0; column < COLUMN_COUNT; column++) {
        if (!model->base[column])
            continue;
        values[count] = as_signed(model->base[column][node]);
        *any |= values[count++] != 0;
    }
    return count;
}

static size_t gather_frames(const struct pprof_writer *writer, size_t frames)
{
    size_t behind, count = 0;
    size_t left_out = call_path__left_out(frames, &behind);

    for (size_t i = frames; i-- > 0;)
        if (left_out && i == behind + left_out - 1) {
            writer->frames[count++] = writer->gap_location;
            i = behind;
        } else {
            writer->frames[count++] = writer->stack[i];
        }
    return count;
}

/* How far the node's own times may be off: behind the labels of its thread, for the format sums up
 * values, and errors do not add up so. How many there are with them. */
static size_t add_error_labels(const struct pprof_writer *writer, uint32_t index,
                               Pprof__Label **labels, size_t count)
{
    for (size_t i = 0; i < REPORT_ERROR_COLUMNS; i++) {
        if (!writer->errors[i] || !writer->errors[i]->base[index])
            continue;
        *labels[count] = (Pprof__Label)PPROF__LABEL__INIT;
        labels[count]->key = writer->key_errors[i];
        labels[count]->number = as_signed(writer->errors[i]->base[index]);
        labels[count++]->unit = writer->nanoseconds;
    }
    return count;
}

static void write_sample(struct pprof_writer *writer, uint32_t index, Pprof__Sample *sample)
{
    const struct report_model *model = writer->job->model;
    const struct report_node *node = &model->nodes[index];
    int64_t values[COLUMN_COUNT];
    bool any;

    sample->n_values = gather_values(model, index, values, &any);
    sample->values = values;
    if (!any)
        return;
    sample->n_locations = gather_frames(writer, (size_t)node->depth + 1);
    sample->locations = writer->frames;
    if (!writer->kinds[node->kind])
        writer->kinds[node->kind] = add_word(writer, report_node_kind__name(node->kind));
    sample->labels[0]->text = writer->kinds[node->kind];
    Pprof__Profile part = PPROF__PROFILE__INIT;
    part.n_samples = 1;
    part.samples = &sample;
    write_part(writer, &part);
}

static void write_thread(struct pprof_writer *writer, const struct report_thread *thread)
{
    const struct report_model *model = writer->job->model;
    Pprof__Label labels[LABELS_MAX];
    Pprof__Label *label_places[LABELS_MAX];
    Pprof__Sample sample = PPROF__SAMPLE__INIT;
    size_t label_count = make_labels(writer, thread, labels);

    sample.labels = label_places;
    for (size_t i = 0; i < LABELS_MAX; i++)
        label_places[i] = &labels[i];
    for (uint32_t i = thread->first_node; i < thread->end_node && !writer->error; i++) {
        const struct report_node *node = &model->nodes[i];

        writer->stack = memory__grown(writer->stack, &writer->stack_room, (size_t)node->depth + 1,
                                      sizeof(*writer->stack));
        writer->stack[node->depth] = location_of(node->method);
        sample.n_labels = add_error_labels(writer, i, label_places, label_count);
        write_sample(writer, i, &sample);
    }
}

int format_pprof__write(const struct export_job *job, FILE *out, const char *path)
{
    (void)path;
    struct pprof_writer writer = {.job = job};
    int fd = dup(fileno(out));
    writer.out = fd < 0 ? NULL : gzdopen(fd, COMPRESSION);
    if (!writer.out) {
        int error = fd < 0 ? -errno : -ENOMEM;

        if (fd >= 0)
            close(fd);
        return error;
    }
    writer.frames = memory__zeroed(CALL_PATH_FRAMES + 1, sizeof(*writer.frames));
    errno = 0;
    add_word(&writer, "");
    write_value_kinds(&writer);
    write_facts(&writer);
    write_label_texts(&writer);
    write_functions(&writer);
    for (uint32_t i = 0; i < job->model->thread_count && !writer.error; i++)
        if (job->selected[i])
            write_thread(&writer, &job->model->threads[i]);
    free(writer.packed);
    free(writer.stack);
    free(writer.frames);
    for (size_t i = 0; i < REPORT_ERROR_COLUMNS; i++)
        report_errors__free(writer.errors[i]);
    errno = 0;
    if (gzclose(writer.out) != Z_OK && !writer.error)
        writer.error = errno ? -errno : -EIO;
    return writer.error;
}
