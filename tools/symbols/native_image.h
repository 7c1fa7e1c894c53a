/*
 * A file of native code: names, source lines and machine code by address, from the file itself or
 * its separate debug file (.debug beside it, /usr/lib/debug by name and by build id), which libdw
 * finds and checks. Addresses are those that the file's headers count by.
 */
#ifndef TREADLE_NATIVE_IMAGE_H
#define TREADLE_NATIVE_IMAGE_H

#include <stddef.h>
#include <stdint.h>

struct native_image;

/* Opens a regular ELF file with that build id (in hexadecimal, "" for none): another build has
 * other functions at the same addresses. NULL if there is no such file. A packed file (vmlinuz,
 * .ko.xz) is none, and one whose sections unpack to many times the file; a debug file of either
 * sort is not read. */
struct native_image *native_image__open(const char *path, const char *build_id);
void native_image__close(struct native_image *image);

struct native_function {
    const char *name; /* as the file has it; good until the image is closed */
    uint64_t address; /* where it begins */
    uint64_t size;    /* bytes; 0: not known */
};

/* The function that an address lies in. 0, or -ENOENT. */
int native_image__function(struct native_image *image, uint64_t address,
                           struct native_function *function);

/* The source file and line of an address; the file is good until the image is closed. 0, or
 * -ENOENT. */
int native_image__line(struct native_image *image, uint64_t address, const char **file, int *line);

/* At most `size` bytes of the file as they are mapped at an address, and how many there are; good
 * until the image is closed. NULL if there are none. */
const unsigned char *native_image__code(struct native_image *image, uint64_t address, size_t *size);

/* What machine the code is for: EM_X86_64 and so on of elf.h. */
unsigned native_image__machine(struct native_image *image);

#endif
