/*
 * Profiling is started and stopped, any number of times: events and hooks come and go, the books
 * stay. What is consumed meanwhile belongs to nobody (native/thread/unprofiled.h). One caller at a
 * time: VMInit, or whoever attaches.
 */
#ifndef TREADLE_PROFILING_H
#define TREADLE_PROFILING_H

#include <jvmti.h>

struct agent;

/* The JVM has begun to run Java, on its main thread; or it runs it already (attached: NULL). Starts
 * it for the first time. 0 or -errno: a line was said. */
int profiling__begin(struct agent *agent, JNIEnv *jni, jthread main);

/* 0, or -EALREADY: a line was said. */
int profiling__start(struct agent *agent, JNIEnv *jni);
int profiling__stop(struct agent *agent, JNIEnv *jni);

#endif
