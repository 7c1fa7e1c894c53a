#include "native/host/image_imports.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define MAPS_BYTES 8192u

/* Relocations of words that hold a function's address. */
#if defined(__x86_64__)
#define RELOCATION_OF_CALL    R_X86_64_JUMP_SLOT
#define RELOCATION_OF_ADDRESS R_X86_64_GLOB_DAT
#elif defined(__aarch64__)
#define RELOCATION_OF_CALL    R_AARCH64_JUMP_SLOT
#define RELOCATION_OF_ADDRESS R_AARCH64_GLOB_DAT
#else
#define RELOCATION_OF_CALL    UINT32_MAX /* nothing is replaced */
#define RELOCATION_OF_ADDRESS UINT32_MAX
#endif

/* What an image's dynamic section tells. */
struct dynamic_image {
    struct importing_image image;
    uint64_t bias;
    uint64_t relro_start, relro_end;   /* read-only once relocated */
    const ElfW(Rela) * relocations[2]; /* of calls, and the rest */
    size_t counts[2];
    const ElfW(Sym) * symbols;
    const char *strings;
    size_t strings_bytes;
};

static void measure(struct dynamic_image *dynamic, const struct dl_phdr_info *info)
{
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        uint64_t from = info->dlpi_addr + segment->p_vaddr, to = from + segment->p_memsz;

        if (segment->p_type == PT_GNU_RELRO) {
            dynamic->relro_start = from;
            dynamic->relro_end = to;
        }
        if (segment->p_type != PT_LOAD)
            continue;
        if (!dynamic->image.end || from < dynamic->image.start)
            dynamic->image.start = from;
        if (to > dynamic->image.end)
            dynamic->image.end = to;
    }
}

/* The linker has relocated these addresses in most images, but not in those whose dynamic section
 * is read-only, as the vdso's. */
static const void *at(const struct dynamic_image *dynamic, uint64_t address)
{
    if (address < dynamic->image.start)
        address += dynamic->bias;
    return address < dynamic->image.end ? (const void *)(uintptr_t)address : NULL;
}

static const ElfW(Dyn) * dynamic_section(const struct dl_phdr_info *info)
{
    for (size_t i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
            return (const ElfW(Dyn) *)(uintptr_t)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
    return NULL;
}

/* False: there is nothing to be replaced. */
static bool read_dynamic(struct dynamic_image *dynamic, const struct dl_phdr_info *info)
{
    bool is_rela = false;

    for (const ElfW(Dyn) *entry = dynamic_section(info); entry && entry->d_tag != DT_NULL;
         entry++) {
        uint64_t value = entry->d_un.d_val;

        switch (entry->d_tag) {
        case DT_JMPREL:
            dynamic->relocations[0] = at(dynamic, value);
            break;
        case DT_PLTRELSZ:
            dynamic->counts[0] = value / sizeof(ElfW(Rela));
            break;
        case DT_PLTREL:
            is_rela = value == DT_RELA;
            break;
        case DT_RELA:
            dynamic->relocations[1] = at(dynamic, value);
            break;
        case DT_RELASZ:
            dynamic->counts[1] = value / sizeof(ElfW(Rela));
            break;
        case DT_SYMTAB:
            dynamic->symbols = at(dynamic, value);
            break;
        case DT_STRTAB:
            dynamic->strings = at(dynamic, value);
            break;
        case DT_STRSZ:
            dynamic->strings_bytes = value;
            break;
        default:
            break;
        }
    }
    if (!is_rela)
        dynamic->counts[0] = 0;
    return dynamic->symbols && dynamic->strings;
}

static const struct import_replacement *replacement_of(const struct image_imports *imports,
                                                       const struct dynamic_image *dynamic,
                                                       const ElfW(Rela) * relocation)
{
    uint32_t type = (uint32_t)ELF64_R_TYPE(relocation->r_info);
    const ElfW(Sym) *symbol = &dynamic->symbols[ELF64_R_SYM(relocation->r_info)];

    if ((type != RELOCATION_OF_CALL && type != RELOCATION_OF_ADDRESS) ||
        symbol->st_shndx != SHN_UNDEF || symbol->st_name >= dynamic->strings_bytes)
        return NULL;
    for (size_t i = 0; i < imports->count; i++)
        if (strcmp(dynamic->strings + symbol->st_name, imports->replacements[i].name) == 0)
            return &imports->replacements[i];
    return NULL;
}

/* The linker protects whole pages only. */
static bool is_protected(const struct dynamic_image *dynamic, uint64_t address)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

    return address >= dynamic->relro_start / page * page &&
           address < dynamic->relro_end / page * page;
}

static bool protect(const struct dynamic_image *dynamic, int protection)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    uint64_t start = dynamic->relro_start / page * page, end = dynamic->relro_end / page * page;

    return mprotect((void *)(uintptr_t)start, end - start, protection) == 0;
}

/* Parses "START-END PERMISSIONS …" of /proc/self/maps. */
static bool line_says_read_only(const char *line, uint64_t address)
{
    char *rest;
    uint64_t start = strtoull(line, &rest, 16);
    uint64_t end = *rest == '-' ? strtoull(rest + 1, &rest, 16) : 0;

    return address >= start && address < end && strncmp(rest, " r-", 3) == 0;
}

/* Looks into /proc/self/maps, a part at a time. Allocates nothing. *error: the errno where it
 * cannot be opened, else 0. */
