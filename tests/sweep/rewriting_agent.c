/*
 * Puts hooks into every method of every class of a JVM, with the class rewriter and nothing else of
 * Treadle: the hooks keep a stack of the calls they know of in each kernel thread, and check it.
 * Options, joined by commas:
 *
 *     report=FILE      where the findings go when the JVM ends, one `WORD NUMBER …` a line
 *     counted         calls are only counted: the one hook of a method is that of its begin
 *
 * The report:  class rewritten|unchanged|malformed N    method N OUTCOME
 *              refused CLASS ERROR      a loaded class that did not take its new bytes
 *              malformed CLASS OFFSET EXPECTED
 *              wrong WHAT N N           a token that no call on the stack has; frames that are not
 *                                       calls, other than at first, where a method named
 *                                       compareDepths is called
 *              depth THREAD N           a thread that ended (or the JVM ended on) not at depth 0
 *              missed THREAD N          calls without a leave of their own, that a hook further up
 *                                       took from the stack
 *
 * A token is a call's number in its thread and its depth: leaving a call that has been left already
 * does nothing.
 */
#include "agent/classfile/class_rewriter.h"
#include "agent/methods/unhooked_method.h"
#include "native/ledger/unhooked_reason.h"

#include <errno.h>
#include <jvmti.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HOOK_CLASS "java/lang/TreadleHooks"
#define DEPTH_BITS 20
#define DEPTH_MAX  (((int64_t)1 << DEPTH_BITS) - 1)

static struct {
    jvmtiEnv *jvmti;
    FILE *report;
    bool counted;
    pthread_mutex_t lock;
    uint64_t methods[METHOD_OUTCOMES];
    uint64_t rewritten, unchanged, malformed;
} sweep = {.lock = PTHREAD_MUTEX_INITIALIZER};

static _Atomic bool hooks_exist;
static _Atomic uint32_t next_id = 1;
static _Atomic uint32_t compare_id;

static __thread struct {
    int64_t depth;
    int64_t calls;
    int64_t missed;
    int64_t frames; /* that are no calls, at the first call of compareDepths */
    jlong *tokens;  /* by depth */
} here;

/* Found by their names, as all agents' libraries are searched for natives of the boot loader's
 * classes: RegisterNatives works as well, but makes newer JVMs warn. */
JNIEXPORT jlong JNICALL Java_java_lang_TreadleHooks_enter(JNIEnv *jni, jclass owner, jint id);
JNIEXPORT void JNICALL Java_java_lang_TreadleHooks_called(JNIEnv *jni, jclass owner, jint id);
JNIEXPORT void JNICALL Java_java_lang_TreadleHooks_leave(JNIEnv *jni, jclass owner, jlong token);
JNIEXPORT void JNICALL Java_java_lang_TreadleHooks_caught(JNIEnv *jni, jclass owner, jlong token);
JNIEXPORT void JNICALL Java_java_lang_TreadleHooks_acquired(JNIEnv *jni, jclass owner);
JNIEXPORT void JNICALL Java_java_lang_TreadleHooks_released(JNIEnv *jni, jclass owner);
JNIEXPORT void JNICALL Java_java_lang_TreadleHooks_releasing(JNIEnv *jni, jclass owner);

static void say_wrong(const char *what, int64_t first, int64_t second)
{
    pthread_mutex_lock(&sweep.lock);
    fprintf(sweep.report, "wrong %s %lld %lld\n", what, (long long)first, (long long)second);
    pthread_mutex_unlock(&sweep.lock);
}

/* Native methods and the JVM's own frames are on the stack, but are not hooked. */
static void compare_depths(void)
{
    int64_t frames;
    jint count = 0;

    (*sweep.jvmti)->GetFrameCount(sweep.jvmti, NULL, &count);
    frames = count - here.depth;
    if (here.frames == 0)
        here.frames = frames;
    if (here.frames != frames)
        say_wrong("frames", here.frames, frames);
}

