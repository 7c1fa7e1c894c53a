/* A kernel thread of our own that attaches twice; see NativeAttach.java. */
#include <inttypes.h>
#include <jni.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

struct worker {
    JavaVM *vm;
    jclass class;
    jmethodID work;
    uint64_t job_ns[2]; /* CPU from before the attach until after the detach */
    uint64_t gap_ns;    /* CPU between the first detach and the second attach */
    int failed;
};

static uint64_t thread_cpu_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void burn(uint64_t ns)
{
    uint64_t end = thread_cpu_ns() + ns;
    while (thread_cpu_ns() < end)
        ;
}

/* One job: attached under that name, `calls` calls of work(). Returns what it cost. */
static uint64_t job(struct worker *worker, char *name, int calls)
{
    uint64_t start = thread_cpu_ns();
    JavaVMAttachArgs args = {.version = JNI_VERSION_1_6, .name = name, .group = NULL};
    JNIEnv *env;
    if ((*worker->vm)->AttachCurrentThread(worker->vm, (void **)&env, &args) != JNI_OK) {
        worker->failed = 1;
        return 0;
    }
    for (int i = 0; i < calls; i++)
        (*env)->CallStaticVoidMethod(env, worker->class, worker->work);
    if ((*worker->vm)->DetachCurrentThread(worker->vm) != JNI_OK)
        worker->failed = 1;
    return thread_cpu_ns() - start;
}

static void *body(void *argument)
{
    struct worker *worker = argument;
    static char first[] = "job-A", second[] = "job-B";
    worker->job_ns[0] = job(worker, first, 3);
    uint64_t start = thread_cpu_ns();
    burn(50000000);
    worker->gap_ns = thread_cpu_ns() - start;
    worker->job_ns[1] = job(worker, second, 6);
    return NULL;
}

static void run(JNIEnv *env, jclass self)
{
    struct worker worker = {.failed = 0};
    pthread_t thread;
    (*env)->GetJavaVM(env, &worker.vm);
    worker.class = (*env)->NewGlobalRef(env, self);
    worker.work = (*env)->GetStaticMethodID(env, self, "work", "()V");
    if (pthread_create(&thread, NULL, body, &worker) != 0 || pthread_join(thread, NULL) != 0)
        worker.failed = 1;
    (*env)->DeleteGlobalRef(env, worker.class);
    printf("%s\n", worker.failed ? "failed" : "attached twice");
    printf("expect job-cpu job-A %" PRIu64 "\n", worker.job_ns[0]);
    printf("expect job-cpu job-B %" PRIu64 "\n", worker.job_ns[1]);
    printf("expect gap-cpu job-A %" PRIu64 "\n", worker.gap_ns);
    fflush(stdout);
}

jint JNI_OnLoad(JavaVM *vm, void *reserved)
{
    (void)reserved;
    static char name[] = "run", nothing[] = "()V";
    const JNINativeMethod method = {name, nothing, (void *)run};
    JNIEnv *env;
    if ((*vm)->GetEnv(vm, (void **)&env, JNI_VERSION_1_6) != JNI_OK)
        return JNI_ERR;
    jclass self = (*env)->FindClass(env, "NativeAttach");
    if (!self || (*env)->RegisterNatives(env, self, &method, 1) != JNI_OK)
        return JNI_ERR;
    return JNI_VERSION_1_6;
}
