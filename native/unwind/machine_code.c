#include "native/unwind/machine_code.h"

#if defined(__x86_64__)

#define RESUME_FLAG 0x10000

static const uint8_t *code(uint64_t address)
{
    return (const uint8_t *)(uintptr_t)address;
}

/* As the processor's manual has them: E8 and four bytes; FF /2 in two to seven. */
bool machine_code__follows_call(uint64_t address)
{
    const uint8_t *end = code(address);

    if (address < 8)
        return false;
    if (end[-5] == 0xe8)
        return true;
    for (int length = 2; length <= 7; length++)
        if (end[-length] == 0xff && (end[1 - length] & 0x38) == 0x10)
            return true;
    return false;
}

bool machine_code__follows_system_call(uint64_t address)
{
    return code(address)[-2] == 0x0f && code(address)[-1] == 0x05;
}

/* `ret`, or the poll in front of it: cmp rsp, [r15 + n]; ja. */
bool machine_code__is_leaving(uint64_t address)
{
    const uint8_t *at = code(address);

    return at[0] == 0xc3 || at[0] == 0xc2 ||
           (at[0] == 0x49 && at[1] == 0x3b && (at[2] == 0x67 || at[2] == 0xa7)) ||
           (at[0] == 0x0f && at[1] == 0x87);
}

bool machine_code__pops_fp(uint64_t address)
{
    return code(address)[0] == 0x5d;
}

uint64_t machine_code__bytecode_pointer(const ucontext_t *context)
{
    return (uint64_t)context->uc_mcontext.gregs[REG_R13];
}

/* A string instruction with a repeat prefix: an interrupt between two of its rounds may set the
 * resume flag, too. */
static bool is_repeated(const uint8_t *at)
{
    bool prefixed = false;

    for (; (*at & 0xfe) == 0xf2 || (*at & 0xf0) == 0x40 || *at == 0x66 || *at == 0x67; at++)
        prefixed |= (*at & 0xfe) == 0xf2;
    return prefixed && ((*at & 0xfc) == 0xa4 || (*at & 0xf8) == 0xa8 || (*at & 0xfc) == 0x6c);
}

/* The processor sets the resume flag in what it saves where a fault interrupts an instruction that
 * is to be executed again, and not where a timer or another interrupt does. So a thread that goes
 * on there comes from the kernel's handling of a fault. */
enum kernel_entry machine_code__kernel_entry(const ucontext_t *context)
{
    const greg_t *registers = context->uc_mcontext.gregs;

    if (!(registers[REG_EFL] & RESUME_FLAG))
        return ENTRY_UNKNOWN;
    return is_repeated(code((uint64_t)registers[REG_RIP])) ? ENTRY_PROBABLY_FAULT : ENTRY_FAULT;
}

#elif defined(__aarch64__)

enum { X22 = 22 };

static uint32_t instruction(uint64_t address)
{
    return address % 4 == 0 ? *(const uint32_t *)(uintptr_t)address : 0;
}

/* As the architecture's manual has them: BL; BLR. */
bool machine_code__follows_call(uint64_t address)
{
    uint32_t before = address < 8 ? 0 : instruction(address - 4);

    return (before & 0xfc000000) == 0x94000000 || (before & 0xfffffc1f) == 0xd63f0000;
}

/* SVC #0. */
bool machine_code__follows_system_call(uint64_t address)
{
    return instruction(address - 4) == 0xd4000001;
}

/* RET. */
bool machine_code__is_leaving(uint64_t address)
{
    return instruction(address) == 0xd65f03c0;
}

bool machine_code__pops_fp(uint64_t address)
{
    (void)address;
    return false;
}

uint64_t machine_code__bytecode_pointer(const ucontext_t *context)
{
    return context->uc_mcontext.regs[X22];
}

enum kernel_entry machine_code__kernel_entry(const ucontext_t *context)
{
    (void)context;
    return ENTRY_UNKNOWN;
}

#else

bool machine_code__follows_call(uint64_t address)
{
    (void)address;
    return false;
}

bool machine_code__follows_system_call(uint64_t address)
{
    (void)address;
    return false;
}

bool machine_code__is_leaving(uint64_t address)
{
    (void)address;
    return false;
}

bool machine_code__pops_fp(uint64_t address)
{
    (void)address;
    return false;
}

uint64_t machine_code__bytecode_pointer(const ucontext_t *context)
{
    (void)context;
    return 0;
}

enum kernel_entry machine_code__kernel_entry(const ucontext_t *context)
{
    (void)context;
    return ENTRY_UNKNOWN;
}

#endif