jlong Java_java_lang_TreadleHooks_enter(JNIEnv *jni, jclass owner, jint id)
{
    jlong token = ++here.calls << DEPTH_BITS | ++here.depth;

    (void)jni, (void)owner;
    if (!here.tokens)
        here.tokens = calloc(DEPTH_MAX + 1, sizeof *here.tokens);
    if (here.tokens && here.depth <= DEPTH_MAX)
        here.tokens[here.depth] = token;
    if ((uint32_t)id == atomic_load_explicit(&compare_id, memory_order_relaxed))
        compare_depths();
    return token;
}

void Java_java_lang_TreadleHooks_called(JNIEnv *jni, jclass owner, jint id)
{
    (void)jni, (void)owner, (void)id;
}

/* Makes the token's call the innermost one. false: it has been left already. */
static bool come_back(jlong token)
{
    int64_t depth = token & DEPTH_MAX;

    if (depth > here.depth)
        return false;
    if (depth == 0 || !here.tokens || here.tokens[depth] != token) {
        say_wrong("token", token >> DEPTH_BITS, depth);
        return false;
    }
    here.missed += here.depth - depth;
    here.depth = depth;
    return true;
}

void Java_java_lang_TreadleHooks_leave(JNIEnv *jni, jclass owner, jlong token)
{
    (void)jni, (void)owner;
    if (come_back(token))
        here.depth--;
}

void Java_java_lang_TreadleHooks_caught(JNIEnv *jni, jclass owner, jlong token)
{
    (void)jni, (void)owner;
    come_back(token);
}

void Java_java_lang_TreadleHooks_acquired(JNIEnv *jni, jclass owner)
{
    (void)jni, (void)owner;
}

void Java_java_lang_TreadleHooks_released(JNIEnv *jni, jclass owner)
{
    (void)jni, (void)owner;
}

void Java_java_lang_TreadleHooks_releasing(JNIEnv *jni, jclass owner)
{
    (void)jni, (void)owner;
}

static bool choose(void *context, const struct class_method *method, struct method_choice *choice)
{
    (void)context;
    choice->monitors = !sweep.counted;
    choice->counted = sweep.counted;
    choice->id = atomic_fetch_add(&next_id, 1);
    if (class_text__is(method->name, "compareDepths"))
        atomic_store(&compare_id, choice->id);
    return true;
}

static void count(const char *name, const struct class_rewrite *rewrite, int error)
{
    pthread_mutex_lock(&sweep.lock);
    for (int i = 0; i < METHOD_OUTCOMES; i++)
        sweep.methods[i] += rewrite->methods[i];
    sweep.rewritten += rewrite->bytes != NULL;
    sweep.unchanged += rewrite->bytes == NULL && !error;
    sweep.malformed += error != 0;
    if (error)
        fprintf(sweep.report, "malformed %s %zu %s\n", name ? name : "?", rewrite->error.offset,
                rewrite->error.expected ? rewrite->error.expected : strerror(-error));
    pthread_mutex_unlock(&sweep.lock);
}

static void JNICALL on_class_file(jvmtiEnv *jvmti, JNIEnv *jni, jclass redefined, jobject loader,
                                  const char *name, jobject domain, jint length,
                                  const unsigned char *bytes, jint *new_length,
                                  unsigned char **new_bytes)
{
    struct class_rewrite rewrite;
    int error;

    (void)jni, (void)redefined, (void)loader, (void)domain;
    if (!atomic_load(&hooks_exist) || (name && strcmp(name, HOOK_CLASS) == 0))
        return;
    error = class_rewriter__rewrite(bytes, (size_t)length, HOOK_CLASS, choose, NULL, &rewrite);
    count(name, &rewrite, error);
    if (!rewrite.bytes)
        return;
    if ((*jvmti)->Allocate(jvmti, (jlong)rewrite.length, new_bytes) == JVMTI_ERROR_NONE) {
        memcpy(*new_bytes, rewrite.bytes, rewrite.length);
        *new_length = (jint)rewrite.length;
    }
    free(rewrite.bytes);
    free(rewrite.hooked);
}

static void put_text(struct class_writer *writer, const char *text)
{
    class_writer__u1(writer, CONSTANT_UTF8);
    class_writer__u2(writer, (uint32_t)strlen(text));
    class_writer__copy(writer, (const uint8_t *)text, strlen(text));
}

