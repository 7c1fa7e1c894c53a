#include "agent/methods/unhooked_method.h"

bool unhooked_method__reason(enum method_outcome outcome, enum unhooked_reason *reason)
{
    static const enum unhooked_reason reasons[METHOD_OUTCOMES] = {
        [METHOD_CODE_TOO_LARGE] = UNHOOKED_CODE_TOO_LARGE,
        [METHOD_POOL_FULL] = UNHOOKED_POOL_FULL,
        [METHOD_BRANCH_OUT_OF_REACH] = UNHOOKED_BRANCH_OUT_OF_REACH,
        [METHOD_TOO_MANY_HANDLERS] = UNHOOKED_TOO_MANY_HANDLERS,
        [METHOD_STACK_TOO_DEEP] = UNHOOKED_STACK_TOO_DEEP,
        [METHOD_LOCALS_FULL] = UNHOOKED_LOCALS_FULL,
        [METHOD_CONSTRUCTOR_UNCLEAR] = UNHOOKED_CONSTRUCTOR_UNCLEAR,
    };

    if (outcome < METHOD_CODE_TOO_LARGE)
        return false;
    *reason = reasons[outcome];
    return true;
}
