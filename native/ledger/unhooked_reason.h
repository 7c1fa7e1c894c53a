/* Why methods and classes that were to have hooks have none, in words. Any thread. */
#ifndef TREADLE_UNHOOKED_REASON_H
#define TREADLE_UNHOOKED_REASON_H

#include "native/ledger/ledger_format.h"

#include <stdbool.h>

/* "the code would be too large"; "unknown" for what this version does not know. */
const char *unhooked_reason__text(enum unhooked_reason reason);

/* One word for scripts: "code_too_large". */
const char *unhooked_reason__key(enum unhooked_reason reason);

/* Whether classes are counted, not methods. */
bool unhooked_reason__counts_classes(enum unhooked_reason reason);

#endif