static void put_class(struct class_writer *writer, uint32_t name)
{
    class_writer__u1(writer, CONSTANT_CLASS);
    class_writer__u2(writer, name);
}

static void put_native_method(struct class_writer *writer, uint32_t name, uint32_t descriptor)
{
    class_writer__u2(writer, 0x0109); /* public static native */
    class_writer__u2(writer, name);
    class_writer__u2(writer, descriptor);
    class_writer__u2(writer, 0);
}

/* public final class java.lang.TreadleHooks {
 *     public static native long enter(int);
 *     public static native void leave(long), caught(long), called(int);
 *     public static native void acquired(), released(), releasing();
 * } */
static struct class_writer hook_class_bytes(void)
{
    struct class_writer writer = {0};

    class_writer__u4(&writer, 0xcafebabe);
    class_writer__u4(&writer, 49);
    class_writer__u2(&writer, 16);
    put_text(&writer, HOOK_CLASS);
    put_class(&writer, 1);
    put_text(&writer, "java/lang/Object");
    put_class(&writer, 3);
    put_text(&writer, "enter");
    put_text(&writer, "leave");
    put_text(&writer, "caught");
    put_text(&writer, "(I)J");
    put_text(&writer, "(J)V");
    put_text(&writer, "acquired");
    put_text(&writer, "released");
    put_text(&writer, "releasing");
    put_text(&writer, "()V");
    put_text(&writer, "called");
    put_text(&writer, "(I)V");
    class_writer__u2(&writer, 0x0031); /* public final super */
    class_writer__u2(&writer, 2);
    class_writer__u2(&writer, 4);
    class_writer__u2(&writer, 0); /* interfaces */
    class_writer__u2(&writer, 0); /* fields */
    class_writer__u2(&writer, 7); /* methods */
    put_native_method(&writer, 5, 8);
    put_native_method(&writer, 6, 9);
    put_native_method(&writer, 7, 9);
    put_native_method(&writer, 10, 13);
    put_native_method(&writer, 11, 13);
    put_native_method(&writer, 12, 13);
    put_native_method(&writer, 14, 15);
    class_writer__u2(&writer, 0); /* attributes */
    return writer;
}

static bool define_hooks(JNIEnv *jni)
{
    struct class_writer bytes = hook_class_bytes();
    jclass hooks =
        (*jni)->DefineClass(jni, HOOK_CLASS, NULL, (const jbyte *)bytes.bytes, (jsize)bytes.length);

    class_writer__close(&bytes);
    if (!hooks) {
        (*jni)->ExceptionDescribe(jni);
        return false;
    }
    return true;
}

static void retransform(jvmtiEnv *jvmti, jclass class)
{
    jvmtiError error = (*jvmti)->RetransformClasses(jvmti, 1, &class);
    char *signature = NULL;

    if (error == JVMTI_ERROR_NONE)
        return;
    (*jvmti)->GetClassSignature(jvmti, class, &signature, NULL);
    pthread_mutex_lock(&sweep.lock);
    fprintf(sweep.report, "refused %s %d\n", signature ? signature : "?", (int)error);
    pthread_mutex_unlock(&sweep.lock);
    (*jvmti)->Deallocate(jvmti, (unsigned char *)signature);
}

static void JNICALL on_init(jvmtiEnv *jvmti, JNIEnv *jni, jthread thread)
{
    jclass *classes = NULL;
    jint class_count = 0;

    (void)thread;
    if (!define_hooks(jni))
        return;
    atomic_store(&hooks_exist, true);
    (*jvmti)->GetLoadedClasses(jvmti, &class_count, &classes);
    for (jint i = 0; i < class_count; i++) {
        jboolean modifiable = JNI_FALSE;

        (*jvmti)->IsModifiableClass(jvmti, classes[i], &modifiable);
        if (modifiable)
            retransform(jvmti, classes[i]);
    }
    (*jvmti)->Deallocate(jvmti, (unsigned char *)classes);
    memset(&here, 0, sizeof here);
}

