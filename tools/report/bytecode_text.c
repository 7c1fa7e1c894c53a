#include "tools/report/bytecode_text.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* What stands behind an opcode. */
enum operands {
    NONE,
    NUMBER_1,   /* a signed byte */
    NUMBER_2,   /* a signed short */
    INDEX_1,    /* of a local variable or a constant */
    INDEX_2,    /* of a constant */
    TARGET_2,   /* a branch, from the instruction's begin */
    TARGET_4,   /* ditto, wide */
    INCREMENT,  /* of a local variable */
    INTERFACE,  /* a constant, a count and a zero */
    DYNAMIC,    /* a constant and two zeros */
    ARRAY_TYPE, /* newarray's */
    DIMENSIONS, /* a constant and a count */
    TABLE,      /* tableswitch */
    LOOKUP,     /* lookupswitch */
    WIDE,       /* wide: another opcode with wider operands */
};

static const struct opcode {
    const char *name;
    enum operands operands;
} opcodes[] = {
    {"nop", NONE},
    {"aconst_null", NONE},
    {"iconst_m1", NONE},
    {"iconst_0", NONE},
    {"iconst_1", NONE},
    {"iconst_2", NONE},
    {"iconst_3", NONE},
    {"iconst_4", NONE},
    {"iconst_5", NONE},
    {"lconst_0", NONE},
    {"lconst_1", NONE},
    {"fconst_0", NONE},
    {"fconst_1", NONE},
    {"fconst_2", NONE},
    {"dconst_0", NONE},
    {"dconst_1", NONE},
    {"bipush", NUMBER_1},
    {"sipush", NUMBER_2},
    {"ldc", INDEX_1},
    {"ldc_w", INDEX_2},
    {"ldc2_w", INDEX_2},
    {"iload", INDEX_1},
    {"lload", INDEX_1},
    {"fload", INDEX_1},
    {"dload", INDEX_1},
    {"aload", INDEX_1},
    {"iload_0", NONE},
    {"iload_1", NONE},
    {"iload_2", NONE},
    {"iload_3", NONE},
    {"lload_0", NONE},
    {"lload_1", NONE},
    {"lload_2", NONE},
    {"lload_3", NONE},
    {"fload_0", NONE},
    {"fload_1", NONE},
    {"fload_2", NONE},
    {"fload_3", NONE},
    {"dload_0", NONE},
    {"dload_1", NONE},
    {"dload_2", NONE},
    {"dload_3", NONE},
    {"aload_0", NONE},
    {"aload_1", NONE},
    {"aload_2", NONE},
    {"aload_3", NONE},
    {"iaload", NONE},
    {"laload", NONE},
    {"faload", NONE},
    {"daload", NONE},
    {"aaload", NONE},
    {"baload", NONE},
    {"caload", NONE},
    {"saload", NONE},
    {"istore", INDEX_1},
    {"lstore", INDEX_1},
    {"fstore", INDEX_1},
    {"dstore", INDEX_1},
    {"astore", INDEX_1},
    {"istore_0", NONE},
    {"istore_1", NONE},
    {"istore_2", NONE},
    {"istore_3", NONE},
    {"lstore_0", NONE},
    {"lstore_1", NONE},
    {"lstore_2", NONE},
    {"lstore_3", NONE},
    {"fstore_0", NONE},
    {"fstore_1", NONE},
    {"fstore_2", NONE},
    {"fstore_3", NONE},
    {"dstore_0", NONE},
    {"dstore_1", NONE},
    {"dstore_2", NONE},
    {"dstore_3", NONE},
    {"astore_0", NONE},
    {"astore_1", NONE},
    {"astore_2", NONE},
    {"astore_3", NONE},
    {"iastore", NONE},
    {"lastore", NONE},
    {"fastore", NONE},
    {"dastore", NONE},
    {"aastore", NONE},
    {"bastore", NONE},
    {"castore", NONE},
    {"sastore", NONE},
    {"pop", NONE},
    {"pop2", NONE},
    {"dup", NONE},
    {"dup_x1", NONE},
    {"dup_x2", NONE},
    {"dup2", NONE},
    {"dup2_x1", NONE},
    {"dup2_x2", NONE},
    {"swap", NONE},
    {"iadd", NONE},
    {"ladd", NONE},
    {"fadd", NONE},
    {"dadd", NONE},
    {"isub", NONE},
    {"lsub", NONE},
    {"fsub", NONE},
    {"dsub", NONE},
    {"imul", NONE},
    {"lmul", NONE},
    {"fmul", NONE},
    {"dmul", NONE},
    {"idiv", NONE},
    {"ldiv", NONE},
    {"fdiv", NONE},
    {"ddiv", NONE},
    {"irem", NONE},
    {"lrem", NONE},
    {"frem", NONE},
    {"drem", NONE},
    {"ineg", NONE},
    {"lneg", NONE},
    {"fneg", NONE},
    {"dneg", NONE},
    {"ishl", NONE},
    {"lshl", NONE},
    {"ishr", NONE},
    {"lshr", NONE},
    {"iushr", NONE},
    {"lushr", NONE},
    {"iand", NONE},
    {"land", NONE},
    {"ior", NONE},
    {"lor", NONE},
    {"ixor", NONE},
    {"lxor", NONE},
    {"iinc", INCREMENT},
    {"i2l", NONE},
    {"i2f", NONE},
    {"i2d", NONE},
    {"l2i", NONE},
    {"l2f", NONE},
    {"l2d", NONE},
    {"f2i", NONE},
    {"f2l", NONE},
    {"f2d", NONE},
    {"d2i", NONE},
    {"d2l", NONE},
    {"d2f", NONE},
    {"i2b", NONE},
    {"i2c", NONE},
    {"i2s", NONE},
    {"lcmp", NONE},
    {"fcmpl", NONE},
    {"fcmpg", NONE},
    {"dcmpl", NONE},
    {"dcmpg", NONE},
    {"ifeq", TARGET_2},
    {"ifne", TARGET_2},
    {"iflt", TARGET_2},
    {"ifge", TARGET_2},
    {"ifgt", TARGET_2},
    {"ifle", TARGET_2},
    {"if_icmpeq", TARGET_2},
    {"if_icmpne", TARGET_2},
    {"if_icmplt", TARGET_2},
    {"if_icmpge", TARGET_2},
    {"if_icmpgt", TARGET_2},
    {"if_icmple", TARGET_2},
    {"if_acmpeq", TARGET_2},
    {"if_acmpne", TARGET_2},
    {"goto", TARGET_2},
    {"jsr", TARGET_2},
    {"ret", INDEX_1},
    {"tableswitch", TABLE},
    {"lookupswitch", LOOKUP},
    {"ireturn", NONE},
    {"lreturn", NONE},
    {"freturn", NONE},
    {"dreturn", NONE},
    {"areturn", NONE},
    {"return", NONE},
    {"getstatic", INDEX_2},
    {"putstatic", INDEX_2},
    {"getfield", INDEX_2},
    {"putfield", INDEX_2},
    {"invokevirtual", INDEX_2},
    {"invokespecial", INDEX_2},
    {"invokestatic", INDEX_2},
    {"invokeinterface", INTERFACE},
    {"invokedynamic", DYNAMIC},
    {"new", INDEX_2},
    {"newarray", ARRAY_TYPE},
    {"anewarray", INDEX_2},
    {"arraylength", NONE},
    {"athrow", NONE},
    {"checkcast", INDEX_2},
    {"instanceof", INDEX_2},
    {"monitorenter", NONE},
    {"monitorexit", NONE},
    {"wide", WIDE},
    {"multianewarray", DIMENSIONS},
    {"ifnull", TARGET_2},
    {"ifnonnull", TARGET_2},
    {"goto_w", TARGET_4},
    {"jsr_w", TARGET_4},
};
#define OPCODE_COUNT (sizeof(opcodes) / sizeof(opcodes[0]))
#define OPCODE_IINC  0x84u

