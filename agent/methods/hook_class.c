#include "agent/methods/hook_class.h"

#include "agent/classfile/bytecode.h"
#include "agent/methods/count_hooks.h"
#include "agent/methods/hold_hooks.h"
#include "agent/methods/hook_pool.h"
#include "agent/methods/made_class.h"

#include <errno.h>
#include <string.h>

#define LINKER_CLASS    "treadle/Linker"
#define OFF             1 /* in OFF[slot] */
#define OFF_BUT_COUNTED 2
#define LONG_LOCK_CLASS "java/util/concurrent/locks/AbstractQueuedLongSynchronizer"

/* What differs from one JVM to another in HOOK_CLASS. */
struct writing {
    const struct thread_counters *counters;
    const char *current_thread; /* a method of Thread: which thread runs, or carries one */
};

/* What the linker's native method is to bind; its address is passed through the class `Linker`. */
struct linking {
    jclass class;
    const JNINativeMethod *hooks;
    const struct bound_natives *more;
    jint error;
};

/* byte off = OFF[slot]; if (off == 0) return open(slot); if (off != 1) count(slot); return -1; */
static void add_enter(struct class_writer *out)
{
    /* clang-format off */
    static const uint8_t code[] = {
        OP_GETSTATIC,    0, HOOKS_OFF_FIELD,
        OP_ILOAD_0, OP_BALOAD, OP_ISTORE_1, OP_ILOAD_1,
        OP_IFNE,         0, 8, /* the next condition */
        OP_ILOAD_0,
        OP_INVOKESTATIC, 0, HOOKS_OPEN_METHOD,
        OP_LRETURN,
        OP_ILOAD_1, OP_ICONST_1,
        OP_IF_ICMPEQ,    0, 7, /* the end */
        OP_ILOAD_0,
        OP_INVOKESTATIC, 0, HOOKS_COUNT_METHOD,
        OP_ICONST_M1, OP_I2L, OP_LRETURN,
    };
    /* clang-format on */
    const struct method_text enter = {ACC_PUBLIC | ACC_STATIC,
                                      HOOKS_ENTER,
                                      HOOKS_PUSH_TYPE,
                                      STACK_NOT_FOR_C1,
                                      2,
                                      code,
                                      sizeof(code)};

    made_class__add_method(out, &enter, 0);
}

/* if (MUTED[slot] == 0) return push(slot); silent(slot); return -1; */
static void add_open(struct class_writer *out)
{
    static const uint8_t code[] = {
        OP_GETSTATIC,
        0,
        HOOKS_MUTED_FIELD,
        OP_ILOAD_0,
        OP_BALOAD,
        OP_IFNE,
        0,
        8,
        OP_ILOAD_0,
        OP_INVOKESTATIC,
        0,
        HOOKS_PUSH_METHOD,
        OP_LRETURN,
        OP_ILOAD_0,
        OP_INVOKESTATIC,
        0,
        HOOKS_SILENT_METHOD,
        OP_ICONST_M1,
        OP_I2L,
        OP_LRETURN,
    };
    const struct method_text open = {ACC_STATIC, HOOKS_OPEN, HOOKS_PUSH_TYPE, 2,
                                     1,          code,       sizeof(code)};

    made_class__add_method(out, &open, HOOKS_DONT_INLINE);
}

/* count(slot); if (--LEFT[slot] <= 0) hot(slot); */
static void add_silent(struct class_writer *out)
{
    static const uint8_t code[] = {
        OP_ILOAD_0,
        OP_INVOKESTATIC,
        0,
        HOOKS_COUNT_METHOD,
        OP_GETSTATIC,
        0,
        HOOKS_LEFT_FIELD,
        OP_ILOAD_0,
        OP_DUP2,
        OP_SALOAD,
        OP_ICONST_1,
        OP_ISUB,
        OP_I2S,
        OP_DUP_X2,
        OP_SASTORE,
        OP_IFGT,
        0,
        7,
        OP_ILOAD_0,
        OP_INVOKESTATIC,
        0,
        HOOKS_HOT_METHOD,
        OP_RETURN,
    };
    const struct method_text silent = {ACC_STATIC, HOOKS_SILENT, HOOKS_SILENT_TYPE, 4,
                                       1,          code,         sizeof(code)};

    made_class__add_method(out, &silent, 0);
}

