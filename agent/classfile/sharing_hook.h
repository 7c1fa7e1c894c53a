/*
 * A hook that tells that a shared lock is acquired or released: the static method
 * `sharing(ILjava/lang/Object;II)V` of the hooks' class, called with a number that is negative if
 * the method failed, with `this`, the operation, and how many permits it is about.
 */
#ifndef TREADLE_SHARING_HOOK_H
#define TREADLE_SHARING_HOOK_H

#include <stdint.h>

#define SHARING_STACK      5u /* what the hook needs on the stack beside the method's own */
#define SHARING_OPERATIONS 5u /* at most: each is one instruction */

enum sharing_when {
    SHARING_AT_BEGIN, /* whatever comes of it */
    SHARING_FROM_0,   /* the method returns an int, which is the number */
    SHARING_FROM_1,   /* … an int or a boolean, of which 1 is subtracted */
    SHARING_LONG,     /* … a long, of which 1 or more is a success */
};

enum sharing_permits {
    SHARING_ONE,
    SHARING_COUNT,    /* the method's first argument, an int */
    SHARING_LOW_BYTE, /* of that argument, a long */
};

struct sharing_hook {
    uint8_t operation; /* 1 to SHARING_OPERATIONS; 0: there is no hook */
    uint8_t when;      /* enum sharing_when */
    uint8_t permits;   /* enum sharing_permits */
};

#endif
