/* Methods, and native functions by their names: records that mean the same are one. */
#include "tools/report/loader.h"
#include "tools/report/memory.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void load_java_method(struct loader *loader, const struct ledger_method *record,
                             ledger_ref ref, struct report_method *method)
{
    *method = (struct report_method){
        .class_name = loader__text(loader, record->class_name, ref),
        .name = loader__text(loader, record->name, ref),
        .signature = loader__text(loader, record->signature, ref),
        .source = loader__text(loader, record->source, ref),
        .image = {"", 0},
        .flags = record->flags,
    };
}

/* A file's name has no more bytes, of which each may have become three. */
#define FILE_NAME_BYTES (3u * NAME_MAX)

/* As much of the text as there may be of a file's name, in whole characters. */
static int file_name_bytes(struct text text)
{
    size_t length = text.length;

    if (length > FILE_NAME_BYTES)
        length = FILE_NAME_BYTES;
    while (length && length < text.length && (text.bytes[length] & 0xc0) == 0x80)
        length--;
    return (int)length;
}

/* "libjvm.so+0x8a3f10", of code that the JVM made "0x7f12340010". */
static struct text address_name(struct text_store *store, struct text image, uint64_t address)
{
    char *name = NULL;
    bool in_file = image.bytes[0] != '[';
    int length = asprintf(&name, "%.*s%s0x%" PRIx64, in_file ? file_name_bytes(image) : 0,
                          image.bytes, in_file ? "+" : "", address);

    if (length < 0)
        return (struct text){"?", 1};
    struct text kept = text__keep(store, name, (size_t)length);
    free(name);
    return kept;
}

static struct text build_id_of(struct loader *loader, const struct ledger_method *record,
                               ledger_ref ref)
{
    const struct ledger_image *image = ledger_reader__image(loader->reader, record->image);

    if (!image && record->image && !loader__is_being_written(loader))
        loader__skip(loader, ref, "ref %" PRIu32 ", expected an image", record->image);
    return image ? loader__text(loader, image->build_id, record->image) : (struct text){"", 0};
}

static void load_symbol(struct loader *loader, const struct ledger_method *record, ledger_ref ref,
                        struct report_method *method)
{
    struct text_store *store = &loader->model->texts;
    struct symbol symbol = {
        .image = loader__text(loader, record->class_name, ref),
        .build_id = build_id_of(loader, record, ref),
        .name = loader__text(loader, record->name, ref),
        .address = record->address,
    };
    struct text name = symbol.name;

    if (loader->symbols)
        name = loader->symbols->name_of(loader->symbols->context, store, &symbol);
    const char *slash = strrchr(symbol.image.bytes, '/');
    const char *base = slash ? slash + 1 : symbol.image.bytes;
    struct text class_name = {base, strlen(base)};
    *method = (struct report_method){
        .class_name = class_name,
        .name = name.length ? name : address_name(store, class_name, symbol.address),
        .signature = {"", 0},
        .source = {"", 0},
        .image = symbol.image,
        .flags = record->flags,
    };
}

static bool is_unfinished(const struct ledger_method *record)
{
    ledger_ref named = record->flags & METHOD_SYMBOL ? record->class_name : record->name;

    return record->flags & METHOD_DEAD || named == 0;
}

struct loaded_method {
    struct report_method method;
    uint32_t number; /* in the ledger's order */
    uint32_t index;  /* what it became */
};

static int compare_meaning(const struct loaded_method *x, const struct loaded_method *y)
{
    int order = text__compare(x->method.class_name, y->method.class_name);

    if (!order)
        order = text__compare(x->method.name, y->method.name);
    if (!order)
        order = text__compare(x->method.signature, y->method.signature);
    return order ? order : text__compare(x->method.image, y->method.image);
}

