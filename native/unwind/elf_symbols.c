#include "native/unwind/elf_symbols.h"

#include "native/unwind/elf_file.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

/* Behind a function that lies within another one, the outer one is looked for among so many symbols
 * before. */
#define LOOK_BACK 8u

#define RADIX_BITS 11u
#define RADIX      ((size_t)1 << RADIX_BITS)

enum { SYMTAB, DYNSYM, TABLE_COUNT };

static const uint32_t table_types[TABLE_COUNT] = {[SYMTAB] = SHT_SYMTAB, [DYNSYM] = SHT_DYNSYM};

struct symbol {
    uint64_t start, end;
    const char *name;
    uint8_t worth; /* of several symbols for one address the one of most worth is kept */
};

struct elf_symbols {
    struct symbol *symbols; /* by start */
    size_t count;
    char *names[TABLE_COUNT];
    struct build_id build_id;
};

/* A symbol table as the file has it. */
struct raw_table {
    const Elf64_Sym *symbols;
    size_t count;
    const char *names;
    size_t names_bytes;
};

static bool is_code(const struct elf_file *file, const Elf64_Sym *symbol, size_t names_bytes)
{
    unsigned type = ELF64_ST_TYPE(symbol->st_info);

    return (type == STT_FUNC || type == STT_GNU_IFUNC || type == STT_NOTYPE) &&
           symbol->st_shndx != SHN_UNDEF && symbol->st_shndx < file->section_count &&
           file->sections[symbol->st_shndx].sh_flags & SHF_EXECINSTR &&
           symbol->st_name < names_bytes && symbol->st_value + symbol->st_size >= symbol->st_value;
}

/* Functions before labels, symbols with a size before those without, and names that other objects
 * see before names that only their own file did. */
static uint8_t worth_of(const Elf64_Sym *symbol)
{
    unsigned binding = ELF64_ST_BIND(symbol->st_info);

    return (uint8_t)((ELF64_ST_TYPE(symbol->st_info) != STT_NOTYPE ? 8 : 0) +
                     (symbol->st_size ? 4 : 0) +
                     (binding == STB_GLOBAL ? 2
                      : binding == STB_WEAK ? 1
                                            : 0));
}

static void add_symbols(struct elf_symbols *symbols, const struct elf_file *file,
                        const struct raw_table *raw)
{
    for (size_t i = 0; i < raw->count; i++) {
        const Elf64_Sym *symbol = &raw->symbols[i];

        if (!is_code(file, symbol, raw->names_bytes) || raw->names[symbol->st_name] == '\0')
            continue;
        symbols->symbols[symbols->count++] = (struct symbol){
            .start = symbol->st_value,
            .end = symbol->st_value + symbol->st_size,
            .name = raw->names + symbol->st_name,
            .worth = worth_of(symbol),
        };
    }
}

static const Elf64_Shdr *table_section(const struct elf_file *file, uint32_t type)
{
    for (size_t i = 0; i < file->section_count; i++)
        if (file->sections[i].sh_type == type && file->sections[i].sh_link < file->section_count &&
            file->sections[i].sh_entsize == sizeof(Elf64_Sym))
            return &file->sections[i];
    return NULL;
}

/* Adds the symbols of a table. A damaged table adds none. 0 or -ENOMEM. */
static int read_table(struct elf_symbols *symbols, const struct elf_file *file, int table)
{
    const Elf64_Shdr *section = table_section(file, table_types[table]);
    const Elf64_Shdr *names = section ? &file->sections[section->sh_link] : NULL;
    struct symbol *more;
    struct raw_table raw;
    Elf64_Sym *copy;
    int error = 0;

    copy = section ? elf_file__copy(file, section->sh_offset, section->sh_size) : NULL;
    if (!copy)
        return 0;
    symbols->names[table] = elf_file__copy(file, names->sh_offset, names->sh_size);
    raw = (struct raw_table){copy, section->sh_size / sizeof(*copy), symbols->names[table],
                             names->sh_size};
    more = realloc(symbols->symbols, (symbols->count + raw.count + 1) * sizeof(*more));
    if (more)
        symbols->symbols = more;
    if (!more)
        error = -ENOMEM;
    else if (raw.names)
        add_symbols(symbols, file, &raw);
    free(copy);
    return error;
}

/* True if of two symbols for one address the first is to be kept. */
static bool is_better(const struct symbol *a, const struct symbol *b)
{
    return a->worth != b->worth ? a->worth > b->worth : strcmp(a->name, b->name) < 0;
}

/* A symbol's start, and its place in the array. */
struct start {
    uint64_t start;
    size_t symbol;
};

static void sort_by_digit(const struct start *from, struct start *to, size_t count, unsigned shift)
{
    size_t ends[RADIX + 1] = {0};

    for (size_t i = 0; i < count; i++)
        ends[(from[i].start >> shift) % RADIX + 1]++;
    for (size_t digit = 0; digit < RADIX; digit++)
        ends[digit + 1] += ends[digit];
    for (size_t i = 0; i < count; i++)
        to[ends[(from[i].start >> shift) % RADIX]++] = from[i];
}

