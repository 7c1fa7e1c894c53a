/* A kernel thread of our own that attaches twice; see NativeAttach.java. */
#include <inttypes.h>
#include <jni.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

/* What something cost, as measured from inside and from outside of what belongs to it for sure. */
struct bounds {
    uint64_t least_ns;
    uint64_t most_ns;
};

struct worker {
    JavaVM *vm;
    jclass class;
    jmethodID work;
    struct bounds job[2];  /* attached; at most with all of AttachCurrentThread and Detach… */
    struct bounds gap;     /* between the two; at most with the detach before and attach after */
    uint64_t detaching_ns; /* when the last detach began, on the thread's CPU clock */
    uint64_t attached_ns;  /* when the last attach was done */
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

/* One job: attached under that name, `calls` calls of work(). */
static void job(struct worker *worker, struct bounds *cost, char *name, int calls)
{
    uint64_t start_ns = thread_cpu_ns();
    JavaVMAttachArgs args = {.version = JNI_VERSION_1_6, .name = name, .group = NULL};
    JNIEnv *env;
    if ((*worker->vm)->AttachCurrentThread(worker->vm, (void **)&env, &args) != JNI_OK) {
        worker->failed = 1;
        return;
    }
    worker->attached_ns = thread_cpu_ns();
    for (int i = 0; i < calls; i++)
        (*env)->CallStaticVoidMethod(env, worker->class, worker->work);
    worker->detaching_ns = thread_cpu_ns();
    if ((*worker->vm)->DetachCurrentThread(worker->vm) != JNI_OK)
        worker->failed = 1;
    cost->least_ns = worker->detaching_ns - worker->attached_ns;
    cost->most_ns = thread_cpu_ns() - start_ns;
}

static void *body(void *argument)
{
    struct worker *worker = argument;
    static char first[] = "job-A", second[] = "job-B";
    job(worker, &worker->job[0], first, 3);
    uint64_t detaching_ns = worker->detaching_ns, start_ns = thread_cpu_ns();
    burn(50000000);
    worker->gap.least_ns = thread_cpu_ns() - start_ns;
    job(worker, &worker->job[1], second, 6);
    worker->gap.most_ns = worker->attached_ns - detaching_ns;
    return NULL;
}

static void print_bounds(const char *what, const char *thread, struct bounds cost)
{
    printf("expect %s %s %" PRIu64 " %" PRIu64 "\n", what, thread, cost.least_ns, cost.most_ns);
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
    print_bounds("job-cpu", "job-A", worker.job[0]);
    print_bounds("job-cpu", "job-B", worker.job[1]);
    print_bounds("gap-cpu", "job-A", worker.gap);
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
