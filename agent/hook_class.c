#include "agent/hook_class.h"

#include "agent/class_file.h"
#include "agent/constant_pool.h"

#include <errno.h>
#include <string.h>

#define LINKER_CLASS "treadle/Linker"

#define CLASS_VERSION 52u
#define ACC_PUBLIC    0x0001u
#define ACC_STATIC    0x0008u
#define ACC_SUPER     0x0020u
#define ACC_NATIVE    0x0100u
#define ACC_SYNTHETIC 0x1000u

/* Indices in the constant pools: what both classes have, and what is each one's own. */
enum {
    POOL_THIS = 2,
    POOL_OBJECT = 4,
    HOOKS_ENTER = 5,
    HOOKS_ENTER_TYPE,
    HOOKS_LEAVE,
    HOOKS_LEAVE_TYPE,
    HOOKS_CAUGHT,
    HOOKS_STARTING,
    HOOKS_THREAD_TYPE,
    HOOKS_PINNED,
    LINKER_RUN = 5,
    LINKER_TYPE,
    LINKER_LINK,
    LINKER_LINK_AND_TYPE,
    LINKER_LINK_METHOD,
    LINKER_CODE,
};

/* What the linker's native method is to bind; only while hook_class__define runs. */
static struct {
    jclass class;
    const JNINativeMethod *hooks;
    const struct bound_natives *more;
    jint error;
} linking;

static void add_text(struct class_writer *out, const char *text)
{
    class_writer__u1(out, CONSTANT_UTF8);
    class_writer__u2(out, (uint32_t)strlen(text));
    class_writer__copy(out, (const uint8_t *)text, strlen(text));
}

static void add_pair(struct class_writer *out, enum constant_tag tag, uint32_t first,
                     uint32_t second)
{
    class_writer__u1(out, tag);
    class_writer__u2(out, first);
    class_writer__u2(out, second);
}

/* Up to and with the pool entries that both have. */
static void begin_class(struct class_writer *out, const char *name, uint32_t pool_count)
{
    class_writer__u4(out, 0xcafebabe);
    class_writer__u4(out, CLASS_VERSION);
    class_writer__u2(out, pool_count);
    add_text(out, name);
    class_writer__u1(out, CONSTANT_CLASS);
    class_writer__u2(out, POOL_THIS - 1);
    add_text(out, "java/lang/Object");
    class_writer__u1(out, CONSTANT_CLASS);
    class_writer__u2(out, POOL_OBJECT - 1);
}

/* From behind the pool to the methods. */
static void begin_methods(struct class_writer *out, uint32_t count)
{
    class_writer__u2(out, ACC_PUBLIC | ACC_SUPER | ACC_SYNTHETIC);
    class_writer__u2(out, POOL_THIS);
    class_writer__u2(out, POOL_OBJECT);
    class_writer__u4(out, 0); /* no interfaces, no fields */
    class_writer__u2(out, count);
}

static void add_native(struct class_writer *out, uint32_t name, uint32_t type)
{
    class_writer__u2(out, ACC_PUBLIC | ACC_STATIC | ACC_NATIVE);
    class_writer__u2(out, name);
    class_writer__u2(out, type);
    class_writer__u2(out, 0);
}

static void write_hooks(struct class_writer *out)
{
    begin_class(out, HOOK_CLASS, HOOKS_PINNED + 1);
    add_text(out, "enter");
    add_text(out, "(I)J");
    add_text(out, "leave");
    add_text(out, "(J)V");
    add_text(out, "caught");
    add_text(out, "starting");
    add_text(out, "(Ljava/lang/Object;)V");
    add_text(out, "pinned");
    begin_methods(out, HOOK_COUNT);
    add_native(out, HOOKS_ENTER, HOOKS_ENTER_TYPE);
    add_native(out, HOOKS_LEAVE, HOOKS_LEAVE_TYPE);
    add_native(out, HOOKS_CAUGHT, HOOKS_LEAVE_TYPE);
    add_native(out, HOOKS_STARTING, HOOKS_THREAD_TYPE);
    add_native(out, HOOKS_PINNED, HOOKS_THREAD_TYPE);
    class_writer__u2(out, 0);
}

