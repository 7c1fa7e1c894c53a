/* The native methods of NativeActivities.java: a library that says with treadle.h where it is. */
#include "native/activity/treadle.h"

#include <jni.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define STORM_NS        100000
#define SINK_BYTES      65536
#define RESTLESS_PUSHES 300000
#define RESTLESS_BYTES  (1 << 18)
#define SPIN_MS         300

static JavaVM *the_vm;
static jclass java;
static volatile sig_atomic_t handled;

static void call(JNIEnv *env, const char *name)
{
    (*env)->CallStaticVoidMethod(env, java, (*env)->GetStaticMethodID(env, java, name, "()V"));
}

/* A (leaf, B (2) (2 leaf)) */
static void nested(JNIEnv *env, jclass self)
{
    (void)self;
    treadle_push("A");
    treadle_push_number("B", 2);
    call(env, "leaf");
    call(env, "leaf");
    treadle_pop();
    call(env, "leaf");
    treadle_pop();
}

/* between (inner calls leaf): Java methods between two frames of this library */
static void between(JNIEnv *env, jclass self)
{
    (void)self;
    treadle_scope_with("upper", "table");
    call(env, "middle");
}

static void lower(JNIEnv *env, jclass self)
{
    (void)self;
    treadle_scope("lower");
    call(env, "leaf");
}

/* W (V, W), X (leaf), all below the first W: its recursion hides V. */
static void hide(JNIEnv *env, jclass self)
{
    treadle_mark hidden;

    (void)self;
    treadle_push("W");
    hidden = treadle_push("V");
    treadle_push("W");
    treadle_pop_to(hidden);
    treadle_push("X");
    call(env, "leaf");
    treadle_pop();
    treadle_pop();
}

/* Frames that are open in the segment of treadle.h. */
static jint open_in_segment(void)
{
    return treadle__slot ? (jint)(treadle__slot->state & TREADLE_DEPTH_MASK) : -1;
}

/* Waits in Java with two frames on its stack. Returns how many are open before they are ended by
 * the mark of the first one, times 10, and how many afterwards. */
static jint mark(JNIEnv *env, jclass self)
{
    treadle_mark outer = treadle_push("marked");
    jint before;

    (void)self;
    treadle_push("marked too");
    call(env, "await");
    before = open_in_segment();
    treadle_pop_to(outer);
    return 10 * before + open_in_segment();
}

static void forget(JNIEnv *env, jclass self)
{
    (void)env, (void)self;
    treadle_push("forgotten");
}

/* Forgets a frame that lies deeper on the stack than any other. */
static void sink(JNIEnv *env, jclass self)
{
    volatile char room[SINK_BYTES];

    (void)env, (void)self;
    room[0] = 0;
    treadle_push("sunk");
    room[SINK_BYTES - 1] = room[0];
}

static __attribute__((noinline)) void forget_here(JNIEnv *env)
{
    treadle_push("lost");
    call(env, "leaf");
}

/* outer (lost (leaf), next (leaf)), leaf: a push further out finds that the frame is over, or a pop
 * does. */
static void careless(JNIEnv *env, jclass self)
{
    (void)self;
    treadle_push("outer");
    forget_here(env);
    treadle_push("next");
    call(env, "leaf");
    treadle_pop();
    forget_here(env);
    treadle_pop();
    call(env, "leaf");
}

static __attribute__((noinline)) void forget_part(void)
{
    treadle_begin("lost part");
}

/* served, of the caller's chain; own, of a new one, with a part that is forgotten: the new id. */
static jstring ids(JNIEnv *env, jclass self)
{
    struct treadle_chain given = treadle_id(), own;
    char text[TREADLE_ID_TEXT_BYTES];

    (void)self;
    treadle_adopt("served", given);
    treadle_begin("own");
    own = treadle_id();
    call(env, "leaf");
    forget_part();
    treadle_push("after");
    treadle_pop();
    treadle_pop();
    treadle_pop();
    treadle_id_text(own, text);
    return (*env)->NewStringUTF(env, text);
}

/* The exception is pending while the frame is popped. */
static void risk(JNIEnv *env, jclass self)
{
    (void)self;
    treadle_push("risky");
    call(env, "thrower");
    treadle_pop();
}