/* if (token >= 0) pop(token); */
static void add_exit(struct class_writer *out, uint32_t name, uint8_t native_method)
{
    const uint8_t code[] = {
        OP_LLOAD_0, OP_LCONST_0,     OP_LCMP, OP_IFLT,       0,         7,
        OP_LLOAD_0, OP_INVOKESTATIC, 0,       native_method, OP_RETURN,
    };
    const struct method_text leave = {ACC_PUBLIC | ACC_STATIC,
                                      (uint16_t)name,
                                      HOOKS_POP_TYPE,
                                      STACK_NOT_FOR_C1,
                                      2,
                                      code,
                                      sizeof(code)};

    made_class__add_method(out, &leave, 0);
}

/* OFF = new byte[HOOK_SLOTS_MAX]; and so on;
 * UNSAFE = Unsafe.getUnsafe(); TID = UNSAFE.objectFieldOffset(Thread.class, "tid"); */
static void add_initialiser(struct class_writer *out)
{
    /* clang-format off */
    static const uint8_t code[] = {
        OP_LDC, HOOKS_SLOTS, OP_NEWARRAY, ARRAY_OF_BYTES,  OP_PUTSTATIC, 0, HOOKS_OFF_FIELD,
        OP_LDC, HOOKS_SLOTS, OP_NEWARRAY, ARRAY_OF_BYTES,  OP_PUTSTATIC, 0, HOOKS_MUTED_FIELD,
        OP_LDC, HOOKS_SLOTS, OP_NEWARRAY, ARRAY_OF_SHORTS, OP_PUTSTATIC, 0, HOOKS_LEFT_FIELD,
        OP_LDC, HOOKS_SLOTS, OP_NEWARRAY, ARRAY_OF_INTS,   OP_PUTSTATIC, 0, HOOKS_COUNTERS_FIELD,
        OP_ICONST_2,         OP_NEWARRAY, ARRAY_OF_BYTES,  OP_PUTSTATIC, 0, HOOKS_UNHEARD_FIELD,
        OP_INVOKESTATIC, 0, HOOKS_GET_UNSAFE_METHOD, OP_PUTSTATIC, 0, HOOKS_UNSAFE_FIELD,
        OP_GETSTATIC, 0, HOOKS_UNSAFE_FIELD,
        OP_LDC, HOOKS_THREAD_CLASS, OP_LDC, HOOKS_TID_NAME,
        OP_INVOKEVIRTUAL, 0, HOOKS_OFFSET_METHOD, OP_PUTSTATIC, 0, HOOKS_TID_FIELD,
        OP_RETURN,
    };
    /* clang-format on */
    const struct method_text initialiser = {ACC_STATIC, HOOKS_CLINIT, POOL_RUN_TYPE, 3,
                                            0,          code,         sizeof(code)};

    made_class__add_method(out, &initialiser, 0);
}

