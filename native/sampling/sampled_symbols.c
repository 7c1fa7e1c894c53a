#include "native/sampling/sampled_symbols.h"

#include "native/hash_table.h"
#include "native/sampling/kernel_symbols.h"
#include "native/unwind/elf_symbols.h"

#include <stdlib.h>
#include <string.h>

struct image_symbols {
    const struct code_image *image;
    struct elf_symbols *names; /* NULL: the file cannot be read any more */
    ledger_ref record;
    ledger_ref path;
    UT_hash_handle hh;
};

/* An image may later lie where another one was. */
struct symbol_key {
    uint64_t begin;
    const struct code_image *image; /* NULL: code that is in no image */
};

struct symbol_entry {
    struct symbol_key key;
    struct sampled_symbol symbol;
    UT_hash_handle hh;
};

void sampled_symbols__init(struct sampled_symbols *symbols, struct ledger *ledger,
                           const struct code_images *images)
{
    memset(symbols, 0, sizeof(*symbols));
    symbols->ledger = ledger;
    symbols->images = images;
}

static ledger_ref string(const struct sampled_symbols *symbols, const char *text)
{
    return *text ? ledger__string(symbols->ledger, text, strlen(text)) : 0;
}

static ledger_ref record_image(const struct sampled_symbols *symbols,
                               const struct code_image *image, ledger_ref path)
{
    ledger_ref ref = ledger__take_shared(symbols->ledger, LEDGER_IMAGES, 1);
    struct ledger_image *record;

    if (!ref)
        return 0;
    record = ledger__at(symbols->ledger, ref);
    record->build_id = string(symbols, code_image__build_id(image));
    record->start = code_image__start(image);
    record->end = code_image__end(image);
    record->bias = code_image__bias(image);
    __atomic_store_n(&record->path, path, __ATOMIC_RELEASE);
    return ref;
}

/* The names in the image's file, unless there is another build by now: an update, under a process
 * that runs on with the old one. */
static struct elf_symbols *open_names(const struct code_image *image)
{
    const char *build_id = code_image__build_id(image);
    struct elf_symbols *names;

    if (elf_symbols__open(&names, code_image__path(image)) != 0)
        return NULL;
    if (strcmp(elf_symbols__build_id(names), build_id) == 0)
        return names;
    elf_symbols__close(names);
    return NULL;
}

static struct image_symbols *open_image(struct sampled_symbols *symbols,
                                        const struct code_image *image)
{
    struct image_symbols *entry;

    HASH_FIND_PTR(symbols->by_image, &image, entry);
    if (entry)
        return entry;
    entry = calloc(1, sizeof(*entry));
    if (!entry)
        return NULL;
    entry->image = image;
    HASH_ADD_PTR(symbols->by_image, image, entry);
    if (!entry->hh.tbl) {
        free(entry);
        return NULL;
    }
    entry->names = open_names(image);
    entry->path = string(symbols, code_image__path(image));
    entry->record = record_image(symbols, image, entry->path);
    return entry;
}

struct sampled_symbol *sampled_symbols__known(const struct sampled_symbols *symbols,
                                              const struct code_image *image, uint64_t begin)
{
    const struct symbol_key key = {begin, image};
    struct symbol_entry *entry;

    /* NOLINTBEGIN(clang-analyzer-core.UndefinedBinaryOperatorResult): all of the key is set */
    HASH_FIND(hh, symbols->symbols, &key, sizeof(key), entry);
    /* NOLINTEND(clang-analyzer-core.UndefinedBinaryOperatorResult) */
    return entry ? &entry->symbol : NULL;
}

struct sampled_symbol *sampled_symbols__add(struct sampled_symbols *symbols,
                                            const struct code_image *image, uint64_t begin,
                                            uint64_t end, ledger_ref method)
{
    struct symbol_entry *entry = calloc(1, sizeof(*entry));

    if (!entry)
        return NULL;
    entry->key = (struct symbol_key){begin, image};
    entry->symbol = (struct sampled_symbol){.method = method, .begin = begin, .end = end};
    HASH_ADD(hh, symbols->symbols, key, sizeof(entry->key), entry);
    if (entry->hh.tbl)
        return &entry->symbol;
    free(entry);
    return NULL;
}

