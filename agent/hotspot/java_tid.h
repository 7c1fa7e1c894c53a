/*
 * The kernel thread that a Java thread runs on, from outside: JVMTI does not tell. HotSpot's own
 * description of its structures does (gHotSpotVMStructs, made for the serviceability agent and used
 * by other profilers), by way of Thread.eetop. What it leads to is read through the kernel, so that
 * a thread that ends meanwhile is no fault.
 */
#ifndef TREADLE_JAVA_TID_H
#define TREADLE_JAVA_TID_H

#include <jni.h>
#include <stdint.h>
#include <sys/types.h>

struct java_tid {
    jfieldID eetop;     /* NULL: not known */
    uint64_t os_thread; /* offset of the OSThread in HotSpot's thread; 0: not known */
    uint64_t id;        /* offset of the tid in that */
};

/* Looks up what java_tid__of needs. thread_class: java.lang.Thread. Leaves no exception. */
void java_tid__prepare(struct java_tid *java_tid, JNIEnv *jni, jclass thread_class);

/* The tid, or 0: it does not run, or cannot be found out. */
pid_t java_tid__of(const struct java_tid *java_tid, JNIEnv *jni, jobject thread);

#endif