static void add_hooks_pool(struct class_writer *out, const struct writing *writing)
{
    static const char *const texts[] = {"enter",
                                        "leave",
                                        "caught",
                                        "push",
                                        "pop",
                                        "resume",
                                        "(I)J",
                                        "(J)V",
                                        "starting",
                                        "pinned",
                                        "parking",
                                        "parked",
                                        "sleeping",
                                        "slept",
                                        "polling",
                                        "polled",
                                        "activity",
                                        "acquired",
                                        "released",
                                        "releasing",
                                        "owning",
                                        "owned",
                                        "entered",
                                        "exited",
                                        "exiting",
                                        "UNHEARD",
                                        "java/util/concurrent/locks/AbstractQueuedSynchronizer",
                                        LONG_LOCK_CLASS,
                                        "hasContended",
                                        "()Z",
                                        "(Ljava/lang/Object;)V",
                                        "sharing",
                                        "shared",
                                        "(ILjava/lang/Object;II)V",
                                        "OFF",
                                        "MUTED",
                                        "[B",
                                        "LEFT",
                                        "[S",
                                        "open",
                                        "silent",
                                        "hot",
                                        "(I)V",
                                        "<clinit>",
                                        "RuntimeVisibleAnnotations",
                                        "Ljdk/internal/vm/annotation/ForceInline;",
                                        "Ljdk/internal/vm/annotation/DontInline;",
                                        "Ljdk/internal/vm/annotation/Stable;",
                                        "COUNTERS",
                                        "[I",
                                        "count",
                                        "jdk/internal/misc/Unsafe",
                                        "getUnsafe",
                                        "()Ljdk/internal/misc/Unsafe;",
                                        "getAndAddLong",
                                        "(Ljava/lang/Object;JJ)J",
                                        "called",
                                        "first",
                                        "counted",
                                        "(IJ)V",
                                        "java/lang/Thread",
                                        "()Ljava/lang/Thread;",
                                        "getLong",
                                        "(Ljava/lang/Object;J)J",
                                        "putLong",
                                        "(Ljava/lang/Object;JJ)V",
                                        "objectFieldOffset",
                                        "(Ljava/lang/Class;Ljava/lang/String;)J",
                                        "TID",
                                        "tid",
                                        "J",
                                        "UNSAFE",
                                        "Ljdk/internal/misc/Unsafe;"};

    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
        made_class__add_text(out, texts[i]);
    made_class__add_text(out, writing->current_thread);
    made_class__add_pair(out, CONSTANT_NAME_AND_TYPE, HOOKS_OFF, HOOKS_BYTES_TYPE);
    made_class__add_pair(out, CONSTANT_FIELD, POOL_THIS, HOOKS_OFF_AND_TYPE);
    made_class__add_pair(out, CONSTANT_NAME_AND_TYPE, HOOKS_MUTED, HOOKS_BYTES_TYPE);
    made_class__add_pair(out, CONSTANT_FIELD, POOL_THIS, HOOKS_MUTED_AND_TYPE);
    made_class__add_pair(out, CONSTANT_NAME_AND_TYPE, HOOKS_LEFT, HOOKS_SHORTS_TYPE);
    made_class__add_pair(out, CONSTANT_FIELD, POOL_THIS, HOOKS_LEFT_AND_TYPE);
    made_class__add_pair(out, CONSTANT_NAME_AND_TYPE, HOOKS_OPEN, HOOKS_PUSH_TYPE);
    made_class__add_pair(out, CONSTANT_METHOD, POOL_THIS, HOOKS_OPEN_AND_TYPE);
    made_class__add_pair(out, CONSTANT_NAME_AND_TYPE, HOOKS_SILENT, HOOKS_SILENT_TYPE);
    made_class__add_pair(out, CONSTANT_METHOD, POOL_THIS, HOOKS_SILENT_AND_TYPE);
    made_class__add_pair(out, CONSTANT_NAME_AND_TYPE, HOOKS_HOT, HOOKS_SILENT_TYPE);
    made_class__add_pair(out, CONSTANT_METHOD, POOL_THIS, HOOKS_HOT_AND_TYPE);
    made_class__add_pair(out, CONSTANT_NAME_AND_TYPE, HOOKS_PUSH, HOOKS_PUSH_TYPE);
    made_class__add_pair(out, CONSTANT_METHOD, POOL_THIS, HOOKS_PUSH_AND_TYPE);
    made_class__add_pair(out, CONSTANT_NAME_AND_TYPE, HOOKS_POP, HOOKS_POP_TYPE);
    made_class__add_pair(out, CONSTANT_METHOD, POOL_THIS, HOOKS_POP_AND_TYPE);
    made_class__add_pair(out, CONSTANT_NAME_AND_TYPE, HOOKS_RESUME, HOOKS_POP_TYPE);
    made_class__add_pair(out, CONSTANT_METHOD, POOL_THIS, HOOKS_RESUME_AND_TYPE);
    hold_hooks__write_pool(out);
    count_hooks__write_pool(out, writing->counters);
    class_writer__u1(out, CONSTANT_INTEGER);
    class_writer__u4(out, HOOK_SLOTS_MAX);
}

