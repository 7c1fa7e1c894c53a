#include "tools/annotate/annotation_view.h"

#include "tools/output/json_rows.h"
#include "tools/report/quantity.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define SAMPLES_COLUMNS  9u
#define SHARE_COLUMNS    9u
#define LINE_COLUMNS     7u
#define POSITION_COLUMNS 8u

static const struct {
    const char *key;      /* of the listing */
    const char *position; /* of a row's, in JSON; NULL: the line says it */
    const char *head;
    const char *text;
} kinds[] = {
    [LISTING_SOURCE] = {"source", NULL, NULL, "Source"},
    [LISTING_BYTECODE] = {"bytecode", "bci", "Bci", "Bytecode"},
    [LISTING_CODE] = {"code", "offset", "Offset", "Machine code"},
};

static void write_head(const struct annotation *annotation, const struct report_model *model,
                       const struct screen *screen)
{
    const struct report_method *method = &model->methods[annotation->method];
    struct text_store store = {0};
    char *name = text__printable(report_method__full_name(&store, method), 0);
    char *signature = text__printable(method->signature, 0);
    char *source = text__printable(method->source, 0);

    fprintf(screen->out, "%s%s%s", screen__bold(screen), name, screen__plain(screen));
    if (signature[0])
        fprintf(screen->out, "  %s", signature);
    if (source[0])
        fprintf(screen->out, ", %s", source);
    fprintf(screen->out, "\n  %s", quantity__counted(annotation->samples, "sample").text);
    if (!report_method__is_native_function(method)) {
        fprintf(screen->out, ": %s interpreted, ", quantity__count(annotation->interpreted).text);
        fprintf(screen->out, "%s compiled", quantity__count(annotation->compiled).text);
        if (annotation->elsewhere)
            fprintf(screen->out, ", of which %s inlined into other methods",
                    quantity__count(annotation->elsewhere).text);
        if (annotation->unplaced)
            fprintf(screen->out, "; %s nobody knows where",
                    quantity__count(annotation->unplaced).text);
    }
    fputc('\n', screen->out);
    text_store__release(&store);
    free(name);
    free(signature);
    free(source);
}

static void write_row(const struct listing *listing, const struct listing_row *row,
                      const struct screen *screen)
{
    char number[32] = "";
    char *text = text__printable((struct text){row->text, strlen(row->text)}, 0);

    screen__right(screen, row->samples ? quantity__count(row->samples).text : "", SAMPLES_COLUMNS);
    screen__right(screen, row->samples ? quantity__share(row->samples, listing->samples).text : "",
                  SHARE_COLUMNS);
    if (row->line)
        snprintf(number, sizeof(number), "%" PRIu32, row->line);
    screen__right(screen, number, LINE_COLUMNS);
    if (kinds[listing->kind].head) {
        bool code = listing->kind == LISTING_CODE;

        snprintf(number, sizeof(number), code ? "+0x%" PRIx64 : "%" PRIu64, row->position);
        screen__right(screen, number, POSITION_COLUMNS);
    }
    fprintf(screen->out, text[0] || row->note ? "  %s" : "%s", text);
    if (row->note) {
        char *note = text__printable((struct text){row->note, strlen(row->note)}, 0);

        fprintf(screen->out, "%s; %s", text[0] ? "  " : "", note);
        free(note);
    }
    fputc('\n', screen->out);
    free(text);
}

static void write_listing(const struct listing *listing, const struct screen *screen)
{
    char *title = text__printable((struct text){listing->title, strlen(listing->title)}, 0);

    fprintf(screen->out, "\n%s%s%s", screen__bold(screen), title, screen__plain(screen));
    if (listing->kind == LISTING_CODE)
        fprintf(screen->out, ", %s", quantity__counted(listing->samples, "sample").text);
    fputc('\n', screen->out);
    screen__right(screen, "Samples", SAMPLES_COLUMNS);
    screen__right(screen, "Share", SHARE_COLUMNS);
    screen__right(screen, "Line", LINE_COLUMNS);
    if (kinds[listing->kind].head)
        screen__right(screen, kinds[listing->kind].head, POSITION_COLUMNS);
    fprintf(screen->out, "  %s\n", kinds[listing->kind].text);
    for (size_t i = 0; i < listing->row_count; i++)
        write_row(listing, &listing->rows[i], screen);
    free(title);
}

