/* Why methods and classes that were to have hooks have none, in words. Any thread. */
#ifndef TREADLE_LEFT_ALONE_H
#define TREADLE_LEFT_ALONE_H

#include "native/ledger/ledger_format.h"

#include <stdbool.h>

/* "the code would be too large"; "unknown" for what this version does not know. */
const char *left_alone__text(enum ledger_left_alone reason);

/* One word for scripts: "code_too_large". */
const char *left_alone__key(enum ledger_left_alone reason);

/* Whether classes are counted, not methods. */
bool left_alone__counts_classes(enum ledger_left_alone reason);

#endif
