#include "native/unwind/image_scan.h"

#include <errno.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#define IMAGES_AT_FIRST 128u
#define NAME_BYTES      128u

static bool tells_changes(size_t info_bytes)
{
    return info_bytes >= offsetof(struct dl_phdr_info, dlpi_subs) + sizeof(unsigned long long);
}

static int compare_changes(struct dl_phdr_info *info, size_t info_bytes, void *context)
{
    const struct image_scan *scan = context;

    return tells_changes(info_bytes) && info->dlpi_adds == scan->adds &&
                   info->dlpi_subs == scan->subs
               ? 1
               : 2;
}

bool image_scan__is_old(const struct image_scan *scan)
{
    return scan->count == 0 || dl_iterate_phdr(compare_changes, (void *)scan) != 1;
}

static void widen(uint64_t *start, uint64_t *end, uint64_t from, uint64_t bytes)
{
    if (*end == 0 || from < *start)
        *start = from;
    if (from + bytes > *end)
        *end = from + bytes;
}

static void measure(struct scanned_image *image, const struct dl_phdr_info *info)
{
    memset(image, 0, sizeof(*image));
    image->bias = info->dlpi_addr;
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        uint64_t from = info->dlpi_addr + segment->p_vaddr;

        if (segment->p_type != PT_LOAD)
            continue;
        widen(&image->start, &image->end, from, segment->p_memsz);
        if (segment->p_flags & PF_X)
            widen(&image->code_start, &image->code_end, from, segment->p_memsz);
    }
}

/* The bytes of a part of the image that is in memory and may be read; NULL otherwise. */
static const uint8_t *mapped_part(const struct dl_phdr_info *info, uint64_t vaddr, uint64_t bytes)
{
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];

        if (segment->p_type == PT_LOAD && segment->p_flags & PF_R && vaddr >= segment->p_vaddr &&
            vaddr - segment->p_vaddr <= segment->p_filesz &&
            bytes <= segment->p_filesz - (vaddr - segment->p_vaddr))
            return (const uint8_t *)(uintptr_t)(info->dlpi_addr + vaddr);
    }
    return NULL;
}

static void read_build_id(struct scanned_image *image, const struct dl_phdr_info *info)
{
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        const uint8_t *notes;

        if (segment->p_type != PT_NOTE)
            continue;
        notes = mapped_part(info, segment->p_vaddr, segment->p_filesz);
        if (notes &&
            build_id__of_notes(&image->build_id, notes, segment->p_filesz, segment->p_align))
            return;
    }
}

/* Adds an image to the scan, or only counts it if there is no more room. */
static int gather_image(struct dl_phdr_info *info, size_t info_bytes, void *context)
{
    struct image_scan *scan = context;
    size_t name_bytes = strlen(info->dlpi_name ? info->dlpi_name : "") + 1;
    struct scanned_image *image = &scan->images[scan->count];

    if (tells_changes(info_bytes)) {
        scan->adds = info->dlpi_adds;
        scan->subs = info->dlpi_subs;
    }
    if (scan->count < scan->room && name_bytes <= scan->names_room - scan->names_bytes) {
        measure(image, info);
        if (image->code_end <= image->code_start)
            return 0;
        read_build_id(image, info);
        image->name = scan->names_bytes;
        memcpy(scan->names + scan->names_bytes, info->dlpi_name ? info->dlpi_name : "", name_bytes);
        scan->names_bytes += name_bytes;
    } else {
        scan->names_bytes = scan->names_room;
    }
    scan->count++;
    return 0;
}

static int make_room(struct image_scan *scan, size_t images, size_t names)
{
    struct scanned_image *more_images = realloc(scan->images, images * sizeof(*more_images));
    char *more_names;

    if (!more_images)
        return -ENOMEM;
    scan->images = more_images;
    scan->room = images;
    more_names = realloc(scan->names, names);
    if (!more_names)
        return -ENOMEM;
    scan->names = more_names;
    scan->names_room = names;
    return 0;
}