void annotation_view__text(const struct annotation *annotation, const struct report_model *model,
                           const struct screen *screen)
{
    write_head(annotation, model, screen);
    for (size_t i = 0; i < annotation->listing_count; i++)
        write_listing(&annotation->listings[i], screen);
}

/* Lines of source and the like may be any bytes. */
static json_t *json_text(const char *bytes)
{
    struct text_store store = {0};
    json_t *text = json_row__text(text__from_java(&store, bytes, strlen(bytes)));

    text_store__release(&store);
    return text;
}

static json_t *json_line(uint32_t line)
{
    return line ? json_integer(line) : json_null();
}

static json_t *json_listing_row(const struct listing *listing, const struct listing_row *row)
{
    json_t *object = json_object();
    uint64_t share = listing->samples
                         ? (uint64_t)((unsigned __int128)row->samples * 1000000 / listing->samples)
                         : 0;

    if (kinds[listing->kind].position)
        json_object_set_new(object, kinds[listing->kind].position,
                            json_row__integer(row->position));
    json_object_set_new(object, "line", json_line(row->line));
    json_object_set_new(object, "samples", json_row__integer(row->samples));
    json_object_set_new(object, "share_ppm", json_row__integer(share));
    json_object_set_new(object, "text", json_text(row->text));
    if (row->note)
        json_object_set_new(object, "note", json_text(row->note));
    return object;
}

static json_t *json_listing(const struct listing *listing, const struct report_model *model)
{
    json_t *object = json_object();
    json_t *rows = json_array();
    const struct report_code *code = listing->code;

    json_object_set_new(object, "kind", json_string(kinds[listing->kind].key));
    json_object_set_new(object, "title", json_text(listing->title));
    json_object_set_new(object, "samples", json_row__integer(listing->samples));
    if (code) {
        json_object_set_new(object, "compiler", json_string(report_compiler__name(code->compiler)));
        json_object_set_new(object, "address", json_row__integer(code->address));
        json_object_set_new(object, "size", json_row__integer(code->size));
        json_object_set_new(object, "loaded_ns",
                            code->loaded_ns
                                ? json_row__integer(report_model__epoch_ns(model, code->loaded_ns))
                                : json_null());
        json_object_set_new(
            object, "unloaded_ns",
            code->unloaded_ns ? json_row__integer(report_model__epoch_ns(model, code->unloaded_ns))
                              : json_null());
    }
    for (size_t i = 0; i < listing->row_count; i++)
        json_array_append_new(rows, json_listing_row(listing, &listing->rows[i]));
    json_object_set_new(object, "rows", rows);
    return object;
}

json_t *annotation_view__json(const struct annotation *annotation, const struct report_model *model)
{
    const struct report_method *method = &model->methods[annotation->method];
    json_t *object = json_object();
    json_t *listings = json_array();

    json_object_set_new(object, "class", json_row__text(method->class_name));
    json_object_set_new(object, "method", json_row__text(method->name));
    json_object_set_new(object, "signature", json_row__text(method->signature));
    json_object_set_new(object, "source", json_row__text(method->source));
    json_object_set_new(object, "image", json_row__text(method->image));
    json_object_set_new(object, "samples", json_row__integer(annotation->samples));
    json_object_set_new(object, "interpreted", json_row__integer(annotation->interpreted));
    json_object_set_new(object, "compiled", json_row__integer(annotation->compiled));
    json_object_set_new(object, "inlined_elsewhere", json_row__integer(annotation->elsewhere));
    json_object_set_new(object, "unplaced", json_row__integer(annotation->unplaced));
    for (size_t i = 0; i < annotation->listing_count; i++)
        json_array_append_new(listings, json_listing(&annotation->listings[i], model));
    json_object_set_new(object, "listings", listings);
    return object;
}
