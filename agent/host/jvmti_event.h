/* Events of JVMTI, for all threads. */
#ifndef TREADLE_JVMTI_EVENT_H
#define TREADLE_JVMTI_EVENT_H

#include <jvmti.h>
#include <stdbool.h>

/* False: this JVM does not have the event. */
static inline bool jvmti_event__set(jvmtiEnv *jvmti, jvmtiEvent event, bool on)
{
    return (*jvmti)->SetEventNotificationMode(jvmti, on ? JVMTI_ENABLE : JVMTI_DISABLE, event,
                                              NULL) == JVMTI_ERROR_NONE;
}

#endif
