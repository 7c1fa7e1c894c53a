#include "agent/methods/unhooked_method.h"

bool unhooked_method__reason(enum method_outcome outcome, enum ledger_left_alone *reason)
{
    static const enum ledger_left_alone reasons[METHOD_OUTCOMES] = {
        [METHOD_CODE_TOO_LARGE] = LEFT_ALONE_CODE_TOO_LARGE,
        [METHOD_POOL_FULL] = LEFT_ALONE_POOL_FULL,
        [METHOD_BRANCH_OUT_OF_REACH] = LEFT_ALONE_BRANCH_OUT_OF_REACH,
        [METHOD_TOO_MANY_HANDLERS] = LEFT_ALONE_TOO_MANY_HANDLERS,
        [METHOD_STACK_TOO_DEEP] = LEFT_ALONE_STACK_TOO_DEEP,
        [METHOD_LOCALS_FULL] = LEFT_ALONE_LOCALS_FULL,
        [METHOD_CONSTRUCTOR_UNCLEAR] = LEFT_ALONE_CONSTRUCTOR_UNCLEAR,
    };

    if (outcome < METHOD_CODE_TOO_LARGE)
        return false;
    *reason = reasons[outcome];
    return true;
}
