/* Which images the dynamic linker has mapped. Not for signal handlers. What is done under the
 * linker's lock takes no other one: a thread that allocates may be waiting for it. */
#ifndef TREADLE_IMAGE_SCAN_H
#define TREADLE_IMAGE_SCAN_H

#include "native/unwind/build_id.h"
#include "native/unwind/call_frame_info.h"

struct scanned_image {
    uint64_t bias;
    uint64_t start, end;           /* mapped */
    uint64_t code_start, code_end; /* executable, from the first byte to the last */
    size_t name;                   /* offset in names; the linker's, may be empty or relative */
    struct build_id build_id;      /* text may be empty */
};

struct image_scan {
    struct scanned_image *images;
    size_t count, room;
    char *names;
    size_t names_bytes, names_room;
    unsigned long long adds, subs; /* how many came and went in this process's life */
};

/* True if images came or went since that scan. */
bool image_scan__is_old(const struct image_scan *scan);

/* Fills it anew; begin with one of zeros. 0 or -ENOMEM. */
int image_scan__run(struct image_scan *scan);
void image_scan__free(struct image_scan *scan);

/* Where the image's file is, in the caller's room; "[vdso]" for the kernel's. */
void image_scan__path(const struct image_scan *scan, const struct scanned_image *image, char *path,
                      size_t room);

/* Copies of the image's frame sections, which stay when it is unmapped. 0, -ENOENT if it is gone or
 * has none, -ENOMEM. */
struct frame_copy {
    struct frame_section header, eh_frame;
};

int frame_copy__take(struct frame_copy *copy, const struct scanned_image *image);
void frame_copy__free(struct frame_copy *copy);

#endif
