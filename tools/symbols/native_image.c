#include "tools/symbols/native_image.h"

#include <elfutils/libdwfl.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct native_image {
    Dwfl *dwfl;
    Dwfl_Module *module;
    GElf_Addr bias; /* what libdw adds to the file's own addresses */
    Elf *elf;
};

static int no_elf(Dwfl_Module *module, void **data, const char *name, Dwarf_Addr base, char **path,
                  Elf **elf)
{
    (void)module, (void)data, (void)name, (void)base, (void)path, (void)elf;
    return -1;
}

static int find_debug_file(Dwfl_Module *module, void **data, const char *name, Dwarf_Addr base,
                           const char *file, const char *link, GElf_Word link_crc, char **path);

static const Dwfl_Callbacks callbacks = {
    .find_elf = no_elf,
    .find_debuginfo = find_debug_file,
    .section_address = dwfl_offline_section_address,
};

/* The path comes from a ledger: it may be that of anything. EINVAL, or EISDIR: no regular file. */
static int open_regular(const char *path)
{
    struct stat file = {0};
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

    if (fd < 0)
        return -1;
    if (fstat(fd, &file) == 0 && S_ISREG(file.st_mode))
        return fd;
    close(fd);
    errno = S_ISDIR(file.st_mode) ? EISDIR : EINVAL;
    return -1;
}

/* How much the sections of a file may unpack to: so many bytes and so many times the file. Real
 * debug information becomes three or four times as large. */
#define UNPACKED_BYTES (UINT64_C(16) << 20)
#define UNPACKED_TIMES 16u

/* What the section says that it unpacks to; 0: it is not packed. ".zdebug_…" is the older form. */
static uint64_t unpacked_bytes(Elf *elf, Elf_Scn *section, size_t names)
{
    GElf_Shdr header;
    GElf_Chdr packed;
    const char *name;
    uint64_t bytes;

    if (!gelf_getshdr(section, &header) || header.sh_type == SHT_NOBITS)
        return 0;
    if (header.sh_flags & SHF_COMPRESSED)
        return gelf_getchdr(section, &packed) ? packed.ch_size : 0;
    name = elf_strptr(elf, names, header.sh_name);
    if (!name || strncmp(name, ".zdebug", 7) != 0)
        return 0;
    const Elf_Data *data =
        elf_getdata_rawchunk(elf, (int64_t)header.sh_offset, 4 + sizeof(bytes), ELF_T_BYTE);
    if (!data || data->d_size < 4 + sizeof(bytes))
        return 0;
    memcpy(&bytes, (const char *)data->d_buf + 4, sizeof(bytes));
    return be64toh(bytes);
}

static bool unpacks_within_bounds(Elf *elf, uint64_t file_bytes)
{
    uint64_t room = UNPACKED_BYTES + UNPACKED_TIMES * file_bytes;
    size_t names;

    if (elf_getshdrstrndx(elf, &names) != 0)
        return false;
    for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section));) {
        uint64_t bytes = unpacked_bytes(elf, section, names);

        if (bytes > room)
            return false;
        room -= bytes;
    }
    return true;
}

/* True for a program, a library, or what was split off from one. libdw would also take a packed
 * file or an archive, and unpack it whole before it looks at the build id: a small file may take
 * all memory. */
static bool is_sound(int fd)
{
    struct stat file;
    char magic[SELFMAG];
    GElf_Ehdr header;

    if (fstat(fd, &file) != 0 || pread(fd, magic, SELFMAG, 0) != SELFMAG ||
        memcmp(magic, ELFMAG, SELFMAG) != 0)
        return false;
    (void)elf_version(EV_CURRENT);
    Elf *elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
    bool is = elf && elf_kind(elf) == ELF_K_ELF && gelf_getehdr(elf, &header) &&
              (header.e_type == ET_EXEC || header.e_type == ET_DYN) &&
              unpacks_within_bounds(elf, (uint64_t)file.st_size);
    elf_end(elf);
    return is;
}

/* True for "FOLDER/MIDDLE/LINK" that is not there, too. */
static bool is_sound_or_none(const char *before, const char *folder, size_t folder_bytes,
                             const char *middle, const char *link)
{
    char path[PATH_MAX];
    bool is = true;

    if (snprintf(path, sizeof(path), "%s%.*s/%s%s", before, (int)folder_bytes, folder, middle,
                 link) >= (int)sizeof(path))
        return false;
    int fd = open_regular(path);
    if (fd >= 0) {
        is = is_sound(fd);
        close(fd);
    } else {
        is = errno != EINVAL; /* else it is a FIFO or a device, which libdw would open */
    }
    return is;
}

/* All places where libdw looks for a link of that file: beside it, in .debug beside it, and below
 * /usr/lib/debug with each end of the folder's path. */
