/* A kernel thread of our own that attaches again and again; see NativeAttach.java. */
#include <inttypes.h>
#include <jni.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

/* What something cost, as measured from inside and from outside of what belongs to it for sure; the
 * sums over all rounds. */
struct bounds {
    uint64_t least_ns;
    uint64_t most_ns;
};

/* The Java thread that it is for a while, and what it does as none after that. */
struct job {
    char *name;
    int calls;
    uint64_t work_ns;
    struct bounds cpu; /* attached; at most with all of AttachCurrentThread and Detach… */
    struct bounds gap; /* until it is attached again; at most with that and the detach before */
};

struct worker {
    JavaVM *vm;
    jclass class;
    jmethodID work;
    int rounds;
    uint64_t gap_ns;
    struct job jobs[2];
    struct bounds last;    /* the last job's last gap, which ends with the kernel thread */
    uint64_t detaching_ns; /* when the last detach began, on the thread's CPU clock */
    uint64_t ended_ns;     /* as late as can be seen from inside */
    int failed;
};

/* Its destructor is called in each of the rounds that there are. */
static pthread_key_t at_thread_end;

static uint64_t thread_cpu_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void burn_ns(uint64_t ns)
{
    uint64_t end = thread_cpu_ns() + ns;
    while (thread_cpu_ns() < end)
        ;
}

static void note_end(void *value)
{
    struct worker *worker = value;
    worker->ended_ns = thread_cpu_ns();
    pthread_setspecific(at_thread_end, worker);
}

/* Attached under the job's name. `before` is the job before it, or NULL: then everything since the
 * kernel thread began is this one's. */
static void be_java(struct worker *worker, struct job *job, struct job *before)
{
    uint64_t start_ns = before ? thread_cpu_ns() : 0, attached_ns;
    JavaVMAttachArgs args = {.version = JNI_VERSION_1_6, .name = job->name, .group = NULL};
    JNIEnv *env;
    if ((*worker->vm)->AttachCurrentThread(worker->vm, (void **)&env, &args) != JNI_OK) {
        worker->failed = 1;
        return;
    }
    attached_ns = thread_cpu_ns();
    if (before)
        before->gap.most_ns += attached_ns - worker->detaching_ns;
    for (int i = 0; i < job->calls; i++)
        (*env)->CallStaticVoidMethod(env, worker->class, worker->work,
                                     (jlong)(job->work_ns / (uint64_t)job->calls));
    worker->detaching_ns = thread_cpu_ns();
    if ((*worker->vm)->DetachCurrentThread(worker->vm) != JNI_OK)
        worker->failed = 1;
    job->cpu.least_ns += worker->detaching_ns - attached_ns;
    job->cpu.most_ns += thread_cpu_ns() - start_ns;
}

static void be_nobody(struct worker *worker, struct job *before)
{
    uint64_t start_ns = thread_cpu_ns();
    burn_ns(worker->gap_ns);
    worker->last.least_ns = thread_cpu_ns() - start_ns;
    before->gap.least_ns += worker->last.least_ns;
}

static void *body(void *argument)
{
    struct worker *worker = argument;
    struct job *before = NULL;
    pthread_setspecific(at_thread_end, worker);
    for (int i = 0; i < 2 * worker->rounds; i++) {
        struct job *job = &worker->jobs[i % 2];
        be_java(worker, job, before);
        be_nobody(worker, job);
        before = job;
    }
    return NULL;
}

static void print_bounds(const char *what, const char *thread, struct bounds cost)
{
    printf("expect %s %s %" PRIu64 " %" PRIu64 "\n", what, thread, cost.least_ns, cost.most_ns);
}

static void print_result(const struct worker *worker)
{
    printf("%s\n", worker->failed ? "failed" : "attached and detached");
    for (int i = 0; i < 2; i++) {
        print_bounds("job-cpu", worker->jobs[i].name, worker->jobs[i].cpu);
        print_bounds("gap-cpu", worker->jobs[i].name, worker->jobs[i].gap);
    }
    print_bounds("last-gap-cpu", worker->jobs[1].name, worker->last);
    fflush(stdout);
}

static void run(JNIEnv *env, jclass self, jint rounds, jlong first_ns, jlong second_ns,
                jlong gap_ns)
{
    static char first[] = "job-A", second[] = "job-B";
    struct worker worker = {
        .rounds = rounds,
        .gap_ns = (uint64_t)gap_ns,
        .jobs = {{.name = first, .calls = 3, .work_ns = (uint64_t)first_ns},
                 {.name = second, .calls = 6, .work_ns = (uint64_t)second_ns}},
    };
    pthread_t thread;
    (*env)->GetJavaVM(env, &worker.vm);
    worker.class = (*env)->NewGlobalRef(env, self);
    worker.work = (*env)->GetStaticMethodID(env, self, "work", "(J)V");
    if (pthread_create(&thread, NULL, body, &worker) != 0 || pthread_join(thread, NULL) != 0)
        worker.failed = 1;
    (*env)->DeleteGlobalRef(env, worker.class);
    worker.last.most_ns = worker.ended_ns - worker.detaching_ns;
    worker.jobs[1].gap.most_ns += worker.last.most_ns;
    print_result(&worker);
}

static void burn(JNIEnv *env, jclass self, jlong ns)
{
    (void)env, (void)self;
    burn_ns((uint64_t)ns);
}

jint JNI_OnLoad(JavaVM *vm, void *reserved)
{
    (void)reserved;
    static char run_name[] = "run", run_type[] = "(IJJJ)V", burn_name[] = "burn",
                burn_type[] = "(J)V";
    const JNINativeMethod methods[] = {{run_name, run_type, (void *)run},
                                       {burn_name, burn_type, (void *)burn}};
    JNIEnv *env;
    if ((*vm)->GetEnv(vm, (void **)&env, JNI_VERSION_1_6) != JNI_OK ||
        pthread_key_create(&at_thread_end, note_end) != 0)
        return JNI_ERR;
    jclass self = (*env)->FindClass(env, "NativeAttach");
    if (!self || (*env)->RegisterNatives(env, self, methods, 2) != JNI_OK)
        return JNI_ERR;
    return JNI_VERSION_1_6;
}
