/*
 * Logical frames with ids (agent/api): parts of chains, see native/thread/open_calls.h. Natives of
 * treadle.Activity that older classes of that name do not have.
 */
#ifndef TREADLE_ACTIVITY_PARTS_H
#define TREADLE_ACTIVITY_PARTS_H

#include <jni.h>

/* Binds these natives, if the class has them. named: frames have no tokens, as with events=jvmti.
 */
void activity_parts__bind(JNIEnv *jni, jclass class, jboolean named);

#endif
