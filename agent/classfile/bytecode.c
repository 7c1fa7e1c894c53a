#include "agent/classfile/bytecode.h"

#include "agent/classfile/class_file.h"

#define PLAIN(length, pops, pushes)                                                                \
    {                                                                                              \
        length, BYTECODE_PLAIN, pops, pushes                                                       \
    }

static const struct bytecode bytecodes[256] = {
    [0x00] = PLAIN(1, 0, 0),                           /* nop */
    [0x01 ... 0x08] = PLAIN(1, 0, 1),                  /* aconst_null, iconst_m1 … iconst_5 */
    [0x09 ... 0x0a] = PLAIN(1, 0, 2),                  /* lconst */
    [0x0b ... 0x0d] = PLAIN(1, 0, 1),                  /* fconst */
    [0x0e ... 0x0f] = PLAIN(1, 0, 2),                  /* dconst */
    [0x10] = PLAIN(2, 0, 1),                           /* bipush */
    [0x11] = PLAIN(3, 0, 1),                           /* sipush */
    [0x12] = PLAIN(2, 0, 1),                           /* ldc */
    [0x13] = PLAIN(3, 0, 1),                           /* ldc_w */
    [0x14] = PLAIN(3, 0, 2),                           /* ldc2_w */
    [0x15] = PLAIN(2, 0, 1),                           /* iload */
    [0x16] = PLAIN(2, 0, 2),                           /* lload */
    [0x17] = PLAIN(2, 0, 1),                           /* fload */
    [0x18] = PLAIN(2, 0, 2),                           /* dload */
    [0x19] = {2, BYTECODE_LOAD, 0, 1},                 /* aload */
    [0x1a ... 0x1d] = PLAIN(1, 0, 1),                  /* iload_0 … */
    [0x1e ... 0x21] = PLAIN(1, 0, 2),                  /* lload_0 … */
    [0x22 ... 0x25] = PLAIN(1, 0, 1),                  /* fload_0 … */
    [0x26 ... 0x29] = PLAIN(1, 0, 2),                  /* dload_0 … */
    [0x2a ... 0x2d] = {1, BYTECODE_LOAD, 0, 1},        /* aload_0 … */
    [0x2e] = PLAIN(1, 2, 1),                           /* iaload */
    [0x2f] = PLAIN(1, 2, 2),                           /* laload */
    [0x30] = PLAIN(1, 2, 1),                           /* faload */
    [0x31] = PLAIN(1, 2, 2),                           /* daload */
    [0x32 ... 0x35] = PLAIN(1, 2, 1),                  /* aaload, baload, caload, saload */
    [0x36] = {2, BYTECODE_STORE, 1, 0},                /* istore */
    [0x37] = {2, BYTECODE_STORE, 2, 0},                /* lstore */
    [0x38] = {2, BYTECODE_STORE, 1, 0},                /* fstore */
    [0x39] = {2, BYTECODE_STORE, 2, 0},                /* dstore */
    [0x3a] = {2, BYTECODE_STORE, 1, 0},                /* astore */
    [0x3b ... 0x3e] = {1, BYTECODE_STORE, 1, 0},       /* istore_0 … */
    [0x3f ... 0x42] = {1, BYTECODE_STORE, 2, 0},       /* lstore_0 … */
    [0x43 ... 0x46] = {1, BYTECODE_STORE, 1, 0},       /* fstore_0 … */
    [0x47 ... 0x4a] = {1, BYTECODE_STORE, 2, 0},       /* dstore_0 … */
    [0x4b ... 0x4e] = {1, BYTECODE_STORE, 1, 0},       /* astore_0 … */
    [0x4f] = PLAIN(1, 3, 0),                           /* iastore */
    [0x50] = PLAIN(1, 4, 0),                           /* lastore */
    [0x51] = PLAIN(1, 3, 0),                           /* fastore */
    [0x52] = PLAIN(1, 4, 0),                           /* dastore */
    [0x53 ... 0x56] = PLAIN(1, 3, 0),                  /* aastore, bastore, castore, sastore */
    [0x57] = PLAIN(1, 1, 0),                           /* pop */
    [0x58] = PLAIN(1, 2, 0),                           /* pop2 */
    [0x59] = {1, BYTECODE_SHUFFLE, 1, 2},              /* dup */
    [0x5a] = {1, BYTECODE_SHUFFLE, 2, 3},              /* dup_x1 */
    [0x5b] = {1, BYTECODE_SHUFFLE, 3, 4},              /* dup_x2 */
    [0x5c] = {1, BYTECODE_SHUFFLE, 2, 4},              /* dup2 */
    [0x5d] = {1, BYTECODE_SHUFFLE, 3, 5},              /* dup2_x1 */
    [0x5e] = {1, BYTECODE_SHUFFLE, 4, 6},              /* dup2_x2 */
    [0x5f] = {1, BYTECODE_SHUFFLE, 2, 2},              /* swap */
    [0x60] = PLAIN(1, 2, 1),                           /* iadd */
    [0x61] = PLAIN(1, 4, 2),                           /* ladd */
    [0x62] = PLAIN(1, 2, 1),                           /* fadd */
    [0x63] = PLAIN(1, 4, 2),                           /* dadd */
    [0x64] = PLAIN(1, 2, 1),                           /* isub */
    [0x65] = PLAIN(1, 4, 2),                           /* lsub */
    [0x66] = PLAIN(1, 2, 1),                           /* fsub */
    [0x67] = PLAIN(1, 4, 2),                           /* dsub */
    [0x68] = PLAIN(1, 2, 1),                           /* imul */
    [0x69] = PLAIN(1, 4, 2),                           /* lmul */
    [0x6a] = PLAIN(1, 2, 1),                           /* fmul */
    [0x6b] = PLAIN(1, 4, 2),                           /* dmul */
    [0x6c] = PLAIN(1, 2, 1),                           /* idiv */
    [0x6d] = PLAIN(1, 4, 2),                           /* ldiv */
    [0x6e] = PLAIN(1, 2, 1),                           /* fdiv */
    [0x6f] = PLAIN(1, 4, 2),                           /* ddiv */
    [0x70] = PLAIN(1, 2, 1),                           /* irem */
    [0x71] = PLAIN(1, 4, 2),                           /* lrem */
    [0x72] = PLAIN(1, 2, 1),                           /* frem */
    [0x73] = PLAIN(1, 4, 2),                           /* drem */
    [0x74] = PLAIN(1, 1, 1),                           /* ineg */
    [0x75] = PLAIN(1, 2, 2),                           /* lneg */
    [0x76] = PLAIN(1, 1, 1),                           /* fneg */
    [0x77] = PLAIN(1, 2, 2),                           /* dneg */
    [0x78] = PLAIN(1, 2, 1),                           /* ishl */
    [0x79] = PLAIN(1, 3, 2),                           /* lshl */
    [0x7a] = PLAIN(1, 2, 1),                           /* ishr */
    [0x7b] = PLAIN(1, 3, 2),                           /* lshr */
    [0x7c] = PLAIN(1, 2, 1),                           /* iushr */
    [0x7d] = PLAIN(1, 3, 2),                           /* lushr */
    [0x7e] = PLAIN(1, 2, 1),                           /* iand */
    [0x7f] = PLAIN(1, 4, 2),                           /* land */
    [0x80] = PLAIN(1, 2, 1),                           /* ior */
    [0x81] = PLAIN(1, 4, 2),                           /* lor */
    [0x82] = PLAIN(1, 2, 1),                           /* ixor */
    [0x83] = PLAIN(1, 4, 2),                           /* lxor */
    [0x84] = PLAIN(3, 0, 0),                           /* iinc */
    [0x85] = PLAIN(1, 1, 2),                           /* i2l */
    [0x86] = PLAIN(1, 1, 1),                           /* i2f */
    [0x87] = PLAIN(1, 1, 2),                           /* i2d */
    [0x88 ... 0x89] = PLAIN(1, 2, 1),                  /* l2i, l2f */
    [0x8a] = PLAIN(1, 2, 2),                           /* l2d */
    [0x8b] = PLAIN(1, 1, 1),                           /* f2i */
    [0x8c ... 0x8d] = PLAIN(1, 1, 2),                  /* f2l, f2d */
    [0x8e] = PLAIN(1, 2, 1),                           /* d2i */
    [0x8f] = PLAIN(1, 2, 2),                           /* d2l */
    [0x90] = PLAIN(1, 2, 1),                           /* d2f */
    [0x91 ... 0x93] = PLAIN(1, 1, 1),                  /* i2b, i2c, i2s */
    [0x94] = PLAIN(1, 4, 1),                           /* lcmp */
    [0x95 ... 0x96] = PLAIN(1, 2, 1),                  /* fcmpl, fcmpg */
    [0x97 ... 0x98] = PLAIN(1, 4, 1),                  /* dcmpl, dcmpg */
    [0x99 ... 0x9e] = {3, BYTECODE_CONDITIONAL, 1, 0}, /* ifeq … ifle */
    [0x9f ... 0xa6] = {3, BYTECODE_CONDITIONAL, 2, 0}, /* if_icmpeq … if_acmpne */
    [0xa7] = {3, BYTECODE_GOTO, 0, 0},                 /* goto */
    [0xa8] = {3, BYTECODE_JSR, 0, 1},                  /* jsr */
    [0xa9] = {2, BYTECODE_RET, 0, 0},                  /* ret */
    [0xaa ... 0xab] = {0, BYTECODE_SWITCH, 1, 0},      /* tableswitch, lookupswitch */
    [0xac] = {1, BYTECODE_RETURN, 1, 0},               /* ireturn */
    [0xad] = {1, BYTECODE_RETURN, 2, 0},               /* lreturn */
    [0xae] = {1, BYTECODE_RETURN, 1, 0},               /* freturn */
    [0xaf] = {1, BYTECODE_RETURN, 2, 0},               /* dreturn */
    [0xb0] = {1, BYTECODE_RETURN, 1, 0},               /* areturn */
    [0xb1] = {1, BYTECODE_RETURN, 0, 0},               /* return */
    [0xb2 ... 0xb5] = {3, BYTECODE_FIELD, 0, 0},       /* getstatic … putfield */
    [0xb6 ... 0xb8] = {3, BYTECODE_INVOKE, 0, 0},      /* invokevirtual … invokestatic */
    [0xb9 ... 0xba] = {5, BYTECODE_INVOKE, 0, 0},      /* invokeinterface, invokedynamic */
    [0xbb] = PLAIN(3, 0, 1),                           /* new */
    [0xbc] = PLAIN(2, 1, 1),                           /* newarray */
    [0xbd] = PLAIN(3, 1, 1),                           /* anewarray */
    [0xbe] = PLAIN(1, 1, 1),                           /* arraylength */
    [0xbf] = {1, BYTECODE_THROW, 1, 0},                /* athrow */
    [0xc0 ... 0xc1] = PLAIN(3, 1, 1),                  /* checkcast, instanceof */
    [0xc2 ... 0xc3] = PLAIN(1, 1, 0),                  /* monitorenter, monitorexit */
    [0xc4] = {0, BYTECODE_WIDE, 0, 0},                 /* wide */
    [0xc5] = {4, BYTECODE_MULTI_ARRAY, 0, 1},          /* multianewarray */
    [0xc6 ... 0xc7] = {3, BYTECODE_CONDITIONAL, 1, 0}, /* ifnull, ifnonnull */
    [0xc8] = {5, BYTECODE_GOTO, 0, 0},                 /* goto_w */
    [0xc9] = {5, BYTECODE_JSR, 0, 1},                  /* jsr_w */
};