static int compare_loaded(const void *a, const void *b)
{
    const struct loaded_method *x = *(const struct loaded_method *const *)a;
    const struct loaded_method *y = *(const struct loaded_method *const *)b;
    int order = compare_meaning(x, y);

    return order ? order : x->number < y->number ? -1 : x->number > y->number;
}

/* Lets each index be the number of the first record that means the same. */
static void find_equals(struct loaded_method *loaded, uint32_t count)
{
    struct loaded_method **sorted = memory__zeroed(count, sizeof(struct loaded_method *));

    for (uint32_t i = 0; i < count; i++)
        sorted[i] = &loaded[i];
    qsort((void *)sorted, count, sizeof(struct loaded_method *), compare_loaded);
    for (uint32_t i = 0; i < count; i++) {
        bool same = i > 0 && compare_meaning(sorted[i - 1], sorted[i]) == 0;

        sorted[i]->index = same ? sorted[i - 1]->index : sorted[i]->number;
    }
    free((void *)sorted);
}

static void merge_methods(struct report_model *model, struct loaded_method *loaded, uint32_t count)
{
    find_equals(loaded, count);
    for (uint32_t i = 0; i < count; i++) {
        if (loaded[i].index == i) {
            model->methods[model->method_count] = loaded[i].method;
            loaded[i].index = model->method_count++;
        } else {
            loaded[i].index = loaded[loaded[i].index].index;
        }
        model->method_records[i].method = loaded[i].index;
    }
}

static void load_records(struct loader *loader, struct loaded_method *loaded)
{
    struct report_model *model = loader->model;
    ledger_ref ref = 0;

    while ((ref = ledger_reader__next(loader->reader, LEDGER_METHODS, ref)) != 0) {
        const struct ledger_method *record = ledger_reader__method(loader->reader, ref);

        if (is_unfinished(record))
            continue;
        uint32_t number = model->method_record_count++;
        struct loaded_method *place = &loaded[number];
        place->number = number;
        if (record->flags & METHOD_SYMBOL)
            load_symbol(loader, record, ref, &place->method);
        else
            load_java_method(loader, record, ref, &place->method);
        model->method_records[number].ref = ref;
    }
}

void loader__load_methods(struct loader *loader)
{
    struct report_model *model = loader->model;
    ledger_ref last = 0;
    uint32_t count = loader__count_records(loader, LEDGER_METHODS, &last);
    const struct text none = {"", 0};
    const struct text names[METHOD_FIRST_REAL] = {
        [METHOD_OF_THREAD] = {"(thread)", 8}, [METHOD_OF_GAP] = {"(between Java threads)", 22},
        [METHOD_OF_FOLDED] = {"(folded)", 8}, [METHOD_OF_UNSEEN] = {"(not sampled)", 13},
        [METHOD_OF_KERNEL] = {"[kernel]", 8}, [METHOD_UNKNOWN] = {"(unknown method)", 16},
    };

    model->methods = memory__zeroed((size_t)METHOD_FIRST_REAL + count, sizeof(*model->methods));
    for (uint32_t i = 0; i < METHOD_FIRST_REAL; i++)
        model->methods[i] =
            (struct report_method){none, names[i], none, none, none, 0, false, false};
    struct report_method *kernel = &model->methods[METHOD_OF_KERNEL];
    kernel->class_name = kernel->image = kernel->name;
    kernel->flags = METHOD_SYMBOL;
    model->method_count = METHOD_FIRST_REAL;
    model->method_records = memory__zeroed(count, sizeof(*model->method_records));
    struct loaded_method *loaded = memory__zeroed(count, sizeof(*loaded));
    load_records(loader, loaded);
    merge_methods(model, loaded, model->method_record_count);
    free(loaded);
    for (uint32_t i = 0; i < model->method_record_count; i++)
        loader->index_of[model->method_records[i].ref] = model->method_records[i].method + 1;
    report_methods__find_overloads(model->methods, model->method_count);
    loader->active = memory__zeroed(model->method_count, sizeof(*loader->active));
}
