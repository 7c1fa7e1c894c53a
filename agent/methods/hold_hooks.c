#include "agent/methods/hold_hooks.h"

#include "agent/classfile/bytecode.h"
#include "agent/methods/hook_pool.h"
#include "agent/methods/made_class.h"

/* if (UNHEARD[0] == 0) entered(); and so on. */
static void add_hold_hook(struct class_writer *out, uint32_t name, uint8_t native_method)
{
    const uint8_t code[] = {
        OP_GETSTATIC,    0, HOOKS_UNHEARD_FIELD, OP_ICONST_0, OP_BALOAD, OP_IFNE, 0, 6,
        OP_INVOKESTATIC, 0, native_method,       OP_RETURN,
    };
    const struct method_text hook = {
        ACC_PUBLIC | ACC_STATIC, (uint16_t)name, POOL_RUN_TYPE, 2, 0, code, sizeof(code)};

    made_class__add_method(out, &hook, HOOKS_FORCE_INLINE);
}

/* if (UNHEARD[0] == 0 && (UNHEARD[1] != 0 || (lock instanceof AbstractQueuedSynchronizer ? … : …)))
 *     owned(lock); */
static void add_owning(struct class_writer *out)
{
    /* clang-format off */
    static const uint8_t code[] = {
        OP_GETSTATIC,                 0, HOOKS_UNHEARD_FIELD,
        OP_ICONST_0, OP_BALOAD,
        OP_IFNE,                      0, 52, /* the end */
        OP_GETSTATIC,                 0, HOOKS_UNHEARD_FIELD,
        OP_ICONST_1, OP_BALOAD,
        OP_IFNE,                      0, 40, /* the call */
        OP_ALOAD_0, OP_INSTANCEOF,    0, HOOKS_LOCK_CLASS,
        OP_IFEQ,                      0, 16, /* the second alternative */
        OP_ALOAD_0, OP_CHECKCAST,     0, HOOKS_LOCK_CLASS,
        OP_INVOKEVIRTUAL,             0, HOOKS_CONTENDED_METHOD,
        OP_IFEQ,                      0, 27, /* the end */
        OP_GOTO,                      0, 20, /* the call */
        OP_ALOAD_0, OP_INSTANCEOF,    0, HOOKS_LONG_LOCK_CLASS,
        OP_IFEQ,                      0, 17, /* the end */
        OP_ALOAD_0, OP_CHECKCAST,     0, HOOKS_LONG_LOCK_CLASS,
        OP_INVOKEVIRTUAL,             0, HOOKS_LONG_CONTENDED_METHOD,
        OP_IFEQ,                      0, 7, /* the end */
        OP_ALOAD_0, OP_INVOKESTATIC,  0, HOOKS_OWNED_METHOD,
        OP_RETURN,
    };
    /* clang-format on */
    const struct method_text owning = {
        ACC_PUBLIC | ACC_STATIC, HOOKS_OWNING, HOOKS_OBJECT_TYPE, 2, 1, code, sizeof(code)};

    made_class__add_method(out, &owning, HOOKS_FORCE_INLINE);
}

/* The same for locks that are shared; nobody but the lock itself knows whether a StampedLock was
 * contended. */
static void add_sharing(struct class_writer *out)
{
    /* clang-format off */
    static const uint8_t code[] = {
        OP_GETSTATIC,                 0, HOOKS_UNHEARD_FIELD,
        OP_ICONST_0, OP_BALOAD,
        OP_IFNE,                      0, 51, /* the end */
        OP_ILOAD_0,
        OP_IFLT,                      0, 47, /* the end */
        OP_ALOAD_1, OP_INSTANCEOF,    0, HOOKS_LOCK_CLASS,
        OP_IFEQ,                      0, 16, /* the second alternative */
        OP_ALOAD_1, OP_CHECKCAST,     0, HOOKS_LOCK_CLASS,
        OP_INVOKEVIRTUAL,             0, HOOKS_CONTENDED_METHOD,
        OP_IFEQ,                      0, 30, /* the end */
        OP_GOTO,                      0, 20, /* the call */
        OP_ALOAD_1, OP_INSTANCEOF,    0, HOOKS_LONG_LOCK_CLASS,
        OP_IFEQ,                      0, 13, /* the call */
        OP_ALOAD_1, OP_CHECKCAST,     0, HOOKS_LONG_LOCK_CLASS,
        OP_INVOKEVIRTUAL,             0, HOOKS_LONG_CONTENDED_METHOD,
        OP_IFEQ,                      0, 10, /* the end */
        OP_ILOAD_0, OP_ALOAD_1, OP_ILOAD_2, OP_ILOAD_3,
        OP_INVOKESTATIC,              0, HOOKS_SHARED_METHOD,
        OP_RETURN,
    };
    /* clang-format on */
    const struct method_text sharing = {
        ACC_PUBLIC | ACC_STATIC, HOOKS_SHARING, HOOKS_SHARING_TYPE, 4, 4, code, sizeof(code)};

    made_class__add_method(out, &sharing, HOOKS_FORCE_INLINE);
}

