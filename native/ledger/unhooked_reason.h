/* Why methods and classes that were to have hooks have no hooks, in words. Any thread. */
#ifndef TREADLE_UNHOOKED_REASON_H
#define TREADLE_UNHOOKED_REASON_H

#include "native/ledger/ledger_format.h"

#include <stdbool.h>

/* The reason as a clause: "the code would be too large"; "unknown" for a number that this version
 * does not know. */
const char *unhooked_reason__text(enum unhooked_reason reason);

/* The reason as one word for scripts: "code_too_large". */
const char *unhooked_reason__key(enum unhooked_reason reason);

/* True if the reason counts classes, not methods. */
bool unhooked_reason__counts_classes(enum unhooked_reason reason);

#endif
