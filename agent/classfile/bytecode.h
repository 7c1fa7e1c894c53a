/*
 * The instruction set (JVMS chapter 6): lengths, control flow, effects on the operand stack. Pure
 * functions over code bytes. The other functions may be called for an instruction once
 * bytecode__length has found it complete.
 */
#ifndef TREADLE_BYTECODE_H
#define TREADLE_BYTECODE_H

#include <stdbool.h>
#include <stdint.h>

enum bytecode_kind {
    BYTECODE_INVALID,
    BYTECODE_PLAIN,       /* no property but the stack effect */
    BYTECODE_LOAD,        /* aload: a reference from a local variable */
    BYTECODE_STORE,       /* any type */
    BYTECODE_SHUFFLE,     /* dup… and swap */
    BYTECODE_CONDITIONAL, /* jumps or falls through */
    BYTECODE_GOTO,
    BYTECODE_JSR,
    BYTECODE_RET,
    BYTECODE_SWITCH,
    BYTECODE_RETURN,
    BYTECODE_THROW,
    BYTECODE_FIELD,
    BYTECODE_INVOKE,
    BYTECODE_MULTI_ARRAY,
    BYTECODE_WIDE,
};

enum opcode {
    OP_NOP = 0x00,
    OP_ACONST_NULL = 0x01,
    OP_ICONST_M1 = 0x02,
    OP_ICONST_0 = 0x03,
    OP_ICONST_1 = 0x04,
    OP_ICONST_2 = 0x05,
    OP_ICONST_3 = 0x06,
    OP_ICONST_4 = 0x07,
    OP_LCONST_0 = 0x09,
    OP_LCONST_1 = 0x0a,
    OP_BIPUSH = 0x10,
    OP_SIPUSH = 0x11,
    OP_LDC = 0x12,
    OP_LDC_W = 0x13,
    OP_LDC2_W = 0x14,
    OP_LLOAD = 0x16,
    OP_ALOAD = 0x19,
    OP_ILOAD_0 = 0x1a,
    OP_ILOAD_1 = 0x1b,
    OP_ILOAD_2 = 0x1c,
    OP_ILOAD_3 = 0x1d,
    OP_LLOAD_0 = 0x1e,
    OP_LLOAD_1 = 0x1f,
    OP_LLOAD_2 = 0x20,
    OP_ALOAD_0 = 0x2a,
    OP_ALOAD_1 = 0x2b,
    OP_IALOAD = 0x2e,
    OP_BALOAD = 0x33,
    OP_SALOAD = 0x35,
    OP_ISTORE = 0x36,
    OP_LSTORE = 0x37,
    OP_DSTORE = 0x39,
    OP_ASTORE = 0x3a,
    OP_ISTORE_0 = 0x3b,
    OP_ISTORE_1 = 0x3c,
    OP_LSTORE_0 = 0x3f,
    OP_LSTORE_2 = 0x41,
    OP_ASTORE_3 = 0x4e,
    OP_SASTORE = 0x56,
    OP_POP2 = 0x58,
    OP_DUP = 0x59,
    OP_DUP_X2 = 0x5b,
    OP_DUP2 = 0x5c,
    OP_SWAP = 0x5f,
    OP_IINC = 0x84,
    OP_LADD = 0x61,
    OP_ISUB = 0x64,
    OP_LSHL = 0x79,
    OP_IAND = 0x7e,
    OP_LAND = 0x7f,
    OP_I2L = 0x85,
    OP_L2I = 0x88,
    OP_I2S = 0x93,
    OP_LCMP = 0x94,
    OP_IFEQ = 0x99,
    OP_IFNE = 0x9a,
    OP_IFLT = 0x9b,
    OP_IFGT = 0x9d,
    OP_IF_ICMPEQ = 0x9f,
    OP_IF_ACMPNE = 0xa6,
    OP_GOTO = 0xa7,
    OP_JSR = 0xa8,
    OP_RET = 0xa9,
    OP_TABLESWITCH = 0xaa,
    OP_LOOKUPSWITCH = 0xab,
    OP_LRETURN = 0xad,
    OP_RETURN = 0xb1,
    OP_GETSTATIC = 0xb2,
    OP_PUTSTATIC = 0xb3,
    OP_GETFIELD = 0xb4,
    OP_PUTFIELD = 0xb5,
    OP_INVOKEVIRTUAL = 0xb6,
    OP_INVOKESPECIAL = 0xb7,
    OP_INVOKESTATIC = 0xb8,
    OP_INVOKEDYNAMIC = 0xba,
    OP_NEW = 0xbb,
    OP_NEWARRAY = 0xbc,
    OP_ANEWARRAY = 0xbd,
    OP_ATHROW = 0xbf,
    OP_CHECKCAST = 0xc0,
    OP_INSTANCEOF = 0xc1,
    OP_MONITORENTER = 0xc2,
    OP_MONITOREXIT = 0xc3,
    OP_WIDE = 0xc4,
    OP_IFNULL = 0xc6,
    OP_GOTO_W = 0xc8,
    OP_JSR_W = 0xc9,
};

#define ARRAY_OF_BYTES  8u /* operands of newarray */
#define ARRAY_OF_SHORTS 9u
#define ARRAY_OF_INTS   10u

struct bytecode {
    uint8_t length; /* 0: depends on the operands */
    uint8_t kind;   /* enum bytecode_kind */
    uint8_t pops;   /* operand stack slots, where they do not depend on the constant pool */
    uint8_t pushes;
};

/* Never NULL. The kind is BYTECODE_INVALID for opcodes that no class file may contain. */
const struct bytecode *bytecode__of(uint8_t opcode);

/* Bytes of the instruction at pc; 0 if there is none or if it does not end before `end`. */
uint32_t bytecode__length(const uint8_t *code, uint32_t end, uint32_t pc);

/* Jump targets as absolute offsets that may lie anywhere; a switch's first one is its default. */
uint32_t bytecode__target_count(const uint8_t *code, uint32_t pc);
int64_t bytecode__target(const uint8_t *code, uint32_t pc, uint32_t which);

/* True if the instruction at `at` is in a loop: between a jump back and its target. */
bool bytecode__is_in_loop(const uint8_t *code, uint32_t length, uint32_t at);

/* Offset of a switch's first operand behind its padding, for an instruction at pc. */
static inline uint32_t bytecode__switch_operands(uint32_t pc)
{
    return (pc & ~3u) + 4;
}

/* True if control can fall through to the next instruction. */
bool bytecode__goes_on(uint8_t opcode);

/* The conditional jump with the opposite condition. */
uint8_t bytecode__inverse(uint8_t opcode);

#endif