static void report_thread(jvmtiEnv *jvmti, jthread thread)
{
    int64_t depth = here.depth, missed = here.missed;
    jvmtiThreadInfo info = {0};

    free(here.tokens);
    memset(&here, 0, sizeof here);
    if ((depth == 0 && missed == 0) || !atomic_load(&hooks_exist))
        return;
    (*jvmti)->GetThreadInfo(jvmti, thread, &info);
    pthread_mutex_lock(&sweep.lock);
    if (depth)
        fprintf(sweep.report, "depth %s %lld\n", info.name ? info.name : "?", (long long)depth);
    if (missed)
        fprintf(sweep.report, "missed %s %lld\n", info.name ? info.name : "?", (long long)missed);
    pthread_mutex_unlock(&sweep.lock);
    (*jvmti)->Deallocate(jvmti, (unsigned char *)info.name);
}

static void JNICALL on_thread_end(jvmtiEnv *jvmti, JNIEnv *jni, jthread thread)
{
    (void)jni;
    report_thread(jvmti, thread);
}

static const char *outcome_text(enum method_outcome outcome)
{
    static const char *const texts[METHOD_OUTCOMES] = {
        [METHOD_HOOKED] = "hooked",
        [METHOD_NOT_CHOSEN] = "not chosen",
        [METHOD_WITHOUT_CODE] = "native or abstract",
    };
    enum unhooked_reason reason;

    return unhooked_method__reason(outcome, &reason) ? unhooked_reason__text(reason)
                                                     : texts[outcome];
}

static void JNICALL on_death(jvmtiEnv *jvmti, JNIEnv *jni)
{
    jthread thread = NULL;

    (void)jni;
    if ((*jvmti)->GetCurrentThread(jvmti, &thread) == JVMTI_ERROR_NONE)
        report_thread(jvmti, thread);
    pthread_mutex_lock(&sweep.lock);
    fprintf(sweep.report, "class rewritten %llu\nclass unchanged %llu\nclass malformed %llu\n",
            (unsigned long long)sweep.rewritten, (unsigned long long)sweep.unchanged,
            (unsigned long long)sweep.malformed);
    for (int i = 0; i < METHOD_OUTCOMES; i++)
        fprintf(sweep.report, "method %llu %s\n", (unsigned long long)sweep.methods[i],
                outcome_text((enum method_outcome)i));
    fflush(sweep.report);
    pthread_mutex_unlock(&sweep.lock);
}

static bool read_options(char *options)
{
    char *rest = NULL;

    sweep.report = stderr;
    for (char *word = strtok_r(options, ",", &rest); word; word = strtok_r(NULL, ",", &rest)) {
        if (strncmp(word, "report=", 7) == 0)
            sweep.report = fopen(word + 7, "w");
        else if (strcmp(word, "counted") == 0)
            sweep.counted = true;
        else
            return false;
    }
    return sweep.report != NULL;
}

JNIEXPORT jint JNICALL Agent_OnLoad(JavaVM *vm, char *options, void *reserved)
{
    const jvmtiCapabilities capabilities = {
        .can_generate_all_class_hook_events = 1,
        .can_retransform_classes = 1,
        .can_retransform_any_class = 1,
    };
    const jvmtiEventCallbacks callbacks = {
        .VMInit = on_init,
        .VMDeath = on_death,
        .ThreadEnd = on_thread_end,
        .ClassFileLoadHook = on_class_file,
    };
    static const jvmtiEvent events[] = {JVMTI_EVENT_VM_INIT, JVMTI_EVENT_VM_DEATH,
                                        JVMTI_EVENT_THREAD_END, JVMTI_EVENT_CLASS_FILE_LOAD_HOOK};
    jvmtiEnv *jvmti = NULL;

    (void)reserved;
    if ((*vm)->GetEnv(vm, (void **)&jvmti, JVMTI_VERSION_11) != JNI_OK || !read_options(options))
        return JNI_ERR;
    if ((*jvmti)->AddCapabilities(jvmti, &capabilities) != JVMTI_ERROR_NONE)
        return JNI_ERR;
    sweep.jvmti = jvmti;
    (*jvmti)->SetEventCallbacks(jvmti, &callbacks, sizeof callbacks);
    for (size_t i = 0; i < sizeof events / sizeof *events; i++)
        (*jvmti)->SetEventNotificationMode(jvmti, JVMTI_ENABLE, events[i], NULL);
    return JNI_OK;
}