const struct bytecode *bytecode__of(uint8_t opcode)
{
    return &bytecodes[opcode];
}

static uint32_t wide_length(const uint8_t *code, uint32_t left)
{
    uint8_t opcode = left > 1 ? code[1] : OP_NOP;
    bool has_wide_form = (opcode >= 0x15 && opcode <= OP_ALOAD) ||
                         (opcode >= OP_ISTORE && opcode <= OP_ASTORE) || opcode == OP_RET;

    if (opcode == OP_IINC)
        return 6;
    return has_wide_form ? 4 : 0;
}

static uint64_t switch_length(const uint8_t *code, uint32_t end, uint32_t pc)
{
    uint32_t operands = bytecode__switch_operands(pc);
    uint64_t padded = operands - pc;

    if (code[pc] == OP_LOOKUPSWITCH) {
        if (end < operands + 8u || big_endian_u4(code + operands + 4) > end)
            return 0;
        return padded + 8 + 8ull * big_endian_u4(code + operands + 4);
    }
    if (end < operands + 12u)
        return 0;
    int64_t low = (int32_t)big_endian_u4(code + operands + 4);
    int64_t high = (int32_t)big_endian_u4(code + operands + 8);
    if (high < low || high - low >= end)
        return 0;
    return padded + 12 + 4 * (uint64_t)(high - low + 1);
}

