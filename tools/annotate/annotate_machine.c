/* Machine code: each piece that the JVM compiled of a method, and native functions out of their
 * files. */
#include "tools/annotate/annotation.h"
#include "tools/annotate/machine_text.h"
#include "tools/report/memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Larger functions than this are made up. */
#define FUNCTION_BYTES_MAX (1u << 20)

static void disassemble(struct listing *listing, struct machine_text *machine,
                        const unsigned char *bytes, size_t length, uint64_t address)
{
    for (size_t at = 0; at < length;) {
        char text[MACHINE_TEXT_BYTES];
        size_t taken =
            machine_text__instruction(machine, bytes + at, length - at, address + at, text);

        listing__add(listing, at, strdup(text));
        at += taken;
    }
}

static char *code_title(const struct report_code *code)
{
    char *title = NULL;
    char until[64] = "";

    if (code->unloaded_ns)
        snprintf(until, sizeof(until), ", thrown away after %" PRIu64 " ms",
                 (code->unloaded_ns > code->loaded_ns ? code->unloaded_ns - code->loaded_ns : 0) /
                     1000000);
    if (asprintf(&title, "%s, %" PRIu64 " bytes at 0x%" PRIx64 "%s%s",
                 report_compiler__name(code->compiler), code->size, code->address, until,
                 code->byte_count ? "" : ", of which the ledger has no copy") < 0)
        return NULL;
    return title;
}

/* "demo.Inner.small:12", of a line that was inlined. */
static char *owner_note(struct report_places *places, const struct report_place *place)
{
    struct text_store store = {0};
    struct report_method_code code = report_places__code_of(places, place->method);
    struct text name = report_method__full_name(&store, &places->model->methods[place->method]);
    uint32_t line = report_method_code__line(&code, place->bci);
    char *note = NULL;
    int length =
        line ? asprintf(&note, "%s:%" PRIu32, name.bytes, line) : asprintf(&note, "%s", name.bytes);

    text_store__release(&store);
    return length < 0 ? NULL : note;
}

static void note_place(struct annotation *annotation, struct report_places *places,
                       struct listing_row *row, const struct report_place *place)
{
    if (place->method == annotation->method && place->bci >= 0) {
        struct report_method_code code = report_places__code_of(places, place->method);

        row->line = report_method_code__line(&code, place->bci);
    } else if (place->method != REPORT_NONE && place->method != annotation->method && !row->note) {
        row->note = owner_note(places, place);
    }
}

static int by_offset(const void *a, const void *b)
{
    const struct report_place *x = *(const struct report_place *const *)a;
    const struct report_place *y = *(const struct report_place *const *)b;

    if (x->offset != y->offset)
        return x->offset < y->offset ? -1 : 1;
    return x < y ? -1 : x > y;
}

/* The places in one piece of code, or of a native function, by their offsets; `count` of them. */
static const struct report_place **places_in(const struct report_places *places, uint32_t method,
                                             uint32_t code, size_t *count)
{
    const struct report_place **found =
        memory__zeroed(places->place_count, sizeof(const struct report_place *));

    *count = 0;
    for (uint32_t i = 0; i < places->place_count; i++) {
        const struct report_place *place = &places->places[i];

        if (place->code == code && (code != REPORT_NONE || place->method == method))
            found[(*count)++] = place;
    }
    qsort((void *)found, *count, sizeof(const struct report_place *), by_offset);
    return found;
}

/* Counts places into a listing of `length` bytes of code; what is not in it has rows of its own at
 * the end. */
static void count_places(struct annotation *annotation, struct report_places *places,
                         struct listing *listing, uint32_t code, size_t length)
{
    size_t count;
    const struct report_place **found = places_in(places, annotation->method, code, &count);
    size_t inside = listing->row_count;

    listing->samples = 0;
    for (size_t i = 0; i < count; i++) {
        const struct report_place *place = found[i];
        struct listing_row *row = listing__row_at(listing, place->offset);
        bool known = place->offset < length && inside > 0;

        if (!known && (!row || row->position != place->offset))
            row = listing__add(listing, place->offset, strdup(""));
        row->samples += place->samples;
        listing->samples += place->samples;
        note_place(annotation, places, row, place);
    }
    free((void *)found);
}

void annotation__add_compiled(struct annotation *annotation, struct report_places *places)
{
    unsigned machine = machine_text__machine_of(places->model->machine.bytes);
    struct machine_text *text = machine_text__new(machine);

    for (uint32_t i = 0; i < places->code_count; i++) {
        const struct report_code *code = &places->codes[i];

        if (code->method != annotation->method)
            continue;
        struct listing *listing = annotation__add(annotation, LISTING_CODE, code_title(code));
        listing->code = code;
        disassemble(listing, text, code->bytes, code->byte_count, code->address);
        count_places(annotation, places, listing, i, code->byte_count);
    }
    machine_text__free(text);
}

static void note_lines(struct listing *listing, struct native_image *image, uint64_t address)
{
    const char *before = "";

    for (size_t i = 0; i < listing->row_count; i++) {
        struct listing_row *row = &listing->rows[i];
        const char *file;
        int line;

        if (native_image__line(image, address + row->position, &file, &line) != 0 || line <= 0)
            continue;
        const char *slash = strrchr(file, '/');
        row->line = (uint32_t)line;
        if (strcmp(file, before) != 0)
            row->note = strdup(slash ? slash + 1 : file);
        before = file;
    }
}

/* How many bytes a function has: by the ledger, or else by its file. */
static size_t function_bytes(const struct report_method_code *code, struct native_image *image)
{
    struct native_function function;
    uint64_t size = code->size;

    if (!size && native_image__function(image, code->address, &function) == 0)
        size = function.address + function.size - code->address;
    return size < FUNCTION_BYTES_MAX ? (size_t)size : FUNCTION_BYTES_MAX;
}

static char *native_title(const struct report_method *method, struct native_image *image)
{
    char *title = NULL;
    bool file = method->image.bytes[0] == '/';
    const char *why = image ? "" : file ? ": not there, or of another build" : ": not a file";

    return asprintf(&title, "%s%s", method->image.bytes, why) < 0 ? NULL : title;
}

void annotation__add_native(struct annotation *annotation, struct report_places *places,
                            struct native_symbols *symbols, const struct report_method_code *code)
{
    const struct report_method *method = &places->model->methods[annotation->method];
    struct native_image *image =
        native_symbols__image(symbols, method->image.bytes, code->build_id.bytes);
    size_t length = image ? function_bytes(code, image) : 0;
    const unsigned char *bytes = length ? native_image__code(image, code->address, &length) : NULL;
    struct machine_text *text = image ? machine_text__new(native_image__machine(image)) : NULL;
    struct listing *listing =
        annotation__add(annotation, LISTING_CODE, native_title(method, image));

    if (bytes)
        disassemble(listing, text, bytes, length, code->address);
    if (image)
        note_lines(listing, image, code->address);
    count_places(annotation, places, listing, REPORT_NONE, bytes ? length : 0);
    if (listing->row_count == 0)
        annotation__drop_last(annotation);
    machine_text__free(text);
}
