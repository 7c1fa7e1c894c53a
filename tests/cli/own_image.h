/*
 * The program that includes this as an image of a ledger: for tests that need a file with symbols.
 */
#ifndef TREADLE_TESTS_OWN_IMAGE_H
#define TREADLE_TESTS_OWN_IMAGE_H

#include <elf.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

struct own_image {
    char build_id[128]; /* "" if the linker wrote none */
    uint64_t bias;      /* an address less this is the file's own */
};

/* The program itself comes first. */
static inline int own_image__first(struct dl_phdr_info *info, size_t size, void *context)
{
    struct own_image *image = context;
    (void)size;
    image->bias = info->dlpi_addr;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        const char *at = (const char *)(info->dlpi_addr + header->p_vaddr);
        const char *end = at + header->p_memsz;
        while (header->p_type == PT_NOTE && at < end) {
            ElfW(Nhdr) note;
            memcpy(&note, at, sizeof(note));
            const char *id = at + sizeof(note) + ((note.n_namesz + 3) & ~3u);
            for (unsigned k = 0; note.n_type == NT_GNU_BUILD_ID && k < note.n_descsz; k++)
                snprintf(image->build_id + 2 * (size_t)k, 3, "%02x", (unsigned char)id[k]);
            at = id + ((note.n_descsz + 3) & ~3u);
        }
    }
    return 1;
}

static inline struct own_image own_image__find(void)
{
    struct own_image image = {.build_id = ""};
    dl_iterate_phdr(own_image__first, &image);
    return image;
}

#endif
