/* What the hooks in classes call: the native methods of the hook class. They find the
 * agent by themselves, for the JVM passes them nothing of ours. */
#ifndef TREADLE_HOOKS_H
#define TREADLE_HOOKS_H

#include "agent/methods/hook_class.h"

/* The native methods to register. */
extern const JNINativeMethod hooks__natives[HOOK_COUNT];

#endif
