/* uthash with non-fatal allocation failure: plain uthash ends the process when memory runs out.
 * Include this header, never uthash.h. After HASH_ADD check that the entry was added:
 * element->hh.tbl != NULL. */
#ifndef TREADLE_HASH_TABLE_H
#define TREADLE_HASH_TABLE_H

#define HASH_NONFATAL_OOM            1
#define uthash_nonfatal_oom(element) ((void)(element))
#include <uthash.h>

#endif
