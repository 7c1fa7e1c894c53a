#include "native/ledger/left_alone.h"

static const struct {
    const char *key;
    const char *text;
} reasons[LEFT_ALONE_COUNT] = {
    [LEFT_ALONE_CODE_TOO_LARGE] = {"code_too_large", "the code would be too large"},
    [LEFT_ALONE_POOL_FULL] = {"pool_full", "the constant pool is full"},
    [LEFT_ALONE_BRANCH_OUT_OF_REACH] = {"branch_out_of_reach",
                                        "a branch would not reach its target"},
    [LEFT_ALONE_TOO_MANY_HANDLERS] = {"too_many_handlers", "the exception table is full"},
    [LEFT_ALONE_STACK_TOO_DEEP] = {"stack_too_deep", "the operand stack is full"},
    [LEFT_ALONE_LOCALS_FULL] = {"locals_full", "the local variables are full"},
    [LEFT_ALONE_CONSTRUCTOR_UNCLEAR] = {"constructor_unclear",
                                        "it is not clear where `this` is initialised"},
    [LEFT_ALONE_INTRINSIC] = {"intrinsic", "the JVM has its own code for it"},
    [LEFT_ALONE_NO_MEMORY] = {"no_memory", "no memory for its name"},
    [LEFT_ALONE_MALFORMED] = {"malformed", "malformed class file"},
    [LEFT_ALONE_VERSION] = {"version", "class file version out of 45 to 69"},
    [LEFT_ALONE_REFUSED] = {"refused", "the JVM refused the change"},
    [LEFT_ALONE_INTERFACE] = {"interface", "interfaces that are loaded are not changed"},
};

static bool is_known(enum ledger_left_alone reason)
{
    return (unsigned)reason < LEFT_ALONE_COUNT;
}

const char *left_alone__text(enum ledger_left_alone reason)
{
    return is_known(reason) ? reasons[reason].text : "unknown";
}

const char *left_alone__key(enum ledger_left_alone reason)
{
    return is_known(reason) ? reasons[reason].key : "unknown";
}

bool left_alone__counts_classes(enum ledger_left_alone reason)
{
    return reason > LEFT_ALONE_LAST_OF_METHODS;
}
