/* Which images the dynamic linker has mapped. Not for signal handlers. Code that runs under the
 * linker's lock takes no other lock, because a thread that allocates may be waiting for the
 * linker's lock. */
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
    unsigned long long adds, subs; /* images mapped and unmapped in this process's life */
};

/* True if images were mapped or unmapped since that scan. */
bool image_scan__is_old(const struct image_scan *scan);

/* Scans again; the struct is zeroed before the first scan. 0 or -ENOMEM. */
int image_scan__run(struct image_scan *scan);
void image_scan__free(struct image_scan *scan);

/* Writes the path of the image's file into the caller's buffer; "[vdso]" for the vdso. */
void image_scan__path(const struct image_scan *scan, const struct scanned_image *image, char *path,
                      size_t room);

/* Copies the image's frame sections, so that they survive its unmapping. 0, -ENOENT if the image is
 * gone or has no such sections, -ENOMEM. */
struct frame_copy {
    struct frame_section header, eh_frame;
};

int frame_copy__take(struct frame_copy *copy, const struct scanned_image *image);
void frame_copy__free(struct frame_copy *copy);

#endif
