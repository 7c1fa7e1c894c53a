/*
 * The tid of the kernel thread that runs a Java thread. JVMTI does not report it. It is read by way
 * of Thread.eetop and HotSpot's own description of its structures (gHotSpotVMStructs, made for the
 * serviceability agent and used by other profilers). The structures are read with a system call, so
 * that a thread that ends meanwhile causes no fault.
 */
#ifndef TREADLE_JAVA_TID_H
#define TREADLE_JAVA_TID_H

#include <jni.h>
#include <stdint.h>
#include <sys/types.h>

struct java_tid {
    jfieldID eetop;     /* NULL: not known */
    uint64_t os_thread; /* offset of the OSThread in HotSpot's thread object; 0: not known */
    uint64_t id;        /* offset of the tid in the OSThread */
};

/* Looks up what java_tid__of needs. thread_class: java.lang.Thread. Leaves no exception. */
void java_tid__prepare(struct java_tid *java_tid, JNIEnv *jni, jclass thread_class);

/* Returns the tid; 0: the thread does not run, or its tid cannot be found out. */
pid_t java_tid__of(const struct java_tid *java_tid, JNIEnv *jni, jobject thread);

#endif