static void add_field(struct class_writer *out, uint32_t name, uint32_t type, bool stable)
{
    class_writer__u2(out, ACC_STATIC | ACC_FINAL);
    class_writer__u2(out, name);
    class_writer__u2(out, type);
    class_writer__u2(out, stable);
    if (stable)
        made_class__add_annotation(out, HOOKS_STABLE);
}

static void write_hooks(struct class_writer *out, const struct writing *writing)
{
    made_class__begin(out, HOOK_CLASS, HOOKS_POOL_COUNT);
    add_hooks_pool(out, writing);
    made_class__end_pool(out);
    class_writer__u2(out, 7);
    add_field(out, HOOKS_UNSAFE, HOOKS_UNSAFE_TYPE, false);
    add_field(out, HOOKS_COUNTERS, HOOKS_INTS_TYPE, false);
    add_field(out, HOOKS_TID, HOOKS_LONG_TYPE, false);
    add_field(out, HOOKS_OFF, HOOKS_BYTES_TYPE, true);
    add_field(out, HOOKS_MUTED, HOOKS_BYTES_TYPE, false);
    add_field(out, HOOKS_LEFT, HOOKS_SHORTS_TYPE, false);
    add_field(out, HOOKS_UNHEARD, HOOKS_BYTES_TYPE, false);
    class_writer__u2(out, HOOK_COUNT + 13);
    add_initialiser(out);
    add_enter(out);
    add_open(out);
    add_silent(out);
    add_exit(out, HOOKS_LEAVE, HOOKS_POP_METHOD);
    add_exit(out, HOOKS_CAUGHT, HOOKS_RESUME_METHOD);
    made_class__add_native(out, HOOKS_PUSH, HOOKS_PUSH_TYPE);
    made_class__add_native(out, HOOKS_POP, HOOKS_POP_TYPE);
    made_class__add_native(out, HOOKS_RESUME, HOOKS_POP_TYPE);
    made_class__add_native(out, HOOKS_HOT, HOOKS_SILENT_TYPE);
    made_class__add_native(out, HOOKS_STARTING, HOOKS_OBJECT_TYPE);
    made_class__add_native(out, HOOKS_PINNED, HOOKS_OBJECT_TYPE);
    made_class__add_native(out, HOOKS_PARKING, HOOKS_OBJECT_TYPE);
    made_class__add_native(out, HOOKS_PARKED, POOL_RUN_TYPE);
    made_class__add_native(out, HOOKS_SLEEPING, HOOKS_OBJECT_TYPE);
    made_class__add_native(out, HOOKS_SLEPT, POOL_RUN_TYPE);
    made_class__add_native(out, HOOKS_POLLING, HOOKS_OBJECT_TYPE);
    made_class__add_native(out, HOOKS_POLLED, POOL_RUN_TYPE);
    made_class__add_native(out, HOOKS_ACTIVITY, HOOKS_OBJECT_TYPE);
    count_hooks__write_methods(out);
    hold_hooks__write_methods(out);
    class_writer__u2(out, 0);
}

/* public static void run(long linking) { link(linking); }
 * public static native void link(long linking); */
