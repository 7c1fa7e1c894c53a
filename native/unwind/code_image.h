/* What a code image is: shared by the list of images and by the lookups in one image. */
#ifndef TREADLE_CODE_IMAGE_H
#define TREADLE_CODE_IMAGE_H

#include "native/unwind/code_images.h"
#include "native/unwind/libunwind_walker.h"
#include "native/unwind/unwind_table.h"

struct code_image {
    char *path;
    char *build_id;
    uint64_t start, end;
    uint64_t code_start, code_end;
    uint64_t bias;
    const struct unwind_table *table; /* may be NULL */
    struct unwind_table *own_table;   /* the same, unless an image of the same build has it */
    struct image_frames frames;       /* for the walker on libunwind; bytes may be NULL */
    struct frame_copy own_copy; /* the same bytes, unless an image of the same build has them */
    bool mapped;                /* as of the last refresh */
    struct code_image *next;
};

#endif
