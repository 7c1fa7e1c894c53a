#include "agent/sampling/native_engine.h"

#include "agent/host/log.h"

#include <errno.h>
#include <string.h>

static const struct {
    enum unwind_engine engine;
    const char *name;
} engines[] = {
    [LEDGER_UNWIND_NOTHING] = {UNWIND_WITH_NOTHING, "nothing"},
    [LEDGER_UNWIND_TABLES] = {UNWIND_WITH_TABLES, "tables"},
    [LEDGER_UNWIND_LIBUNWIND] = {UNWIND_WITH_LIBUNWIND, "libunwind"},
};

#define ENGINES (sizeof(engines) / sizeof(*engines))

static enum ledger_unwind number_of(enum unwind_engine engine)
{
    for (size_t i = LEDGER_UNWIND_NOTHING; i < ENGINES; i++)
        if (engines[i].engine == engine)
            return (enum ledger_unwind)i;
    return LEDGER_UNWIND_UNKNOWN;
}

static const char *reason(int error)
{
    if (error == -ELIBACC)
        return "libunwind cannot be loaded (Debian's package: libunwind8)";
    if (error == -ENOTSUP)
        return "there are no tables for this processor";
    return strerror(-error);
}

enum ledger_unwind native_engine__set(struct code_images *images, enum ledger_unwind asked)
{
    enum ledger_unwind wanted =
        asked == LEDGER_UNWIND_UNKNOWN ? number_of(unwind_engine__default()) : asked;
    int error = code_images__use(images, engines[wanted].engine);
    enum ledger_unwind set = number_of(code_images__engine(images));

    if (error)
        log__line(LOG_WARN, "unwind=%s: %s; native frames are walked with %s", engines[wanted].name,
                  reason(error), engines[set].name);
    return set;
}
