#include "agent/classfile/trivial_method.h"

#include "agent/classfile/bytecode.h"

#define TRIVIAL_BYTES_MAX 8u

static bool is_trivial(uint8_t opcode)
{
    switch (opcode) {
    case OP_NEW:
    case OP_NEWARRAY:
    case OP_ANEWARRAY:
    case OP_MONITORENTER:
    case OP_MONITOREXIT:
        return false;
    default:
        break;
    }
    switch (bytecode__of(opcode)->kind) {
    case BYTECODE_PLAIN:
    case BYTECODE_LOAD:
    case BYTECODE_STORE:
    case BYTECODE_SHUFFLE:
    case BYTECODE_FIELD:
        return true;
    default:
        return false;
    }
}

bool class_method__has_monitors(const struct class_method *method)
{
    uint32_t length = method->code_length;

    if (method->access_flags & ACC_SYNCHRONIZED)
        return true;
    for (uint32_t pc = 0, bytes; pc < length; pc += bytes) {
        bytes = bytecode__length(method->code, length, pc);
        if (bytes == 0)
            return false;
        if (method->code[pc] == OP_MONITORENTER)
            return true;
    }
    return false;
}

bool class_method__is_trivial(const struct class_method *method)
{
    uint32_t length = method->code_length;

    if (length > TRIVIAL_BYTES_MAX || (method->access_flags & ACC_SYNCHRONIZED))
        return false;
    for (uint32_t pc = 0; pc < length;) {
        uint32_t bytes = bytecode__length(method->code, length, pc);

        if (bytes > 0 && bytecode__of(method->code[pc])->kind == BYTECODE_RETURN)
            return pc + bytes == length;
        if (bytes == 0 || !is_trivial(method->code[pc]))
            return false;
        pc += bytes;
    }
    return false;
}