static bool is_read_only(uint64_t address, int *error)
{
    int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    char part[MAPS_BYTES];
    size_t kept = 0;
    bool found = false;
    ssize_t count;

    *error = fd < 0 ? errno : 0;
    while (fd >= 0 && !found && (count = read(fd, part + kept, sizeof(part) - 1 - kept)) > 0) {
        char *line = part, *end;

        part[kept + (size_t)count] = '\0';
        for (; !found && (end = strchr(line, '\n')) != NULL; line = end + 1) {
            *end = '\0';
            found = line_says_read_only(line, address);
        }
        kept = strlen(line);
        if (kept == sizeof(part) - 1) /* a path as long as that: what stands behind it is a line */
            kept = 0;
        memmove(part, line, kept);
    }
    if (fd >= 0)
        close(fd);
    return found;
}

/* What is to be done with an image. */
struct image_words {
    unsigned open;      /* words to be changed that may be written */
    unsigned of_linker; /* … that may not, once the image is loaded */
    unsigned early;     /* that are not relocated yet */
    uint64_t one_protected;
};

static bool is_in(const struct dynamic_image *dynamic, uint64_t address)
{
    return address >= dynamic->image.start && address < dynamic->image.end;
}

static bool is_weak(const struct dynamic_image *dynamic, const ElfW(Rela) * relocation)
{
    const ElfW(Sym) *symbol = &dynamic->symbols[ELF64_R_SYM(relocation->r_info)];

    return ELF64_ST_BIND(symbol->st_info) == STB_WEAK;
}

/* Counts the word; true if it is to be changed. */
static bool visit_word(struct image_words *words, const struct dynamic_image *dynamic,
                       const struct import_replacement *replacement, const ElfW(Rela) * relocation)
{
    uint64_t address = dynamic->bias + relocation->r_offset, there;

    if (!is_in(dynamic, address))
        return false;
    there = __atomic_load_n((uint64_t *)(uintptr_t)address, __ATOMIC_RELAXED);
    if (there < dynamic->image.start && there < dynamic->image.end - dynamic->image.start) {
        words->early += there || !is_weak(dynamic, relocation);
        return false;
    }
    /* A call that was not made yet leads into the image itself, and from there to the linker. */
    if (there != (uint64_t)(uintptr_t)replacement->original && !is_in(dynamic, there))
        return false;
    if (is_protected(dynamic, address)) {
        words->one_protected = address;
        words->of_linker++;
    } else {
        words->open++;
    }
    return true;
}

/* A dry run counts only. */
static struct image_words replace_all(const struct image_imports *imports,
                                      const struct dynamic_image *dynamic, bool is_dry)
{
    struct image_words words = {0};

    for (unsigned table = 0; table < 2; table++)
        for (size_t i = 0; dynamic->relocations[table] && i < dynamic->counts[table]; i++) {
            const ElfW(Rela) *relocation = &dynamic->relocations[table][i];
            const struct import_replacement *replacement =
                replacement_of(imports, dynamic, relocation);
            uint64_t address = dynamic->bias + relocation->r_offset;

            if (replacement && visit_word(&words, dynamic, replacement, relocation) && !is_dry)
                __atomic_store_n((void **)(uintptr_t)address, replacement->function,
                                 __ATOMIC_RELEASE);
        }
    return words;
}

static bool tells_changes(size_t info_bytes)
{
    return info_bytes >= offsetof(struct dl_phdr_info, dlpi_subs);
}

/* The image's words are relocated, and as the linker leaves them for good. *error: whether they are
 * cannot be found out, now or ever. */
static bool is_loaded(const struct image_words *words, int *error)
{
    *error = 0;
    return !words->early && (!words->of_linker || is_read_only(words->one_protected, error));
}

static bool may_pass(int error)
{
    return error == EMFILE || error == ENFILE || error == ENOMEM || error == EINTR;
}

static int look_at(struct dl_phdr_info *info, size_t info_bytes, void *context)
{
    struct image_imports *imports = context;
    struct dynamic_image dynamic = {.image.path = info->dlpi_name ? info->dlpi_name : "",
                                    .bias = info->dlpi_addr};
    struct image_words words;
    int error;

    if (tells_changes(info_bytes))
        imports->adds = info->dlpi_adds;
    measure(&dynamic, info);
    if (!imports->admits(imports->context, &dynamic.image) || !read_dynamic(&dynamic, info))
        return 0;
    words = replace_all(imports, &dynamic, true);
    if (!is_loaded(&words, &error)) {
        if (error && !may_pass(error))
            imports->refused(imports->context, &dynamic.image);
        else
            imports->is_incomplete = true;
        return 0;
    }
    if (!words.open && !words.of_linker)
        return 0;
    if (words.of_linker && !protect(&dynamic, PROT_READ | PROT_WRITE)) {
        imports->refused(imports->context, &dynamic.image);
        return 0;
    }
    (void)replace_all(imports, &dynamic, false);
    if (words.of_linker)
        (void)protect(&dynamic, PROT_READ);
    imports->replaced(imports->context, &dynamic.image, words.open + words.of_linker);
    return 0;
}

void image_imports__look(struct image_imports *imports)
{
    imports->is_incomplete = false;
    (void)dl_iterate_phdr(look_at, imports);
}

static int compare_adds(struct dl_phdr_info *info, size_t info_bytes, void *context)
{
    const struct image_imports *imports = context;

    return tells_changes(info_bytes) && info->dlpi_adds == imports->adds ? 1 : 2;
}

bool image_imports__are_new(const struct image_imports *imports)
{
    return imports->is_incomplete || dl_iterate_phdr(compare_adds, (void *)(uintptr_t)imports) == 2;
}
