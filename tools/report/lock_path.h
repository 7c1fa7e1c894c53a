/* Where threads waited for a lock, or held it. */
#ifndef TREADLE_LOCK_PATH_H
#define TREADLE_LOCK_PATH_H

#include "tools/report/report_blocks.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct lock_path {
    struct report_path path;
    bool is_known; /* of holders */
    uint64_t ns;
};

struct lock_paths {
    struct lock_path *paths; /* the longest time first */
    uint32_t count;
    size_t room;
};

#endif
