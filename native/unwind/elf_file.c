#include "native/unwind/elf_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define OWN_BYTE_ORDER ELFDATA2LSB
#else
#define OWN_BYTE_ORDER ELFDATA2MSB
#endif

/* The vdso is a few pages long; one that says more is damaged. */
#define VDSO_BYTES_MAX (UINT64_C(1) << 20)

static bool read_whole(int fd, uint64_t offset, uint8_t *into, uint64_t length)
{
    while (length) {
        ssize_t got = pread(fd, into, length, (off_t)offset);

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        into += got;
        offset += (uint64_t)got;
        length -= (uint64_t)got;
    }
    return true;
}

void *elf_file__copy(const struct elf_file *file, uint64_t offset, uint64_t length)
{
    uint8_t *copy;

    if (offset > file->length || length > file->length - offset)
        return NULL;
    copy = malloc(length + 1);
    if (!copy)
        return NULL;
    copy[length] = 0;
    if (file->memory) {
        memcpy(copy, file->memory + offset, length);
    } else if (!read_whole(file->fd, offset, copy, length)) {
        free(copy);
        return NULL;
    }
    return copy;
}

/* In memory the vdso reaches to the end of the last page that is loaded: its section headers follow
 * what its program headers name. */
static int open_vdso(struct elf_file *file)
{
    const uint8_t *memory = (const uint8_t *)(uintptr_t)getauxval(AT_SYSINFO_EHDR);
    const Elf64_Ehdr *header = (const Elf64_Ehdr *)memory;
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    uint64_t end = 0;

    if (!memory)
        return -ENOENT;
    for (size_t i = 0; i < header->e_phnum; i++) {
        const Elf64_Phdr *segment = (const Elf64_Phdr *)(memory + header->e_phoff) + i;

        if (segment->p_type == PT_LOAD && segment->p_offset + segment->p_filesz > end)
            end = segment->p_offset + segment->p_filesz;
    }
    if (end == 0 || end > VDSO_BYTES_MAX)
        return -ENOEXEC;
    file->memory = memory;
    file->length = (end + page - 1) & ~(page - 1);
    return 0;
}

/* Does not block, even if the path is that of a pipe. */
static int open_path(struct elf_file *file, const char *path)
{
    struct stat status;

    file->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (file->fd < 0 || fstat(file->fd, &status) != 0)
        return -errno;
    if (!S_ISREG(status.st_mode))
        return -ENOEXEC;
    file->length = (uint64_t)status.st_size;
    return 0;
}

static int read_header(struct elf_file *file)
{
    Elf64_Ehdr *header = elf_file__copy(file, 0, sizeof(*header));

    if (!header)
        return -ENOEXEC;
    file->header = *header;
    free(header);
    if (memcmp(file->header.e_ident, ELFMAG, SELFMAG) != 0 ||
        file->header.e_ident[EI_CLASS] != ELFCLASS64 ||
        file->header.e_ident[EI_DATA] != OWN_BYTE_ORDER)
        return -ENOEXEC;
    return 0;
}

/* An object without section headers is no error. If their number does not fit the header's field,
 * the first one has it. */
static void read_sections(struct elf_file *file)
{
    const Elf64_Ehdr *header = &file->header;
    uint64_t count = header->e_shnum;

    if (header->e_shoff == 0 || header->e_shentsize != sizeof(*file->sections))
        return;
    if (count == 0) {
        Elf64_Shdr *first = elf_file__copy(file, header->e_shoff, sizeof(*first));

        count = first ? first->sh_size : 0;
        free(first);
    }
    if (count > file->length / sizeof(*file->sections))
        return;
    file->sections = elf_file__copy(file, header->e_shoff, count * sizeof(*file->sections));
    file->section_count = file->sections ? (size_t)count : 0;
}

int elf_file__open(struct elf_file *file, const char *path)
{
    int error;

    memset(file, 0, sizeof(*file));
    file->fd = -1;
    error = strcmp(path, "[vdso]") == 0 ? open_vdso(file) : open_path(file, path);
    if (!error)
        error = read_header(file);
    if (!error)
        read_sections(file);
    else
        elf_file__close(file);
    return error;
}

void elf_file__close(struct elf_file *file)
{
    if (file->fd >= 0)
        close(file->fd);
    free(file->sections);
    memset(file, 0, sizeof(*file));
    file->fd = -1;
}

void elf_file__read_build_id(const struct elf_file *file, struct build_id *id)
{
    size_t count = file->header.e_phnum;
    Elf64_Phdr *segments = NULL;
    bool found = false;

    id->text[0] = '\0';
    if (file->header.e_phentsize == sizeof(*segments))
        segments = elf_file__copy(file, file->header.e_phoff, count * sizeof(*segments));
    for (size_t i = 0; segments && i < count && !found; i++) {
        uint8_t *notes;

        if (segments[i].p_type != PT_NOTE)
            continue;
        notes = elf_file__copy(file, segments[i].p_offset, segments[i].p_filesz);
        if (notes)
            found = build_id__of_notes(id, notes, segments[i].p_filesz, segments[i].p_align);
        free(notes);
    }
    free(segments);
}
