#include "native/preload/loaded_image.h"

#include "native/unwind/build_id.h"

#include <dlfcn.h>
#include <link.h>
#include <stddef.h>
#include <string.h>

/* Not linked: the library would not be loaded beside an older C library. */
void *loaded_image__find_object(void)
{
    return dlsym(RTLD_DEFAULT, "_dl_find_object");
}

#ifdef DLFO_STRUCT_HAS_EH_DBASE

typedef int find_object_at(void *address, struct dl_find_object *result);

/* The notes that the program headers tell of; headers and notes are mapped with the image's first
 * bytes, or not at all. */
static bool find_build_id(const struct dl_find_object *object, struct build_id *found)
{
    uint64_t start = (uint64_t)(uintptr_t)object->dlfo_map_start;
    uint64_t bytes = (uint64_t)(uintptr_t)object->dlfo_map_end - start;
    const ElfW(Ehdr) *header = object->dlfo_map_start;

    if (bytes < sizeof(*header) || memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
        header->e_phoff > bytes || header->e_phnum * sizeof(ElfW(Phdr)) > bytes - header->e_phoff)
        return false;
    for (uint32_t i = 0; i < header->e_phnum; i++) {
        const ElfW(Phdr) *segment = (const ElfW(Phdr) *)(uintptr_t)(start + header->e_phoff) + i;
        uint64_t notes = object->dlfo_link_map->l_addr + segment->p_vaddr;

        if (segment->p_type == PT_NOTE && notes >= start && notes - start <= bytes &&
            segment->p_filesz <= bytes - (notes - start) &&
            build_id__of_notes(found, (const uint8_t *)(uintptr_t)notes, segment->p_filesz,
                               segment->p_align))
            return true;
    }
    return false;
}

static bool is_text(const char *text, const char *other, uint32_t other_bytes)
{
    return strlen(text) == other_bytes && memcmp(text, other, other_bytes) == 0;
}

/* The facts' path may be what a link led to, as from libz.so to libz.so.1.3. */
static bool has_file_name(const char *path, const struct image_facts *facts)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    uint32_t before = facts->path_bytes;
    size_t bytes = strlen(name);

    while (before && facts->path[before - 1] != '/')
        before--;
    return facts->path_bytes - before >= bytes && memcmp(facts->path + before, name, bytes) == 0;
}

bool loaded_image__is_any(void *find_object, uint64_t address)
{
    struct dl_find_object object;

    return ((find_object_at *)(uintptr_t)find_object)((void *)(uintptr_t)address, &object) == 0;
}

bool loaded_image__is(void *find_object, uint64_t address, const struct image_facts *facts)
{
    find_object_at *find = (find_object_at *)(uintptr_t)find_object;
    const struct link_map *map;
    struct dl_find_object object;
    struct build_id found;

    if (find((void *)(uintptr_t)address, &object) != 0)
        return false;
    map = object.dlfo_link_map;
    if (!*map->l_name) /* the program, which is never unloaded */
        return true;
    if (facts->build_id_bytes)
        return find_build_id(&object, &found) &&
               is_text(found.text, facts->build_id, facts->build_id_bytes);
    return map->l_addr == facts->bias && has_file_name(map->l_name, facts);
}

#else

bool loaded_image__is_any(void *find_object, uint64_t address)
{
    (void)find_object, (void)address;
    return true;
}

bool loaded_image__is(void *find_object, uint64_t address, const struct image_facts *facts)
{
    (void)find_object, (void)address, (void)facts;
    return true;
}

#endif
