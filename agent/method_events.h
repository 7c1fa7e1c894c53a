/* events=jvmti: JVMTI's MethodEntry and MethodExit. Complete (native methods, the JDK itself) and
 * slow, since methods with events stay in the interpreter. */
#ifndef TREADLE_METHOD_EVENTS_H
#define TREADLE_METHOD_EVENTS_H

#include <jvmti.h>

void JNICALL method_events__entry(jvmtiEnv *jvmti, JNIEnv *jni, jthread thread, jmethodID method);
void JNICALL method_events__exit(jvmtiEnv *jvmti, JNIEnv *jni, jthread thread, jmethodID method,
                                 jboolean was_popped_by_exception, jvalue return_value);

#endif
