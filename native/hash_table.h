/* uthash, which by default ends the process when memory is short: here it does not. Include this,
 * never uthash.h. After HASH_ADD look whether the entry is really in: element->hh.tbl != NULL. */
#ifndef TREADLE_HASH_TABLE_H
#define TREADLE_HASH_TABLE_H

#define HASH_NONFATAL_OOM            1
#define uthash_nonfatal_oom(element) ((void)(element))
#include <uthash.h>

#endif