static int32_t signed_2(const unsigned char *bytes)
{
    return (int16_t)(bytes[0] << 8 | bytes[1]);
}

static int32_t signed_4(const unsigned char *bytes)
{
    return (int32_t)((uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 |
                     bytes[3]);
}

static unsigned index_2(const unsigned char *bytes)
{
    return (unsigned)bytes[0] << 8 | bytes[1];
}

/* Of the instructions of fixed length, the opcode included. */
static size_t fixed_length(enum operands operands)
{
    static const size_t lengths[] = {
        [NONE] = 1,      [NUMBER_1] = 2, [NUMBER_2] = 3,   [INDEX_1] = 2,
        [INDEX_2] = 3,   [TARGET_2] = 3, [TARGET_4] = 5,   [INCREMENT] = 3,
        [INTERFACE] = 5, [DYNAMIC] = 5,  [ARRAY_TYPE] = 2, [DIMENSIONS] = 4,
    };

    return lengths[operands];
}

static const char *array_type(unsigned type)
{
    static const char *const names[] = {"boolean", "char",  "float", "double",
                                        "byte",    "short", "int",   "long"};

    return type >= 4 && type < 12 ? names[type - 4] : "?";
}

/* How many bytes a switch takes, its default in *otherwise and its cases in *cases; 0 if it is cut
 * or makes no sense. */
static size_t switch_length(const unsigned char *bytes, size_t length, size_t at, bool table,
                            int32_t *otherwise, uint64_t *cases)
{
    size_t start = (at + 4) & ~(size_t)3;
    size_t head = table ? 12 : 8;

    if (start > length || length - start < head)
        return 0;
    *otherwise = signed_4(bytes + start);
    int64_t first = signed_4(bytes + start + 4);
    int64_t count = table ? signed_4(bytes + start + 8) - first + 1 : first;
    size_t each = table ? 4 : 8;
    if (count < 0 || (uint64_t)count > (length - start - head) / each)
        return 0;
    *cases = (uint64_t)count;
    return start + head + (size_t)count * each - at;
}

static size_t write_switch(const unsigned char *bytes, size_t length, size_t at, const char *name,
                           bool table, char text[BYTECODE_TEXT_BYTES])
{
    int32_t otherwise = 0;
    uint64_t cases = 0;
    size_t taken = switch_length(bytes, length, at, table, &otherwise, &cases);

    if (taken)
        snprintf(text, BYTECODE_TEXT_BYTES, "%s %" PRIu64 " cases, default %" PRId64, name, cases,
                 (int64_t)at + otherwise);
    return taken;
}

static size_t write_wide(const unsigned char *bytes, size_t length, size_t at,
                         char text[BYTECODE_TEXT_BYTES])
{
    size_t left = length - at;
    unsigned code = left > 1 ? bytes[at + 1] : 0;
    bool increment = code == OPCODE_IINC;

    if (left < (increment ? 6u : 4u) ||
        (!increment && opcodes[code < OPCODE_COUNT ? code : 0].operands != INDEX_1))
        return 0;
    if (increment)
        snprintf(text, BYTECODE_TEXT_BYTES, "wide iinc %u, %" PRId32, index_2(bytes + at + 2),
                 signed_2(bytes + at + 4));
    else
        snprintf(text, BYTECODE_TEXT_BYTES, "wide %s %u", opcodes[code].name,
                 index_2(bytes + at + 2));
    return increment ? 6 : 4;
}

static void write_fixed(const struct opcode *opcode, const unsigned char *operands, size_t at,
                        char text[BYTECODE_TEXT_BYTES])
{
    char numbers[64] = "";

    switch (opcode->operands) {
    case NUMBER_1:
        snprintf(numbers, sizeof(numbers), " %d", (signed char)operands[0]);
        break;
    case NUMBER_2:
        snprintf(numbers, sizeof(numbers), " %" PRId32, signed_2(operands));
        break;
    case INDEX_1:
        snprintf(numbers, sizeof(numbers), " %u", operands[0]);
        break;
    case INDEX_2:
    case INTERFACE:
    case DYNAMIC:
        snprintf(numbers, sizeof(numbers), " #%u", index_2(operands));
        break;
    case TARGET_2:
        snprintf(numbers, sizeof(numbers), " %" PRId64, (int64_t)at + signed_2(operands));
        break;
    case TARGET_4:
        snprintf(numbers, sizeof(numbers), " %" PRId64, (int64_t)at + signed_4(operands));
        break;
    case INCREMENT:
        snprintf(numbers, sizeof(numbers), " %u, %d", operands[0], (signed char)operands[1]);
        break;
    case ARRAY_TYPE:
        snprintf(numbers, sizeof(numbers), " %s", array_type(operands[0]));
        break;
    case DIMENSIONS:
        snprintf(numbers, sizeof(numbers), " #%u, %u", index_2(operands), operands[2]);
        break;
    default:
        break;
    }
    snprintf(text, BYTECODE_TEXT_BYTES, "%s%s", opcode->name, numbers);
}

size_t bytecode_text__instruction(const unsigned char *bytes, size_t length, size_t at,
                                  char text[BYTECODE_TEXT_BYTES])
{
    unsigned code = bytes[at];
    size_t taken = 0;

    if (code < OPCODE_COUNT) {
        const struct opcode *opcode = &opcodes[code];

        if (opcode->operands == TABLE || opcode->operands == LOOKUP) {
            taken = write_switch(bytes, length, at, opcode->name, opcode->operands == TABLE, text);
        } else if (opcode->operands == WIDE) {
            taken = write_wide(bytes, length, at, text);
        } else if (fixed_length(opcode->operands) <= length - at) {
            write_fixed(opcode, bytes + at + 1, at, text);
            taken = fixed_length(opcode->operands);
        }
    }
    if (taken)
        return taken;
    snprintf(text, BYTECODE_TEXT_BYTES, ".byte 0x%02x", code);
    return 1;
}
