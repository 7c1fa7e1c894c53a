#include "agent/methods/count_hooks.h"

#include "agent/classfile/bytecode.h"
#include "agent/methods/hook_class.h"
#include "agent/methods/hook_pool.h"
#include "agent/methods/made_class.h"

#define PLACE_SHIFT   OP_ICONST_4 /* struct counting_thread has 16 bytes, … */
#define BLOCK_OFFSET  8           /* … its block is the second field, … */
#define COUNTER_SHIFT OP_ICONST_3 /* … and a counter 8 bytes */
#define COUNTED_MASK  (HOOK_COUNTED_STEP - 1)

_Static_assert(sizeof(struct counting_thread) == 16, "shifted by 4");
_Static_assert(offsetof(struct counting_thread, block) == BLOCK_OFFSET, "the second field");

/* Variables: 0 slot, 1 counter, 2 tid, 4 place and at, 6 calls. */
static void add_count(struct class_writer *out)
{
    /* clang-format off */
    static const uint8_t code[] = {
        OP_GETSTATIC,     0, HOOKS_COUNTERS_FIELD,
        OP_ILOAD_0, OP_IALOAD, OP_ISTORE_1, OP_ILOAD_1,
        OP_IFGT,          0, 12, /* the tid */
        OP_ILOAD_1,
        OP_IFNE,          0, 7, /* the return */
        OP_ILOAD_0,
        OP_INVOKESTATIC,  0, HOOKS_FIRST_METHOD,
        OP_RETURN,

        OP_GETSTATIC,     0, HOOKS_UNSAFE_FIELD,
        OP_INVOKESTATIC,  0, HOOKS_CARRIER_METHOD,
        OP_GETSTATIC,     0, HOOKS_TID_FIELD,
        OP_INVOKEVIRTUAL, 0, HOOKS_GET_METHOD,
        OP_LSTORE_2,

        OP_GETSTATIC,     0, HOOKS_UNSAFE_FIELD,
        OP_ACONST_NULL, OP_LLOAD_2,
        OP_LDC2_W,        0, HOOKS_PLACES,
        OP_LAND, PLACE_SHIFT, OP_LSHL,
        OP_LDC2_W,        0, HOOKS_THREADS,
        OP_LADD, OP_DUP2,
        OP_LSTORE, 4,
        OP_INVOKEVIRTUAL, 0, HOOKS_GET_METHOD,
        OP_LLOAD_2, OP_LCMP,
        OP_IFNE,          0, 50, /* the shared counter */

        OP_GETSTATIC,     0, HOOKS_UNSAFE_FIELD,
        OP_ACONST_NULL,
        OP_LLOAD, 4,
        OP_BIPUSH, BLOCK_OFFSET, OP_I2L, OP_LADD,
        OP_INVOKEVIRTUAL, 0, HOOKS_GET_METHOD,
        OP_ILOAD_1, OP_I2L, COUNTER_SHIFT, OP_LSHL, OP_LADD,
        OP_LSTORE, 4,
        OP_GETSTATIC,     0, HOOKS_UNSAFE_FIELD,
        OP_ACONST_NULL,
        OP_LLOAD, 4,
        OP_INVOKEVIRTUAL, 0, HOOKS_GET_METHOD,
        OP_LCONST_1, OP_LADD,
        OP_LSTORE, 6,
        OP_GETSTATIC,     0, HOOKS_UNSAFE_FIELD,
        OP_ACONST_NULL,
        OP_LLOAD, 4, OP_LLOAD, 6,
        OP_INVOKEVIRTUAL, 0, HOOKS_PUT_METHOD,
        OP_GOTO,          0, 21, /* the step */

        OP_GETSTATIC,     0, HOOKS_UNSAFE_FIELD,
        OP_ACONST_NULL,
        OP_LDC2_W,        0, HOOKS_SHARED,
        OP_ILOAD_1, OP_I2L, COUNTER_SHIFT, OP_LSHL, OP_LADD,
        OP_LCONST_1,
        OP_INVOKEVIRTUAL, 0, HOOKS_ADD_METHOD,
        OP_LSTORE, 6,

        OP_LLOAD, 6, OP_L2I,
        OP_SIPUSH, COUNTED_MASK >> 8, COUNTED_MASK & 0xff, OP_IAND,
        OP_IFNE,          0, 8, /* the end */
        OP_ILOAD_0, OP_LLOAD_2,
        OP_INVOKESTATIC,  0, HOOKS_COUNTED_METHOD,
        OP_RETURN,
    };
    /* clang-format on */
    const struct method_text count = {ACC_STATIC, HOOKS_COUNT_CALL, HOOKS_SILENT_TYPE, 7, 8,
                                      code,       sizeof(code)};

    made_class__add_method(out, &count, HOOKS_DONT_INLINE);
}

/* if (OFF[slot] != 1) count(slot); */
static void add_called(struct class_writer *out)
{
    /* clang-format off */
    static const uint8_t code[] = {
        OP_GETSTATIC,    0, HOOKS_OFF_FIELD,
        OP_ILOAD_0, OP_BALOAD, OP_ICONST_1,
        OP_IF_ICMPEQ,    0, 7, /* the end */
        OP_ILOAD_0,
        OP_INVOKESTATIC, 0, HOOKS_COUNT_METHOD,
        OP_RETURN,
    };
    /* clang-format on */
    const struct method_text called = {ACC_PUBLIC | ACC_STATIC,
                                       HOOKS_CALLED,
                                       HOOKS_SILENT_TYPE,
                                       STACK_NOT_FOR_C1,
                                       1,
                                       code,
                                       sizeof(code)};

    made_class__add_method(out, &called, 0);
}