int image_scan__run(struct image_scan *scan)
{
    size_t images = scan->room ? scan->room : IMAGES_AT_FIRST;
    size_t names = scan->names_room ? scan->names_room : IMAGES_AT_FIRST * NAME_BYTES;

    for (;;) {
        int error = make_room(scan, images, names);

        if (error) {
            scan->count = 0;
            return error;
        }
        scan->count = 0;
        scan->names_bytes = 0;
        (void)dl_iterate_phdr(gather_image, scan);
        if (scan->count <= scan->room && scan->names_bytes < scan->names_room)
            return 0;
        images = 2 * (scan->count > images ? scan->count : images);
        names *= 2;
    }
}

void image_scan__free(struct image_scan *scan)
{
    free(scan->images);
    free(scan->names);
    memset(scan, 0, sizeof(*scan));
}

/* Makes a relative name absolute; leaves the name as it is if that fails. */
static void resolve(const char *name, char *path, size_t room)
{
    char *real = name[0] == '/' ? NULL : realpath(name, NULL);

    snprintf(path, room, "%s", real ? real : name);
    free(real);
}

void image_scan__path(const struct image_scan *scan, const struct scanned_image *image, char *path,
                      size_t room)
{
    const char *name = scan->names + image->name;
    uint64_t vdso = getauxval(AT_SYSINFO_EHDR);

    if (vdso >= image->start && vdso < image->end) {
        snprintf(path, room, "[vdso]");
    } else if (name[0] != '\0') {
        resolve(name, path, room);
    } else {
        ssize_t length = readlink("/proc/self/exe", path, room - 1);

        path[length > 0 ? length : 0] = '\0';
    }
}

struct copying {
    const struct scanned_image *image;
    struct frame_copy *copy;
    int error;
};

/* Allocates with mmap, not the allocator, whose lock a thread may hold that waits for the linker's
 * lock. */
static int copy_part(struct frame_section *part, const uint8_t *bytes, size_t length)
{
    void *room;

    if (!bytes || length == 0)
        return -ENOENT;
    room = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (room == MAP_FAILED)
        return -ENOMEM;
    memcpy(room, bytes, length);
    part->bytes = room;
    part->length = length;
    part->address = (uint64_t)(uintptr_t)bytes;
    return 0;
}

/* .eh_frame says nowhere how long it is, so it is copied to the end of its segment. */
static int copy_eh_frame(struct frame_copy *copy, const struct dl_phdr_info *info)
{
    struct frame_header header;

    if (frame_header__read(&copy->header, &header) != 0)
        return -ENOENT;
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        uint64_t vaddr = header.eh_frame - info->dlpi_addr;
        uint64_t before = vaddr - segment->p_vaddr;

        if (segment->p_type == PT_LOAD && vaddr >= segment->p_vaddr && before < segment->p_filesz)
            return copy_part(&copy->eh_frame, mapped_part(info, vaddr, segment->p_filesz - before),
                             segment->p_filesz - before);
    }
    return -ENOENT;
}

static int copy_if_it(struct dl_phdr_info *info, size_t info_bytes, void *context)
{
    struct copying *copying = context;
    struct scanned_image image;

    (void)info_bytes;
    measure(&image, info);
    if (image.bias != copying->image->bias || image.start != copying->image->start ||
        image.end != copying->image->end)
        return 0;
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];

        if (segment->p_type != PT_GNU_EH_FRAME)
            continue;
        copying->error =
            copy_part(&copying->copy->header,
                      mapped_part(info, segment->p_vaddr, segment->p_filesz), segment->p_filesz);
        if (!copying->error)
            copying->error = copy_eh_frame(copying->copy, info);
        break;
    }
    return 1;
}

int frame_copy__take(struct frame_copy *copy, const struct scanned_image *image)
{
    struct copying copying = {image, copy, -ENOENT};

    memset(copy, 0, sizeof(*copy));
    (void)dl_iterate_phdr(copy_if_it, &copying);
    if (copying.error)
        frame_copy__free(copy);
    return copying.error;
}

static void free_part(struct frame_section *part)
{
    if (part->bytes)
        munmap((void *)(uintptr_t)part->bytes, part->length);
    memset(part, 0, sizeof(*part));
}

void frame_copy__free(struct frame_copy *copy)
{
    free_part(&copy->header);
    free_part(&copy->eh_frame);
}