static jmp_buf above;

static __attribute__((noinline)) void jump(JNIEnv *env)
{
    treadle_push("left");
    call(env, "leaf");
    longjmp(above, 1);
}

static __attribute__((noinline)) void jump_back(JNIEnv *env)
{
    if (setjmp(above) == 0)
        jump(env);
}

static void jumps(JNIEnv *env, jclass self)
{
    treadle_mark mark = treadle_push("stays");

    (void)self;
    jump_back(env);
    treadle_pop_to(mark);
    treadle_push("after");
    call(env, "leaf");
    treadle_pop();
}

/* Pushes twice. */
static void handler(int signal)
{
    (void)signal;
    treadle_push("handler");
    treadle_pop();
    {
        treadle_scope("scoped");
        handled += 2;
    }
}

static void handle(struct sigaction *before)
{
    struct sigaction action;

    memset(&action, 0, sizeof(action));
    action.sa_handler = handler;
    action.sa_flags = SA_RESTART;
    sigaction(SIGRTMAX - 3, &action, before);
}

static volatile sig_atomic_t nested_handlers;

/* Interrupts itself twice. */
static void restless_handler(int signal)
{
    treadle_push("in handler");
    handled++;
    if (nested_handlers < 2) {
        nested_handlers++;
        raise(signal);
        nested_handlers--;
    }
    treadle_pop();
}

static int begin_storm(timer_t *timer)
{
    struct itimerspec every = {{0, STORM_NS}, {0, STORM_NS}};
    struct sigevent event;

    memset(&event, 0, sizeof(event));
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = SIGRTMAX - 3;
    event._sigev_un._tid = gettid();
    if (timer_create(CLOCK_MONOTONIC, &event, timer) != 0)
        return -1;
    handled = 0;
    return timer_settime(*timer, 0, &every, NULL);
}

/* Returns how many frames were pushed in handlers while frames were pushed here, by a handler that
 * blocks no signal. apart: the handler has a stack of its own, which lies above that of its thread;
 * -2: it does not. */
static jint restless(JNIEnv *env, jclass self, jboolean apart)
{
    static char room[RESTLESS_BYTES];
    struct sigaction action, before;
    stack_t own, none;
    timer_t timer;

    (void)env, (void)self;
    memset(&own, 0, sizeof(own));
    own.ss_sp = room;
    own.ss_size = sizeof(room);
    none = own;
    none.ss_flags = SS_DISABLE;
    if (apart && (room < (char *)&own || sigaltstack(&own, NULL) != 0))
        return -2;
    memset(&action, 0, sizeof(action));
    action.sa_handler = restless_handler;
    action.sa_flags = SA_RESTART | SA_NODEFER | (apart ? SA_ONSTACK : 0);
    sigaction(SIGRTMAX - 3, &action, &before);
    treadle_push("busy");
    if (begin_storm(&timer) != 0)
        return -1;
    for (int i = 0; i < RESTLESS_PUSHES; i++) {
        treadle_push("frame");
        treadle_pop();
    }
    timer_delete(timer);
    treadle_pop();
    treadle_push("afterwards");
    treadle_pop();
    sigaction(SIGRTMAX - 3, &before, NULL);
    if (apart)
        sigaltstack(&none, NULL);
    return handled;
}

/* Returns how many frames were pushed in handlers while `steps` ran. */
static jint storm(JNIEnv *env, jclass self)
{
    struct sigaction before;
    timer_t timer;

    (void)self;
    handle(&before);
    treadle_push("storm");
    if (begin_storm(&timer) != 0)
        return -1;
    call(env, "steps");
    timer_delete(timer);
    treadle_pop();
    return handled;
}

/* Blocks no signal, and does nothing where it interrupts itself. */
static void lone_handler(int signal)
{
    (void)signal;
    if (nested_handlers)
        return;
    nested_handlers = 1;
    treadle_push("in handler");
    handled++;
    treadle_pop();
    nested_handlers = 0;
}

/* Returns how many frames such a handler pushed while two methods were called in turns: their
 * hooks find another child than the last one each time. */