static void add_class(struct class_writer *out, uint32_t name)
{
    class_writer__u1(out, CONSTANT_CLASS);
    class_writer__u2(out, name);
}

static void add_long(struct class_writer *out, uint64_t value)
{
    class_writer__u1(out, CONSTANT_LONG);
    class_writer__u4(out, (uint32_t)(value >> 32));
    class_writer__u4(out, (uint32_t)value);
}

void count_hooks__write_pool(struct class_writer *out, const struct thread_counters *counters)
{
    made_class__add_pair(out, CONSTANT_NAME_AND_TYPE, HOOKS_COUNTERS, HOOKS_INTS_TYPE);
    made_class__add_pair(out, CONSTANT_FIELD, POOL_THIS, HOOKS_COUNTERS_AND_TYPE);
    made_class__add_pair(out, CONSTANT_NAME_AND_TYPE, HOOKS_TID, HOOKS_LONG_TYPE);
    made_class__add_pair(out, CONSTANT_FIELD, POOL_THIS, HOOKS_TID_AND_TYPE);
    made_class__add_pair(out, CONSTANT_NAME_AND_TYPE, HOOKS_COUNT_CALL, HOOKS_SILENT_TYPE);
    made_class__add_pair(out, CONSTANT_METHOD, POOL_THIS, HOOKS_COUNT_AND_TYPE);
    made_class__add_pair(out, CONSTANT_NAME_AND_TYPE, HOOKS_FIRST, HOOKS_SILENT_TYPE);
    made_class__add_pair(out, CONSTANT_METHOD, POOL_THIS, HOOKS_FIRST_AND_TYPE);
    made_class__add_pair(out, CONSTANT_NAME_AND_TYPE, HOOKS_COUNTED, HOOKS_COUNTED_TYPE);
    made_class__add_pair(out, CONSTANT_METHOD, POOL_THIS, HOOKS_COUNTED_AND_TYPE);
    add_class(out, HOOKS_THREAD_NAME);
    made_class__add_pair(out, CONSTANT_NAME_AND_TYPE, HOOKS_CARRIER, HOOKS_CARRIER_TYPE);
    made_class__add_pair(out, CONSTANT_METHOD, HOOKS_THREAD_CLASS, HOOKS_CARRIER_AND_TYPE);
    add_class(out, HOOKS_UNSAFE_NAME);
    made_class__add_pair(out, CONSTANT_NAME_AND_TYPE, HOOKS_GET_UNSAFE, HOOKS_GET_UNSAFE_TYPE);
    made_class__add_pair(out, CONSTANT_METHOD, HOOKS_UNSAFE_CLASS, HOOKS_GET_UNSAFE_AND_TYPE);
    made_class__add_pair(out, CONSTANT_NAME_AND_TYPE, HOOKS_UNSAFE, HOOKS_UNSAFE_TYPE);
    made_class__add_pair(out, CONSTANT_FIELD, POOL_THIS, HOOKS_UNSAFE_AND_TYPE);
    made_class__add_pair(out, CONSTANT_NAME_AND_TYPE, HOOKS_ADD, HOOKS_ADD_TYPE);
    made_class__add_pair(out, CONSTANT_METHOD, HOOKS_UNSAFE_CLASS, HOOKS_ADD_AND_TYPE);
    made_class__add_pair(out, CONSTANT_NAME_AND_TYPE, HOOKS_GET, HOOKS_GET_TYPE);
    made_class__add_pair(out, CONSTANT_METHOD, HOOKS_UNSAFE_CLASS, HOOKS_GET_AND_TYPE);
    made_class__add_pair(out, CONSTANT_NAME_AND_TYPE, HOOKS_PUT, HOOKS_PUT_TYPE);
    made_class__add_pair(out, CONSTANT_METHOD, HOOKS_UNSAFE_CLASS, HOOKS_PUT_AND_TYPE);
    made_class__add_pair(out, CONSTANT_NAME_AND_TYPE, HOOKS_OFFSET, HOOKS_OFFSET_TYPE);
    made_class__add_pair(out, CONSTANT_METHOD, HOOKS_UNSAFE_CLASS, HOOKS_OFFSET_AND_TYPE);
    class_writer__u1(out, CONSTANT_STRING);
    class_writer__u2(out, HOOKS_TID_FIELD_NAME);
    add_long(out, THREAD_COUNTERS_PLACES - 1);
    add_long(out, (uint64_t)(uintptr_t)counters->threads);
    add_long(out, (uint64_t)(uintptr_t)counters->blocks);
}

void count_hooks__write_methods(struct class_writer *out)
{
    made_class__add_native(out, HOOKS_FIRST, HOOKS_SILENT_TYPE);
    made_class__add_native(out, HOOKS_COUNTED, HOOKS_COUNTED_TYPE);
    add_count(out);
    add_called(out);
}