static void write_linker(struct class_writer *out, const struct writing *unused)
{
    static const uint8_t code[] = {OP_LLOAD_0, OP_INVOKESTATIC, 0, LINKER_LINK_METHOD, OP_RETURN};
    const struct method_text run = {
        ACC_PUBLIC | ACC_STATIC, LINKER_RUN, LINKER_TYPE, 2, 2, code, sizeof(code)};

    (void)unused;
    made_class__begin(out, LINKER_CLASS, LINKER_POOL_COUNT);
    made_class__add_text(out, "(J)V");
    made_class__add_text(out, "run");
    made_class__add_text(out, "link");
    made_class__add_pair(out, CONSTANT_NAME_AND_TYPE, LINKER_LINK, LINKER_TYPE);
    made_class__add_pair(out, CONSTANT_METHOD, POOL_THIS, LINKER_LINK_AND_TYPE);
    made_class__end_pool(out);
    class_writer__u2(out, 0); /* no fields */
    class_writer__u2(out, 2);
    made_class__add_native(out, LINKER_LINK, LINKER_TYPE);
    made_class__add_method(out, &run, 0);
    class_writer__u2(out, 0);
}

static jclass define(JNIEnv *jni, const char *name,
                     void (*write)(struct class_writer *out, const struct writing *writing),
                     const struct writing *writing)
{
    struct class_writer out = {0};
    jclass class = NULL;

    write(&out, writing);
    if (!out.failed)
        class = (*jni)->DefineClass(jni, name, NULL, (const jbyte *)out.bytes, (jsize)out.length);
    class_writer__close(&out);
    return class;
}

/* The JVM warns of natives that are bound in the JDK's own classes, unless the caller is one of the
 * boot loader's classes: so this is called by one. */
static void JNICALL link(JNIEnv *jni, jclass linker, jlong address)
{
    struct linking *linking = (struct linking *)(uintptr_t)address;
    const struct bound_natives *more = linking->more;

    (void)linker;
    linking->error = (*jni)->RegisterNatives(jni, linking->class, linking->hooks, HOOK_COUNT);
    for (; !linking->error && more; more = more->next) {
        linking->error = (*jni)->RegisterNatives(jni, more->class, more->methods, more->count);
        if (linking->error || !more->bind_again)
            continue;
        (*jni)->CallStaticVoidMethod(jni, more->class, more->bind_again);
        linking->error = (*jni)->ExceptionCheck(jni);
    }
}

static int run_linker(JNIEnv *jni, struct linking *linking)
{
    JNINativeMethod link_method = {.name = "link", .signature = "(J)V"};
    jclass linker = define(jni, LINKER_CLASS, write_linker, NULL);
    jmethodID run = NULL;
    jint error = -1;

    link_method.fnPtr = (void *)(uintptr_t)link;
    if (linker)
        error = (*jni)->RegisterNatives(jni, linker, &link_method, 1);
    if (!error)
        run = (*jni)->GetStaticMethodID(jni, linker, "run", "(J)V");
    if (!run)
        return -ENOTSUP;
    (*jni)->CallStaticVoidMethod(jni, linker, run, (jlong)(uintptr_t)linking);
    return (*jni)->ExceptionCheck(jni) || linking->error ? -ENOTSUP : 0;
}

static jobject find_array(JNIEnv *jni, jclass class, const char *name, const char *type)
{
    jfieldID field = (*jni)->GetStaticFieldID(jni, class, name, type);
    jobject array;

    if ((*jni)->ExceptionCheck(jni))
        return NULL;
    array = (*jni)->GetStaticObjectField(jni, class, field);
    return array ? (*jni)->NewGlobalRef(jni, array) : NULL;
}

static int find_arrays(struct hook_class *class, JNIEnv *jni, jclass defined)
{
    class->off = find_array(jni, defined, "OFF", "[B");
    class->muted = find_array(jni, defined, "MUTED", "[B");
    class->left = find_array(jni, defined, "LEFT", "[S");
    class->counters = find_array(jni, defined, "COUNTERS", "[I");
    class->unheard = find_array(jni, defined, "UNHEARD", "[B");
    return class->off && class->muted && class->left && class->counters && class->unheard
               ? 0
               : -ENOTSUP;
}