/* public static void run() { link(); }   public static native void link(); */
static void write_linker(struct class_writer *out)
{
    begin_class(out, LINKER_CLASS, LINKER_CODE + 1);
    add_text(out, "run");
    add_text(out, "()V");
    add_text(out, "link");
    add_pair(out, CONSTANT_NAME_AND_TYPE, LINKER_LINK, LINKER_TYPE);
    add_pair(out, CONSTANT_METHOD, POOL_THIS, LINKER_LINK_AND_TYPE);
    add_text(out, "Code");
    begin_methods(out, 2);
    add_native(out, LINKER_LINK, LINKER_TYPE);
    class_writer__u2(out, ACC_PUBLIC | ACC_STATIC);
    class_writer__u2(out, LINKER_RUN);
    class_writer__u2(out, LINKER_TYPE);
    class_writer__u2(out, 1);
    class_writer__u2(out, LINKER_CODE);
    class_writer__u4(out, 16);
    class_writer__u4(out, 0); /* no stack, no locals */
    class_writer__u4(out, 4);
    class_writer__u1(out, 0xb8); /* invokestatic */
    class_writer__u2(out, LINKER_LINK_METHOD);
    class_writer__u1(out, 0xb1); /* return */
    class_writer__u4(out, 0);    /* no handlers, no attributes */
    class_writer__u2(out, 0);
}

static jclass define(JNIEnv *jni, const char *name, void (*write)(struct class_writer *out))
{
    struct class_writer out = {0};
    jclass class = NULL;

    write(&out);
    if (!out.failed)
        class = (*jni)->DefineClass(jni, name, NULL, (const jbyte *)out.bytes, (jsize)out.length);
    class_writer__close(&out);
    return class;
}

/* The JVM warns of natives that are bound in the JDK's own classes, unless the caller is one of the
 * boot loader's classes: so this is called by one. */
static void JNICALL link(JNIEnv *jni, jclass linker)
{
    (void)linker;
    linking.error = (*jni)->RegisterNatives(jni, linking.class, linking.hooks, HOOK_COUNT);
    if (!linking.error && linking.more)
        linking.error = (*jni)->RegisterNatives(jni, linking.more->class, linking.more->methods,
                                                linking.more->count);
}

static int run_linker(JNIEnv *jni)
{
    JNINativeMethod link_method = {.name = "link", .signature = "()V"};
    jclass linker = define(jni, LINKER_CLASS, write_linker);
    jmethodID run = NULL;
    jint error = -1;

    link_method.fnPtr = (void *)(uintptr_t)link;
    if (linker)
        error = (*jni)->RegisterNatives(jni, linker, &link_method, 1);
    if (!error)
        run = (*jni)->GetStaticMethodID(jni, linker, "run", "()V");
    if (!run)
        return -ENOTSUP;
    linking.error = -1;
    (*jni)->CallStaticVoidMethod(jni, linker, run);
    return linking.error ? -ENOTSUP : 0;
}

int hook_class__define(JNIEnv *jni, const JNINativeMethod hooks[HOOK_COUNT],
                       const struct bound_natives *more)
{
    int error = -ENOTSUP;

    linking.class = define(jni, HOOK_CLASS, write_hooks);
    linking.hooks = hooks;
    linking.more = more;
    if (linking.class)
        error = run_linker(jni);
    if ((*jni)->ExceptionCheck(jni))
        (*jni)->ExceptionClear(jni);
    linking.class = NULL;
    return error;
}

bool hook_class__is_ours(const char *class_name)
{
    return strcmp(class_name, HOOK_CLASS) == 0 || strcmp(class_name, LINKER_CLASS) == 0;
}