static jint interrupted(JNIEnv *env, jclass self)
{
    struct sigaction action, before;
    timer_t timer;

    (void)self;
    memset(&action, 0, sizeof(action));
    action.sa_handler = lone_handler;
    action.sa_flags = SA_RESTART | SA_NODEFER;
    sigaction(SIGRTMAX - 3, &action, &before);
    treadle_push("interrupted");
    if (begin_storm(&timer) != 0)
        return -1;
    call(env, "turns");
    timer_delete(timer);
    treadle_pop();
    sigaction(SIGRTMAX - 3, &before, NULL);
    return handled;
}

static volatile long spent;

static __attribute__((noinline)) void spin_inside(void)
{
    struct timespec begun, now;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begun);
    do {
        for (int i = 0; i < 100000; i++)
            spent++;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    } while ((now.tv_sec - begun.tv_sec) * 1000 + (now.tv_nsec - begun.tv_nsec) / 1000000 <
             SPIN_MS);
}

static __attribute__((noinline)) void push_and_spin(JNIEnv *env)
{
    treadle_push("sampled");
    spin_inside();
    treadle_push("calling");
    call(env, "spins");
    treadle_pop();
    treadle_pop();
    spent++;
}

/* Spends SPIN_MS of CPU time below a frame, and calls a Java method below another. */
static void spin(JNIEnv *env, jclass self)
{
    (void)self;
    push_and_spin(env);
}

static void *attached(void *unused)
{
    JNIEnv *env;

    treadle_push("stranger"); /* no Java thread */
    if ((*the_vm)->AttachCurrentThread(the_vm, (void **)&env, NULL) == JNI_OK) {
        handle(NULL);
        raise(SIGRTMAX - 3); /* the thread's first pushes are a handler's */
        treadle_push("attached");
        call(env, "leaf");
        treadle_pop();
        (*the_vm)->DetachCurrentThread(the_vm);
    }
    treadle_pop();
    return unused;
}

static void attach(JNIEnv *env, jclass self)
{
    pthread_t thread;

    (void)env, (void)self;
    if (pthread_create(&thread, NULL, attached, NULL) == 0)
        pthread_join(thread, NULL);
}

static __attribute__((noinline)) void deeper(JNIEnv *env, jint levels)
{
    treadle_scope("deep");
    if (levels > 1)
        deeper(env, levels - 1);
    else
        call(env, "leaf");
}

static void deep(JNIEnv *env, jclass self, jint levels)
{
    (void)self;
    deeper(env, levels);
}

/* Waits in Java with a frame on its stack. */
static void hold(JNIEnv *env, jclass self)
{
    (void)self;
    treadle_push("held");
    call(env, "await");
    treadle_pop();
}

#define NATIVE(name, type)                                                                         \
    {                                                                                              \
#name, type, (void *)(name)                                                                \
    }

jint JNI_OnLoad(JavaVM *vm, void *reserved)
{
    const JNINativeMethod methods[] = {
        NATIVE(ids, "()Ljava/lang/String;"),
        NATIVE(nested, "()V"),
        NATIVE(between, "()V"),
        NATIVE(hide, "()V"),
        NATIVE(mark, "()I"),
        NATIVE(lower, "()V"),
        NATIVE(forget, "()V"),
        NATIVE(risk, "()V"),
        NATIVE(jumps, "()V"),
        NATIVE(storm, "()I"),
        NATIVE(restless, "(Z)I"),
        NATIVE(interrupted, "()I"),
        NATIVE(spin, "()V"),
        NATIVE(attach, "()V"),
        NATIVE(careless, "()V"),
        NATIVE(sink, "()V"),
        NATIVE(deep, "(I)V"),
        NATIVE(hold, "()V"),
    };
    JNIEnv *env;
    jclass self;

    (void)reserved;
    if ((*vm)->GetEnv(vm, (void **)&env, JNI_VERSION_1_6) != JNI_OK)
        return JNI_ERR;
    the_vm = vm;
    self = (*env)->FindClass(env, "NativeActivities");
    java = self ? (*env)->NewGlobalRef(env, self) : NULL;
    if (!java ||
        (*env)->RegisterNatives(env, java, methods, sizeof(methods) / sizeof(*methods)) != JNI_OK)
        return JNI_ERR;
    return JNI_VERSION_1_6;
}
