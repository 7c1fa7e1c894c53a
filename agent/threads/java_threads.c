#include "agent/threads/java_threads.h"

void java_threads__each(struct java_threads *threads, JNIEnv *jni, visit_java_thread visit,
                        void *context)
{
    jvmtiEnv *jvmti = threads->jvmti;
    jthread *all;
    jint count;

    if ((*jvmti)->GetAllThreads(jvmti, &count, &all) != JVMTI_ERROR_NONE)
        return;
    for (jint i = 0; i < count; i++) {
        visit(threads, jni, all[i], context);
        (*jni)->DeleteLocalRef(jni, all[i]);
    }
    (*jvmti)->Deallocate(jvmti, (unsigned char *)all);
}