static uint64_t image_bias(const struct sampled_symbols *symbols, ledger_ref image)
{
    return ((const struct ledger_image *)ledger__at(symbols->ledger, image))->bias;
}

ledger_ref sampled_symbols__record(const struct sampled_symbols *symbols, ledger_ref owner,
                                   const char *name, ledger_ref image, uint64_t address,
                                   uint64_t bytes)
{
    ledger_ref ref = 0;
    struct ledger_method *method;

    if (owner && image && symbols->record_of)
        ref = symbols->record_of(symbols->context, address + image_bias(symbols, image));
    else if (owner)
        ref = ledger__take_shared(symbols->ledger, LEDGER_METHODS, 1);

    if (!ref)
        return 0;
    method = ledger__at(symbols->ledger, ref);
    method->name = string(symbols, name);
    method->image = image;
    method->address = address;
    method->size = bytes < UINT32_MAX ? (uint32_t)bytes : 0;
    method->flags |= METHOD_SYMBOL;
    __atomic_store_n(&method->class_name, owner, __ATOMIC_RELEASE);
    return ref;
}

struct sampled_symbol *sampled_symbols__find(struct sampled_symbols *symbols, uint64_t address)
{
    struct code_function function;
    struct image_symbols *image;
    struct sampled_symbol *known;
    const char *name = "";
    uint64_t start, size;

    if (!code_images__find(symbols->images, address, &function) || !function.image)
        return NULL;
    /* Most samples end here: the image knows the function at the address. */
    if (function.size) {
        known = sampled_symbols__known(symbols, function.image,
                                       function.start + code_image__bias(function.image));
        if (known)
            return known;
    }
    image = open_image(symbols, function.image);
    if (!image)
        return NULL;
    start = function.start;
    size = function.size;
    if (image->names) {
        uint64_t named_start, named_size;

        if (elf_symbols__find(image->names, address - code_image__bias(function.image), &name,
                              &named_start, &named_size) &&
            !function.size) {
            start = named_start;
            size = named_size;
        }
    }
    start += code_image__bias(function.image);
    known = sampled_symbols__known(symbols, function.image, start);
    if (known)
        return known;
    return sampled_symbols__add(symbols, function.image, start, start + size,
                                sampled_symbols__record(symbols, image->path, name, image->record,
                                                        start - code_image__bias(function.image),
                                                        size));
}

struct sampled_symbol *sampled_symbols__find_kernel(struct sampled_symbols *symbols,
                                                    uint64_t address)
{
    struct sampled_symbol *known;
    const char *name;
    uint64_t start;

    if (!symbols->kernel_read) {
        symbols->kernel_read = true;
        if (kernel_symbols__open(&symbols->kernel, "/proc/kallsyms") != 0)
            symbols->kernel = NULL;
    }
    name = symbols->kernel ? kernel_symbols__find(symbols->kernel, address, &start) : NULL;
    if (!name)
        return NULL;
    known = sampled_symbols__known(symbols, NULL, start);
    if (known)
        return known;
    return sampled_symbols__add(
        symbols, NULL, start, start,
        sampled_symbols__record(symbols, string(symbols, "[kernel]"), name, 0, start, 0));
}

size_t sampled_symbols__bytes(const struct sampled_symbols *symbols)
{
    const struct image_symbols *image, *next;
    size_t bytes = HASH_COUNT(symbols->symbols) * sizeof(struct symbol_entry);

    HASH_ITER (hh, symbols->by_image, image, next)
        bytes += sizeof(*image) + (image->names ? elf_symbols__bytes(image->names) : 0);
    return bytes;
}
