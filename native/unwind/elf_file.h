/*
 * Parts of an ELF object of 64 bits, copied out of its file or, for the vdso, out of memory.
 * Copied, not mapped: a file that somebody cuts short must not be a SIGBUS in this process. Not for
 * signal handlers.
 */
#ifndef TREADLE_ELF_FILE_H
#define TREADLE_ELF_FILE_H

#include "native/unwind/build_id.h"

#include <elf.h>

struct elf_file {
    int fd; /* -1: in memory */
    const uint8_t *memory;
    uint64_t length;
    Elf64_Ehdr header;
    Elf64_Shdr *sections; /* NULL: none */
    size_t section_count;
};

/* 0, -errno, or -ENOEXEC: not an object for this machine. "[vdso]" is this process's vdso. */
int elf_file__open(struct elf_file *file, const char *path);
void elf_file__close(struct elf_file *file);

/* Returns a copy of some bytes, followed by a 0 byte; the caller frees it. NULL: the bytes are not
 * in the file, or there is no memory. */
void *elf_file__copy(const struct elf_file *file, uint64_t offset, uint64_t length);

void elf_file__read_build_id(const struct elf_file *file, struct build_id *id);

#endif
