#include "tools/symbols/native_image.h"

#include <elfutils/libdwfl.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
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

static const Dwfl_Callbacks callbacks = {
    .find_elf = no_elf,
    .find_debuginfo = dwfl_standard_find_debuginfo,
    .section_address = dwfl_offline_section_address,
};

/* The path comes from a ledger: it may be that of anything. */
static int open_regular(const char *path)
{
    struct stat file;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

    if (fd < 0)
        return -1;
    if (fstat(fd, &file) == 0 && S_ISREG(file.st_mode))
        return fd;
    close(fd);
    return -1;
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
    image->dwfl = dwfl_begin(&callbacks);
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