static void set(JNIEnv *jni, jbyteArray array, uint32_t slot, jbyte value)
{
    if (slot < HOOK_SLOTS_MAX)
        (*jni)->SetByteArrayRegion(jni, array, (jsize)slot, 1, &value);
}

void hook_class__mute(const struct hook_class *class, JNIEnv *jni, uint32_t slot, uint16_t calls)
{
    const jshort count = (jshort)calls;

    if (slot < HOOK_SLOTS_MAX)
        (*jni)->SetShortArrayRegion(jni, class->left, (jsize)slot, 1, &count);
    set(jni, class->muted, slot, 1);
}

void hook_class__unmute(const struct hook_class *class, JNIEnv *jni, uint32_t slot)
{
    set(jni, class->muted, slot, 0);
}

void hook_class__hear_holds(const struct hook_class *class, JNIEnv *jni, bool heard)
{
    set(jni, class->unheard, 0, !heard);
}

void hook_class__hear_all_locks(const struct hook_class *class, JNIEnv *jni, bool heard)
{
    set(jni, class->unheard, 1, heard);
}

int hook_class__silent_left(const struct hook_class *class, JNIEnv *jni, uint32_t slot)
{
    jshort count = 0;

    if (slot < HOOK_SLOTS_MAX)
        (*jni)->GetShortArrayRegion(jni, class->left, (jsize)slot, 1, &count);
    return count;
}

void hook_class__read_silent(const struct hook_class *class, JNIEnv *jni, int16_t *to,
                             uint32_t first, uint32_t count)
{
    if (first <= HOOK_SLOTS_MAX && count <= HOOK_SLOTS_MAX - first)
        (*jni)->GetShortArrayRegion(jni, class->left, (jsize)first, (jsize)count, to);
}

void hook_class__set_counter(const struct hook_class *class, JNIEnv *jni, uint32_t slot,
                             int32_t counter)
{
    const jint number = counter;

    if (slot < HOOK_SLOTS_MAX)
        (*jni)->SetIntArrayRegion(jni, class->counters, (jsize)slot, 1, &number);
}

void hook_class__count_only(const struct hook_class *class, JNIEnv *jni, uint32_t slot)
{
    set(jni, class->off, slot, OFF_BUT_COUNTED);
}

void hook_class__turn_off(const struct hook_class *class, JNIEnv *jni, uint32_t slot)
{
    hook_class__set_counter(class, jni, slot, HOOK_NO_COUNTER);
    set(jni, class->off, slot, OFF);
}

/* Virtual threads have carriers. */
static const char *current_thread(JNIEnv *jni)
{
    jclass thread = (*jni)->FindClass(jni, "java/lang/Thread");
    jmethodID carrier = thread ? (*jni)->GetStaticMethodID(jni, thread, "currentCarrierThread",
                                                           "()Ljava/lang/Thread;")
                               : NULL;

    if ((*jni)->ExceptionCheck(jni))
        (*jni)->ExceptionClear(jni);
    return carrier ? "currentCarrierThread" : "currentThread";
}

int hook_class__define(struct hook_class *class, JNIEnv *jni,
                       const JNINativeMethod hooks[HOOK_COUNT], const struct bound_natives *more,
                       const struct thread_counters *counters)
{
    const struct writing writing = {counters, current_thread(jni)};
    struct linking linking = {define(jni, HOOK_CLASS, write_hooks, &writing), hooks, more,
                              .error = -1};
    int error = -ENOTSUP;

    if (linking.class)
        error = run_linker(jni, &linking);
    if (!error)
        error = find_arrays(class, jni, linking.class);
    if ((*jni)->ExceptionCheck(jni))
        (*jni)->ExceptionClear(jni);
    return error;
}

bool hook_class__is_ours(const char *class_name)
{
    return strcmp(class_name, HOOK_CLASS) == 0 || strcmp(class_name, LINKER_CLASS) == 0;
}