uint32_t bytecode__length(const uint8_t *code, uint32_t end, uint32_t pc)
{
    const struct bytecode *bytecode = bytecode__of(code[pc]);
    uint64_t length = bytecode->length;

    if (bytecode->kind == BYTECODE_WIDE)
        length = wide_length(code + pc, end - pc);
    else if (bytecode->kind == BYTECODE_SWITCH)
        length = switch_length(code, end, pc);
    return length <= end - pc ? (uint32_t)length : 0;
}

uint32_t bytecode__target_count(const uint8_t *code, uint32_t pc)
{
    uint32_t operands = bytecode__switch_operands(pc);

    switch (bytecode__of(code[pc])->kind) {
    case BYTECODE_CONDITIONAL:
    case BYTECODE_GOTO:
    case BYTECODE_JSR:
        return 1;
    case BYTECODE_SWITCH:
        if (code[pc] == OP_LOOKUPSWITCH)
            return 1 + big_endian_u4(code + operands + 4);
        return 2 + big_endian_u4(code + operands + 8) - big_endian_u4(code + operands + 4);
    default:
        return 0;
    }
}

int64_t bytecode__target(const uint8_t *code, uint32_t pc, uint32_t which)
{
    uint32_t at = pc + 1;

    if (bytecode__of(code[pc])->length == 3)
        return (int64_t)pc + (int16_t)big_endian_u2(code + at);
    if (bytecode__of(code[pc])->kind == BYTECODE_SWITCH) {
        at = bytecode__switch_operands(pc);
        if (which && code[pc] == OP_LOOKUPSWITCH)
            at += 4 + 8 * which;
        else if (which)
            at += 8 + 4 * which;
    }
    return (int64_t)pc + (int32_t)big_endian_u4(code + at);
}

bool bytecode__goes_on(uint8_t opcode)
{
    switch (bytecode__of(opcode)->kind) {
    case BYTECODE_GOTO:
    case BYTECODE_JSR:
    case BYTECODE_RET:
    case BYTECODE_SWITCH:
    case BYTECODE_RETURN:
    case BYTECODE_THROW:
        return false;
    default:
        return true;
    }
}

uint8_t bytecode__inverse(uint8_t opcode)
{
    if (opcode >= OP_IFNULL)
        return opcode ^ 1u;
    return (uint8_t)(((opcode + 1u) ^ 1u) - 1u);
}

bool bytecode__is_in_loop(const uint8_t *code, uint32_t length, uint32_t at)
{
    uint32_t bytes;

    for (uint32_t pc = 0; pc < length && (bytes = bytecode__length(code, length, pc)); pc += bytes)
        for (uint32_t i = 0; pc >= at && i < bytecode__target_count(code, pc); i++)
            if (bytecode__target(code, pc, i) <= at)
                return true;
    return false;
}
