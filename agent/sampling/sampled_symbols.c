#include "agent/sampling/sampled_symbols.h"

#include "native/hash_table.h"
#include "native/sampling/kernel_symbols.h"
#include "native/unwind/elf_symbols.h"

#include <stdio.h>
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
    const struct code_image *image; /* NULL: code of the JVM or of the kernel */
};

struct symbol_entry {
    struct symbol_key key;
    struct sampled_symbol symbol;
    UT_hash_handle hh;
};

struct stub_name {
    uint64_t begin;
    uint64_t end;
    char *name;
};

void sampled_symbols__init(struct sampled_symbols *symbols, struct ledger *ledger,
                           const struct code_images *images)
{
    memset(symbols, 0, sizeof(*symbols));
    pthread_mutex_init(&symbols->stubs_lock, NULL);
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

static struct sampled_symbol *find_entry(const struct sampled_symbols *symbols,
                                         const struct code_image *image, uint64_t begin)
{
    const struct symbol_key key = {begin, image};
    struct symbol_entry *entry;

    /* NOLINTBEGIN(clang-analyzer-core.UndefinedBinaryOperatorResult): all of the key is set */
    HASH_FIND(hh, symbols->symbols, &key, sizeof(key), entry);
    /* NOLINTEND(clang-analyzer-core.UndefinedBinaryOperatorResult) */
    return entry ? &entry->symbol : NULL;
}

static struct sampled_symbol *add_entry(struct sampled_symbols *symbols,
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

/* A record of a symbol; it is found by nobody but here. */
static ledger_ref record_symbol(const struct sampled_symbols *symbols, ledger_ref owner,
                                const char *name, ledger_ref image, uint64_t address,
                                uint64_t bytes)
{
    ledger_ref ref = owner ? ledger__take_shared(symbols->ledger, LEDGER_METHODS, 1) : 0;
    struct ledger_method *method;

    if (!ref)
        return 0;
    method = ledger__at(symbols->ledger, ref);
    method->name = string(symbols, name);
    method->image = image;
    method->address = address;
    method->size = bytes < UINT32_MAX ? (uint32_t)bytes : 0;
    method->flags = METHOD_SYMBOL;
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
        known =
            find_entry(symbols, function.image, function.start + code_image__bias(function.image));
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
    known = find_entry(symbols, function.image, start);
    if (known)
        return known;
    return add_entry(symbols, function.image, start, start + size,
                     record_symbol(symbols, image->path, name, image->record,
                                   start - code_image__bias(function.image), size));
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
    known = find_entry(symbols, NULL, start);
    if (known)
        return known;
    return add_entry(symbols, NULL, start, start,
                     record_symbol(symbols, string(symbols, "[kernel]"), name, 0, start, 0));
}

/* The index of the first stub that ends behind the address. */
static uint32_t stub_position(const struct sampled_symbols *symbols, uint64_t address)
{
    uint32_t low = 0, high = symbols->stub_count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (symbols->stubs[middle].end <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool make_room(struct sampled_symbols *symbols)
{
    uint32_t wider = symbols->stub_room ? symbols->stub_room * 2 : 1024;
    struct stub_name *grown;

    if (symbols->stub_count < symbols->stub_room)
        return true;
    grown = realloc(symbols->stubs, (size_t)wider * sizeof(*grown));
    if (!grown)
        return false;
    symbols->stubs = grown;
    symbols->stub_room = wider;
    return true;
}

/* Under the lock. */
static void add_stub(struct sampled_symbols *symbols, const char *name, uint64_t begin,
                     uint64_t end)
{
    uint32_t at = stub_position(symbols, begin);
    char *copy;

    if (at < symbols->stub_count && symbols->stubs[at].begin < end) {
        /* Told again, or code that was made where other code was. */
        symbols->stubs[at].begin = begin;
        symbols->stubs[at].end = end;
        if (strcmp(symbols->stubs[at].name, name) == 0)
            return;
        copy = strdup(name);
        if (copy) {
            free(symbols->stubs[at].name);
            symbols->stubs[at].name = copy;
        }
        return;
    }
    copy = make_room(symbols) ? strdup(name) : NULL;
    if (!copy)
        return;
    memmove(&symbols->stubs[at + 1], &symbols->stubs[at],
            (symbols->stub_count - at) * sizeof(*symbols->stubs));
    symbols->stubs[at] = (struct stub_name){begin, end, copy};
    symbols->stub_count++;
}

void sampled_symbols__stub(struct sampled_symbols *symbols, const char *name, const void *address,
                           int32_t bytes)
{
    uint64_t begin = (uint64_t)(uintptr_t)address;

    if (bytes <= 0)
        return;
    pthread_mutex_lock(&symbols->stubs_lock);
    add_stub(symbols, name, begin, begin + (uint32_t)bytes);
    pthread_mutex_unlock(&symbols->stubs_lock);
}

static bool is_named(const struct sampled_symbols *symbols, const struct sampled_symbol *symbol,
                     const char *name)
{
    const struct ledger_method *method = ledger__at(symbols->ledger, symbol->method);

    return !symbol->method || method->name == string(symbols, name);
}

struct sampled_symbol *sampled_symbols__find_stub(struct sampled_symbols *symbols, uint64_t address,
                                                  const struct code_blob *blob)
{
    uint64_t begin = blob->code, end = blob->end;
    struct sampled_symbol *known;
    char name[256];
    uint32_t at;

    snprintf(name, sizeof(name), "%s", blob->name);
    pthread_mutex_lock(&symbols->stubs_lock);
    at = stub_position(symbols, address);
    if (at < symbols->stub_count && address >= symbols->stubs[at].begin) {
        begin = symbols->stubs[at].begin;
        end = symbols->stubs[at].end;
        snprintf(name, sizeof(name), "%s", symbols->stubs[at].name);
    }
    pthread_mutex_unlock(&symbols->stubs_lock);
    known = find_entry(symbols, NULL, begin);
    if (known && is_named(symbols, known, name))
        return known;
    /* Other code was there before. */
    if (known) {
        *known = (struct sampled_symbol){
            .method = record_symbol(symbols, string(symbols, "[jvm]"), name, 0, begin, end - begin),
            .begin = begin,
            .end = end};
        return known;
    }
    return add_entry(symbols, NULL, begin, end,
                     record_symbol(symbols, string(symbols, "[jvm]"), name, 0, begin, end - begin));
}

size_t sampled_symbols__bytes(struct sampled_symbols *symbols)
{
    const struct image_symbols *image, *next;
    size_t bytes = HASH_COUNT(symbols->symbols) * sizeof(struct symbol_entry);

    HASH_ITER (hh, symbols->by_image, image, next)
        bytes += sizeof(*image) + (image->names ? elf_symbols__bytes(image->names) : 0);
    pthread_mutex_lock(&symbols->stubs_lock);
    bytes += symbols->stub_room * sizeof(*symbols->stubs);
    pthread_mutex_unlock(&symbols->stubs_lock);
    return bytes;
}
