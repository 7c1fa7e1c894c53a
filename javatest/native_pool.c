/* The native methods of NativePool.java. */
#include <fcntl.h>
#include <jni.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#define THREADS 4
#define JOBS    25

/* The kernel gives out tids in order: to come to the same one again takes so many at most where
 * its last one cannot be set. */
#define TIDS_MAX 70000

struct library {
    JavaVM *vm;
    jclass class;
    jmethodID work;
};

struct worker {
    const struct library *library;
    int number;
    int done;
};

/* Attached under that name, so many calls of work(). */
static int job(const struct library *library, char *name, int daemon, int calls)
{
    JavaVMAttachArgs args = {.version = JNI_VERSION_1_6, .name = name, .group = NULL};
    JNIEnv *env;
    jint error =
        daemon ? (*library->vm)->AttachCurrentThreadAsDaemon(library->vm, (void **)&env, &args)
               : (*library->vm)->AttachCurrentThread(library->vm, (void **)&env, &args);
    if (error != JNI_OK)
        return 0;
    for (int i = 0; i < calls; i++)
        (*env)->CallStaticVoidMethod(env, library->class, library->work);
    return (*library->vm)->DetachCurrentThread(library->vm) == JNI_OK;
}

static void *run_jobs(void *argument)
{
    struct worker *worker = argument;
    for (int i = 0; i < JOBS; i++) {
        char name[32];
        snprintf(name, sizeof name, "job-%d-%d", worker->number, i);
        worker->done += job(worker->library, name, i % 2, 3);
    }
    return NULL;
}

static int open_library(JNIEnv *env, jclass self, struct library *library)
{
    if ((*env)->GetJavaVM(env, &library->vm) != JNI_OK)
        return 0;
    library->class = (*env)->NewGlobalRef(env, self);
    library->work = (*env)->GetStaticMethodID(env, self, "work", "()V");
    return library->class != NULL && library->work != NULL;
}

static jint pool(JNIEnv *env, jclass self)
{
    struct worker workers[THREADS];
    pthread_t threads[THREADS];
    struct library library;
    int done = 0;

    if (!open_library(env, self, &library))
        return -1;
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){.library = &library, .number = i};
        if (pthread_create(&threads[i], NULL, run_jobs, &workers[i]) != 0)
            return -1;
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        done += workers[i].done;
    }
    (*env)->DeleteGlobalRef(env, library.class);
    return done;
}

struct tenant {
    const struct library *library;
    char *name;
    int calls;
    pid_t wanted; /* 0: any */
    pid_t tid;
};

static void *live(void *argument)
{
    struct tenant *tenant = argument;
    tenant->tid = gettid();
    if (!tenant->wanted || tenant->wanted == tenant->tid)
        (void)job(tenant->library, tenant->name, 0, tenant->calls);
    return NULL;
}

/* As a rule the next thread then gets `tid`. Takes privilege. */
static void set_last_tid(pid_t tid)
{
    int fd = open("/proc/sys/kernel/ns_last_pid", O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    dprintf(fd, "%d", (int)tid - 1);
    close(fd);
}

static int run(struct tenant *tenant)
{
    pthread_t thread;
    return pthread_create(&thread, NULL, live, tenant) == 0 && pthread_join(thread, NULL) == 0;
}

static jboolean recycle(JNIEnv *env, jclass self)
{
    static char first_name[] = "recycled-first", second_name[] = "recycled-second";
    struct library library;
    if (!open_library(env, self, &library))
        return JNI_FALSE;
    struct tenant first = {.library = &library, .name = first_name, .calls = 2};
    if (!run(&first))
        return JNI_FALSE;
    struct tenant second = {
        .library = &library, .name = second_name, .calls = 5, .wanted = first.tid};
    for (int i = 0; i < TIDS_MAX && second.tid != first.tid; i++) {
        set_last_tid(first.tid);
        if (!run(&second))
            return JNI_FALSE;
    }
    (*env)->DeleteGlobalRef(env, library.class);
    return second.tid == first.tid;
}

jint JNI_OnLoad(JavaVM *vm, void *reserved)
{
    static char pool_name[] = "pool", recycle_name[] = "recycle";
    static char pool_type[] = "()I", recycle_type[] = "()Z";
    const JNINativeMethod methods[] = {{pool_name, pool_type, (void *)pool},
                                       {recycle_name, recycle_type, (void *)recycle}};
    JNIEnv *env;
    jclass self;

    (void)reserved;
    if ((*vm)->GetEnv(vm, (void **)&env, JNI_VERSION_1_6) != JNI_OK)
        return JNI_ERR;
    self = (*env)->FindClass(env, "NativePool");
    if (!self || (*env)->RegisterNatives(env, self, methods, 2) != JNI_OK)
        return JNI_ERR;
    return JNI_VERSION_1_6;
}
