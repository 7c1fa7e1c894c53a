#include "tools/report/report_places.h"

#include "tools/report/memory.h"

#include <stdlib.h>
#include <string.h>

struct loading {
    struct report_places *places;
    ledger_ref *code_refs; /* by code, ascending */
    enum report_column counted;
};

static uint32_t method_of(const struct report_model *model, ledger_ref ref)
{
    uint32_t low = 0;
    uint32_t high = model->method_record_count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (model->method_records[middle].ref < ref)
            low = middle + 1;
        else
            high = middle;
    }
    bool found = low < model->method_record_count && model->method_records[low].ref == ref;
    return found ? model->method_records[low].method : REPORT_NONE;
}

static uint32_t code_of(const struct loading *loading, ledger_ref ref)
{
    uint32_t low = 0;
    uint32_t high = loading->places->code_count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (loading->code_refs[middle] < ref)
            low = middle + 1;
        else
            high = middle;
    }
    bool found = low < loading->places->code_count && loading->code_refs[low] == ref;
    return found ? low : REPORT_NONE;
}

static uint32_t count_records(const struct ledger_reader *reader, enum ledger_table table)
{
    uint32_t count = 0;

    for (ledger_ref ref = 0; (ref = ledger_reader__next(reader, table, ref)) != 0;)
        count++;
    return count;
}

static const unsigned char *bytes_of(struct report_places *places, ledger_ref ref, size_t *length)
{
    const char *bytes = ledger_reader__string(places->reader, ref, length);

    if (!bytes)
        *length = 0;
    if (!bytes && ref)
        places->skipped++;
    return (const unsigned char *)bytes;
}

static void load_codes(struct loading *loading)
{
    struct report_places *places = loading->places;
    uint32_t count = count_records(places->reader, LEDGER_CODE);

    places->codes = memory__zeroed(count, sizeof(*places->codes));
    loading->code_refs = memory__zeroed(count, sizeof(*loading->code_refs));
    for (ledger_ref ref = 0; (ref = ledger_reader__next(places->reader, LEDGER_CODE, ref)) != 0;) {
        const struct ledger_code *record = ledger_reader__code(places->reader, ref);

        loading->code_refs[places->code_count] = ref;
        struct report_code *code = &places->codes[places->code_count++];
        bool known = record->compiler <= COMPILER_OTHER;
        *code = (struct report_code){
            .method = method_of(places->model, record->method),
            .compiler = known ? (enum ledger_compiler)record->compiler : COMPILER_OTHER,
            .address = record->address,
            .size = record->size,
            .loaded_ns = record->loaded_ns,
            .unloaded_ns = record->unloaded_ns,
        };
        code->bytes = bytes_of(places, record->bytes, &code->byte_count);
        if (code->byte_count > code->size)
            code->byte_count = (size_t)code->size;
    }
}

/* By their owners, not by the owners' lists of them: those could go in circles. */
static void load_place(struct loading *loading, const struct ledger_place *record)
{
    struct report_places *places = loading->places;
    uint32_t code = code_of(loading, record->owner);
    uint32_t owner = code == REPORT_NONE ? method_of(places->model, record->owner) : REPORT_NONE;

    if (record->owner == 0)
        return;
    if (code == REPORT_NONE && owner == REPORT_NONE) {
        places->skipped++;
        return;
    }
    places->places[places->place_count++] = (struct report_place){
        .method = code == REPORT_NONE ? owner : method_of(places->model, record->method),
        .code = code,
        .bci = record->bci,
        .offset = record->offset,
        .samples = (loading->counted == COLUMN_WALL_SAMPLES ? 0 : record->cpu_samples) +
                   (loading->counted == COLUMN_CPU_SAMPLES ? 0 : record->wall_samples),
    };
}

static void chain_records(struct report_places *places)
{
    const struct report_model *model = places->model;

    places->first_record = memory__zeroed(model->method_count, sizeof(*places->first_record));
    places->next_record = memory__zeroed(model->method_record_count, sizeof(*places->next_record));
    for (uint32_t i = 0; i < model->method_count; i++)
        places->first_record[i] = REPORT_NONE;
    for (uint32_t i = model->method_record_count; i-- > 0;) {
        uint32_t *first = &places->first_record[model->method_records[i].method];

        places->next_record[i] = *first;
        *first = i;
    }
}

struct report_places *report_places__load(const struct report_model *model,
                                          const struct ledger_reader *reader,
                                          enum report_column column)
{
    struct report_places *places = memory__zeroed(1, sizeof(*places));
    struct loading loading = {.places = places,
                              .counted = report_columns__samples_of(&model->header, column)};

    places->model = model;
    places->reader = reader;
    chain_records(places);
    load_codes(&loading);
    places->places = memory__zeroed(count_records(reader, LEDGER_PLACES), sizeof(*places->places));
    for (ledger_ref ref = 0; (ref = ledger_reader__next(reader, LEDGER_PLACES, ref)) != 0;)
        load_place(&loading, ledger_reader__place(reader, ref));
    free(loading.code_refs);
    return places;
}

void report_places__free(struct report_places *places)
{
    text_store__release(&places->texts);
    free(places->first_record);
    free(places->next_record);
    free(places->places);
    free(places->codes);
    free(places);
}

static void add_record(struct report_places *places, const struct ledger_method *record,
                       struct report_method_code *code)
{
    const struct ledger_image *image = ledger_reader__image(places->reader, record->image);
    size_t length;

    if (!code->bytecode) {
        code->bytecode = bytes_of(places, record->bytecode, &code->bytecode_bytes);
        code->lines = bytes_of(places, record->lines, &code->line_bytes);
    }
    if (record->flags & METHOD_SYMBOL && !code->address) {
        code->address = record->address;
        code->size = record->size;
    }
    const unsigned char *id = image ? bytes_of(places, image->build_id, &length) : NULL;
    if (id && !code->build_id.length)
        code->build_id = text__from_java(&places->texts, (const char *)id, length);
}

struct report_method_code report_places__code_of(struct report_places *places, uint32_t method)
{
    const struct report_model *model = places->model;
    struct report_method_code code = {.build_id = {"", 0}};

    for (uint32_t i = places->first_record[method]; i != REPORT_NONE; i = places->next_record[i])
        add_record(places, ledger_reader__method(places->reader, model->method_records[i].ref),
                   &code);
    return code;
}

uint32_t report_method_code__line(const struct report_method_code *code, int64_t bci)
{
    int64_t nearest = -1;
    uint32_t line = 0;

    for (size_t at = 0; at + 4 <= code->line_bytes; at += 4) {
        uint16_t pair[2];

        memcpy(pair, code->lines + at, sizeof(pair));
        if (pair[0] <= bci && pair[0] > nearest) {
            nearest = pair[0];
            line = pair[1];
        }
    }
    return line;
}

const char *report_compiler__name(enum ledger_compiler compiler)
{
    static const char *const names[] = {
        [COMPILER_NONE] = "stub",
        [COMPILER_C1] = "C1",
        [COMPILER_C2] = "C2",
        [COMPILER_OTHER] = "compiled",
    };

    return names[compiler];
}
