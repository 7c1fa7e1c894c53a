#include "tools/annotate/annotation.h"

#include "tools/report/memory.h"

#include <stdlib.h>

struct listing *annotation__add(struct annotation *annotation, enum listing_kind kind, char *title)
{
    size_t room = annotation->listing_count;

    annotation->listings = memory__grown(annotation->listings, &room, annotation->listing_count + 1,
                                         sizeof(*annotation->listings));
    struct listing *listing = &annotation->listings[annotation->listing_count++];
    *listing = (struct listing){.kind = kind, .title = title, .samples = annotation->samples};
    return listing;
}

struct listing_row *listing__add(struct listing *listing, uint64_t position, char *text)
{
    listing->rows = memory__grown(listing->rows, &listing->row_room, listing->row_count + 1,
                                  sizeof(*listing->rows));
    struct listing_row *row = &listing->rows[listing->row_count++];
    *row = (struct listing_row){.position = position, .text = text};
    return row;
}

struct listing_row *listing__row_at(struct listing *listing, uint64_t position)
{
    size_t low = 0;
    size_t high = listing->row_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (listing->rows[middle].position <= position)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? &listing->rows[low - 1] : NULL;
}

bool listing__count(struct listing *listing, uint64_t position, uint64_t samples)
{
    struct listing_row *row = listing__row_at(listing, position);

    if (row)
        row->samples += samples;
    return row != NULL;
}

static void release_listing(struct listing *listing)
{
    for (size_t row = 0; row < listing->row_count; row++) {
        free(listing->rows[row].text);
        free(listing->rows[row].note);
    }
    free(listing->rows);
    free(listing->title);
}

void annotation__drop_last(struct annotation *annotation)
{
    release_listing(&annotation->listings[--annotation->listing_count]);
}

/* A place in code without a known line belongs to the method that owns the code. */
static bool belongs_to(const struct report_places *places, const struct report_place *place,
                       uint32_t method)
{
    if (place->method != REPORT_NONE || place->code == REPORT_NONE)
        return place->method == method;
    return places->codes[place->code].method == method;
}

uint64_t annotation__samples(const struct report_places *places, uint32_t method)
{
    uint64_t samples = 0;

    for (uint32_t i = 0; i < places->place_count; i++)
        if (belongs_to(places, &places->places[i], method))
            samples += places->places[i].samples;
    return samples;
}

static void count(struct annotation *annotation, const struct report_places *places)
{
    for (uint32_t i = 0; i < places->place_count; i++) {
        const struct report_place *place = &places->places[i];

        if (!belongs_to(places, place, annotation->method))
            continue;
        annotation->samples += place->samples;
        if (place->code == REPORT_NONE)
            annotation->interpreted += place->samples;
        else
            annotation->compiled += place->samples;
        if (place->code != REPORT_NONE && places->codes[place->code].method != annotation->method)
            annotation->elsewhere += place->samples;
        if (place->bci < 0)
            annotation->unplaced += place->samples;
    }
}

struct annotation *annotation__new(struct report_places *places, struct native_symbols *symbols,
                                   uint32_t method, const struct annotation_wish *wish,
                                   char *message, size_t message_bytes)
{
    struct annotation *annotation = memory__zeroed(1, sizeof(*annotation));
    struct report_method_code code = report_places__code_of(places, method);
    bool native = report_method__is_native_function(&places->model->methods[method]);

    annotation->method = method;
    count(annotation, places);
    if (!native && wish->source &&
        annotation__add_source(annotation, places, &code, wish->source, message, message_bytes)) {
        annotation__free(annotation);
        return NULL;
    }
    if (!native && !wish->source)
        annotation__add_bytecode(annotation, places, &code, "Bytecode");
    if (native)
        annotation__add_native(annotation, places, symbols, &code);
    if (native || wish->code)
        annotation__add_compiled(annotation, places);
    return annotation;
}

void annotation__free(struct annotation *annotation)
{
    for (size_t i = 0; i < annotation->listing_count; i++)
        release_listing(&annotation->listings[i]);
    free(annotation->listings);
    free(annotation);
}