void hold_hooks__write_pool(struct class_writer *out)
{
    class_writer__u1(out, CONSTANT_CLASS);
    class_writer__u2(out, HOOKS_LOCK_NAME);
    class_writer__u1(out, CONSTANT_CLASS);
    class_writer__u2(out, HOOKS_LONG_LOCK_NAME);
    made_class__add_pair(out, CONSTANT_NAME_AND_TYPE, HOOKS_CONTENDED, HOOKS_CONTENDED_TYPE);
    made_class__add_pair(out, CONSTANT_METHOD, HOOKS_LOCK_CLASS, HOOKS_CONTENDED_AND_TYPE);
    made_class__add_pair(out, CONSTANT_METHOD, HOOKS_LONG_LOCK_CLASS, HOOKS_CONTENDED_AND_TYPE);
    made_class__add_pair(out, CONSTANT_NAME_AND_TYPE, HOOKS_OWNED, HOOKS_OBJECT_TYPE);
    made_class__add_pair(out, CONSTANT_METHOD, POOL_THIS, HOOKS_OWNED_AND_TYPE);
    made_class__add_pair(out, CONSTANT_NAME_AND_TYPE, HOOKS_UNHEARD, HOOKS_BYTES_TYPE);
    made_class__add_pair(out, CONSTANT_FIELD, POOL_THIS, HOOKS_UNHEARD_AND_TYPE);
    made_class__add_pair(out, CONSTANT_NAME_AND_TYPE, HOOKS_ENTERED, POOL_RUN_TYPE);
    made_class__add_pair(out, CONSTANT_METHOD, POOL_THIS, HOOKS_ENTERED_AND_TYPE);
    made_class__add_pair(out, CONSTANT_NAME_AND_TYPE, HOOKS_EXITED, POOL_RUN_TYPE);
    made_class__add_pair(out, CONSTANT_METHOD, POOL_THIS, HOOKS_EXITED_AND_TYPE);
    made_class__add_pair(out, CONSTANT_NAME_AND_TYPE, HOOKS_EXITING, POOL_RUN_TYPE);
    made_class__add_pair(out, CONSTANT_METHOD, POOL_THIS, HOOKS_EXITING_AND_TYPE);
    made_class__add_pair(out, CONSTANT_NAME_AND_TYPE, HOOKS_SHARED_NAME, HOOKS_SHARING_TYPE);
    made_class__add_pair(out, CONSTANT_METHOD, POOL_THIS, HOOKS_SHARED_AND_TYPE);
}

void hold_hooks__write_methods(struct class_writer *out)
{
    made_class__add_native(out, HOOKS_ENTERED, POOL_RUN_TYPE);
    made_class__add_native(out, HOOKS_EXITED, POOL_RUN_TYPE);
    made_class__add_native(out, HOOKS_EXITING, POOL_RUN_TYPE);
    made_class__add_native(out, HOOKS_OWNED, HOOKS_OBJECT_TYPE);
    add_hold_hook(out, HOOKS_ACQUIRED, HOOKS_ENTERED_METHOD);
    add_hold_hook(out, HOOKS_RELEASED, HOOKS_EXITED_METHOD);
    add_hold_hook(out, HOOKS_RELEASING, HOOKS_EXITING_METHOD);
    add_owning(out);
    made_class__add_native(out, HOOKS_SHARED_NAME, HOOKS_SHARING_TYPE);
    add_sharing(out);
}