/* Sorts by start, with a radix sort [H. H. Seward, 1954]: for libjvm's seventy thousand symbols
 * qsort took 10 ms of CPU as samples began. 0 or -ENOMEM. */
static int sort_symbols(struct elf_symbols *symbols)
{
    struct start *starts = calloc(2 * symbols->count, sizeof(*starts));
    struct start *sorted = starts, *other = starts + symbols->count, *swap;
    struct symbol *more = calloc(symbols->count, sizeof(*more));
    uint64_t all = 0;

    if (!starts || !more) {
        free(starts);
        free(more);
        return -ENOMEM;
    }
    for (size_t i = 0; i < symbols->count; i++) {
        starts[i] = (struct start){symbols->symbols[i].start, i};
        all |= symbols->symbols[i].start;
    }
    for (unsigned shift = 0; shift < 64 && all >> shift; shift += RADIX_BITS) {
        sort_by_digit(sorted, other, symbols->count, shift);
        swap = sorted;
        sorted = other;
        other = swap;
    }
    for (size_t i = 0; i < symbols->count; i++)
        more[i] = symbols->symbols[sorted[i].symbol];
    free(starts);
    free(symbols->symbols);
    symbols->symbols = more;
    return 0;
}

static uint64_t section_end(const struct elf_file *file, uint64_t address)
{
    for (size_t i = 0; i < file->section_count; i++) {
        const Elf64_Shdr *section = &file->sections[i];

        if (section->sh_flags & SHF_EXECINSTR && address >= section->sh_addr &&
            address - section->sh_addr < section->sh_size)
            return section->sh_addr + section->sh_size;
    }
    return address;
}

/* Keeps one symbol for each address. Labels inside a function that has a size are no functions. */
static void keep_best(struct elf_symbols *symbols)
{
    uint64_t known_end = 0;
    size_t kept = 0, next;

    for (size_t i = 0; i < symbols->count; i = next) {
        uint64_t start = symbols->symbols[i].start;
        const struct symbol *best = NULL;

        for (next = i; next < symbols->count && symbols->symbols[next].start == start; next++) {
            const struct symbol *symbol = &symbols->symbols[next];
            bool is_label = symbol->end == start && start < known_end;

            if (!is_label && (!best || is_better(symbol, best)))
                best = symbol;
        }
        if (!best)
            continue;
        if (best->end > known_end)
            known_end = best->end;
        symbols->symbols[kept++] = *best;
    }
    symbols->count = kept;
}

static void fill_up(struct elf_symbols *symbols, const struct elf_file *file)
{
    for (size_t i = 0; i < symbols->count; i++) {
        struct symbol *symbol = &symbols->symbols[i];

        if (symbol->end > symbol->start)
            continue;
        symbol->end = section_end(file, symbol->start);
        if (i + 1 < symbols->count && symbols->symbols[i + 1].start < symbol->end)
            symbol->end = symbols->symbols[i + 1].start;
    }
}

int elf_symbols__open(struct elf_symbols **symbols, const char *path)
{
    struct elf_symbols *made = calloc(1, sizeof(*made));
    struct elf_file file;
    int error = made ? elf_file__open(&file, path) : -ENOMEM;

    *symbols = NULL;
    if (error)
        goto fail_open;
    elf_file__read_build_id(&file, &made->build_id);
    for (int table = 0; !error && table < TABLE_COUNT; table++)
        error = read_table(made, &file, table);
    if (!error && made->count)
        error = sort_symbols(made);
    if (!error) {
        keep_best(made);
        fill_up(made, &file);
    }
    elf_file__close(&file);
    if (error)
        goto fail_open;
    *symbols = made;
    return 0;

fail_open:
    elf_symbols__close(made);
    return error;
}

void elf_symbols__close(struct elf_symbols *symbols)
{
    if (!symbols)
        return;
    for (int table = 0; table < TABLE_COUNT; table++)
        free(symbols->names[table]);
    free(symbols->symbols);
    free(symbols);
}

bool elf_symbols__find(const struct elf_symbols *symbols, uint64_t address, const char **name,
                       uint64_t *start, uint64_t *size)
{
    size_t low = 0, high = symbols->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (symbols->symbols[middle].start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    for (size_t back = 1; back <= LOOK_BACK && back <= low; back++) {
        const struct symbol *symbol = &symbols->symbols[low - back];

        if (address < symbol->end) {
            *name = symbol->name;
            *start = symbol->start;
            *size = symbol->end - symbol->start;
            return true;
        }
    }
    return false;
}

void elf_symbols__each(const struct elf_symbols *symbols, elf_symbol_visit *visit, void *context)
{
    for (size_t i = 0; i < symbols->count; i++)
        visit(context, symbols->symbols[i].name, symbols->symbols[i].start);
}

const char *elf_symbols__build_id(const struct elf_symbols *symbols)
{
    return symbols->build_id.text;
}

size_t elf_symbols__bytes(const struct elf_symbols *symbols)
{
    size_t bytes = sizeof(*symbols) + malloc_usable_size(symbols->symbols);

    for (unsigned i = 0; i < TABLE_COUNT; i++)
        bytes += malloc_usable_size(symbols->names[i]);
    return bytes;
}
