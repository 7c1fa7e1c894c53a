/*
 * Two profilers of this project in one process: libtreadle-native.so, whose treadle_inside_v1
 * stands before all others because it was preloaded, and the agent, which a JVM has loaded. Pushes
 * reach the first one, and are the agent's. So the agent hands what it is told with to the other
 * library, which passes on every push and pop from there on.
 */
#ifndef TREADLE_INSIDE_HANDOVER_H
#define TREADLE_INSIDE_HANDOVER_H

#include "native/activity/pushed_frames.h"

/* Of the function that libtreadle-native.so exports. */
#define INSIDE_HANDOVER_NAME "treadle_inside_handover_v1"

/* Both tables stay valid for the life of the process. Not in a hook. */
typedef void inside_handover(const struct treadle_inside *inside,
                             const struct treadle_inside_ids *ids);

#endif
