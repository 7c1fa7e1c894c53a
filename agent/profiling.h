/*
 * Profiling is started and stopped any number of times: events and hooks are enabled and disabled,
 * the accounts stay. What is consumed while profiling is stopped is charged to no thread
 * (native/thread/unprofiled.h). One caller at a time: VMInit, or the thread that attaches.
 */
#ifndef TREADLE_PROFILING_H
#define TREADLE_PROFILING_H

#include <jvmti.h>

struct agent;

/* Starts profiling for the first time: when the JVM begins to run Java, on its main thread, or in a
 * running JVM (attached: NULL). 0 or -errno with a log line. */
int profiling__begin(struct agent *agent, JNIEnv *jni, jthread main);

/* 0, or -EALREADY with a log line. */
int profiling__start(struct agent *agent, JNIEnv *jni);
int profiling__stop(struct agent *agent, JNIEnv *jni);

/* To be called if the first start failed: the agent does nothing more, and the ledger goes. */
void profiling__give_up(struct agent *agent);

#endif
