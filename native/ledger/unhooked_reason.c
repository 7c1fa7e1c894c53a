#include "native/ledger/unhooked_reason.h"

static const struct {
    const char *key;
    const char *text;
} reasons[UNHOOKED_COUNT] = {
    [UNHOOKED_CODE_TOO_LARGE] = {"code_too_large", "the code would be too large"},
    [UNHOOKED_POOL_FULL] = {"pool_full", "the constant pool is full"},
    [UNHOOKED_BRANCH_OUT_OF_REACH] = {"branch_out_of_reach", "a branch would not reach its target"},
    [UNHOOKED_TOO_MANY_HANDLERS] = {"too_many_handlers", "the exception table is full"},
    [UNHOOKED_STACK_TOO_DEEP] = {"stack_too_deep", "the operand stack is full"},
    [UNHOOKED_LOCALS_FULL] = {"locals_full", "the local variables are full"},
    [UNHOOKED_CONSTRUCTOR_UNCLEAR] = {"constructor_unclear",
                                      "it is not clear where `this` is initialised"},
    [UNHOOKED_INTRINSIC] = {"intrinsic", "the JVM has its own code for it"},
    [UNHOOKED_NO_MEMORY] = {"no_memory", "no memory for its name"},
    [UNHOOKED_MALFORMED] = {"malformed", "malformed class file"},
    [UNHOOKED_VERSION] = {"version", "class file version out of 45 to 69"},
    [UNHOOKED_REFUSED] = {"refused", "the JVM refused the change"},
    [UNHOOKED_INTERFACE] = {"interface", "interfaces that are loaded are not changed"},
    [UNHOOKED_LOOPING] = {"looping", "a change would leave a running loop interpreted"},
};

static bool is_known(enum unhooked_reason reason)
{
    return (unsigned)reason < UNHOOKED_COUNT;
}

const char *unhooked_reason__text(enum unhooked_reason reason)
{
    return is_known(reason) ? reasons[reason].text : "unknown";
}

const char *unhooked_reason__key(enum unhooked_reason reason)
{
    return is_known(reason) ? reasons[reason].key : "unknown";
}

bool unhooked_reason__counts_classes(enum unhooked_reason reason)
{
    return reason > UNHOOKED_LAST_OF_METHODS;
}