static bool is_sound_link(const char *file, const char *link)
{
    const char *slash = strrchr(file, '/');
    size_t bytes = slash ? (size_t)(slash - file) : 0;
    bool is = is_sound_or_none("", file, bytes, "", link) &&
              is_sound_or_none("", file, bytes, ".debug/", link) &&
              (link[0] != '/' || is_sound_or_none("", "", 0, "", link));

    for (size_t at = 0; is && at <= bytes; at++)
        if (at == bytes || file[at] == '/')
            is = is_sound_or_none("/usr/lib/debug", file + at, bytes - at, "", link);
    return is;
}

static bool are_sound_links(const char *file, const char *link)
{
    const char *slash = strrchr(file, '/');
    char *invented = NULL;
    bool are;

    if (link)
        return is_sound_link(file, link);
    if (asprintf(&invented, "%s.debug", slash ? slash + 1 : file) < 0)
        return false;
    are = is_sound_link(file, invented) && is_sound_link(file, slash ? slash + 1 : file);
    free(invented);
    return are;
}

/* What names the debug file is the image, which may be anybody's. libdw unpacks that file, too. */
static int find_debug_file(Dwfl_Module *module, void **data, const char *name, Dwarf_Addr base,
                           const char *file, const char *link, GElf_Word link_crc, char **path)
{
    char *real = file ? realpath(file, NULL) : NULL;
    bool are = real && are_sound_links(file, link) && are_sound_links(real, link);

    free(real);
    return are ? dwfl_standard_find_debuginfo(module, data, name, base, file, link, link_crc, path)
               : -1;
}

static bool has_build_id(Dwfl_Module *module, const char *build_id)
{
    const unsigned char *bytes = NULL;
    GElf_Addr where;
    int count = dwfl_module_build_id(module, &bytes, &where);

    if (count <= 0)
        return build_id[0] == '\0';
    if (strlen(build_id) != 2 * (size_t)count)
        return false;
    for (int i = 0; i < count; i++) {
        char digits[3];

        snprintf(digits, sizeof(digits), "%02x", bytes[i]);
        if (strncasecmp(digits, build_id + 2 * (size_t)i, 2) != 0)
            return false;
    }
    return true;
}

struct native_image *native_image__open(const char *path, const char *build_id)
{
    struct native_image *image = calloc(1, sizeof(*image));
    int fd = image ? open_regular(path) : -1;

    if (fd < 0)
        goto fail_open;
    image->dwfl = is_sound(fd) ? dwfl_begin(&callbacks) : NULL;
    if (!image->dwfl)
        goto fail_begin;
    image->module = dwfl_report_offline(image->dwfl, path, path, fd);
    if (!image->module)
        goto fail_report; /* then the file is still ours */
    dwfl_report_end(image->dwfl, NULL, NULL);
    image->elf = dwfl_module_getelf(image->module, &image->bias);
    if (image->elf && has_build_id(image->module, build_id))
        return image;
    dwfl_end(image->dwfl);
    free(image);
    return NULL;

fail_report:
    dwfl_end(image->dwfl);
fail_begin:
    close(fd);
fail_open:
    free(image);
    return NULL;
}

void native_image__close(struct native_image *image)
{
    if (!image)
        return;
    dwfl_end(image->dwfl);
    free(image);
}

int native_image__function(struct native_image *image, uint64_t address,
                           struct native_function *function)
{
    GElf_Off offset;
    GElf_Sym symbol;
    const char *name = dwfl_module_addrinfo(image->module, address + image->bias, &offset, &symbol,
                                            NULL, NULL, NULL);

    /* libdw also names what lies behind the end of a function. */
    if (!name || (symbol.st_size ? offset >= symbol.st_size : offset != 0))
        return -ENOENT;
    *function = (struct native_function){name, address - offset, symbol.st_size};
    return 0;
}

int native_image__line(struct native_image *image, uint64_t address, const char **file, int *line)
{
    Dwfl_Line *found = dwfl_module_getsrc(image->module, address + image->bias);
    const char *name = found ? dwfl_lineinfo(found, NULL, line, NULL, NULL, NULL) : NULL;

    if (!name)
        return -ENOENT;
    *file = name;
    return 0;
}

const unsigned char *native_image__code(struct native_image *image, uint64_t address, size_t *size)
{
    size_t count = 0;

    if (elf_getphdrnum(image->elf, &count) != 0)
        return NULL;
    for (size_t i = 0; i < count; i++) {
        GElf_Phdr header;

        if (!gelf_getphdr(image->elf, (int)i, &header) || header.p_type != PT_LOAD ||
            address < header.p_vaddr || address - header.p_vaddr >= header.p_filesz)
            continue;
        uint64_t skipped = address - header.p_vaddr;
        uint64_t room = header.p_filesz - skipped;
        if (*size > room)
            *size = (size_t)room;
        Elf_Data *data = elf_getdata_rawchunk(image->elf, (int64_t)(header.p_offset + skipped),
                                              *size, ELF_T_BYTE);
        return data && data->d_size == *size ? data->d_buf : NULL;
    }
    return NULL;
}

unsigned native_image__machine(struct native_image *image)
{
    GElf_Ehdr header;

    return gelf_getehdr(image->elf, &header) ? header.e_machine : 0;
}
