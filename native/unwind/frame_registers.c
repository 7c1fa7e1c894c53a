#include "native/unwind/frame_registers.h"

#include "native/unwind/walked_stack.h"

#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <ucontext.h>

#if defined(__x86_64__)

static const int preserved_places[PRESERVED_REGISTERS] = {REG_RBX, REG_R12, REG_R13,
                                                          REG_R14, REG_R15, REG_R10};

static void read_registers(struct frame_registers *registers, struct preserved_registers *preserved,
                           const mcontext_t *machine)
{
    registers->pc = (uint64_t)machine->gregs[REG_RIP];
    registers->sp = (uint64_t)machine->gregs[REG_RSP];
    registers->fp = (uint64_t)machine->gregs[REG_RBP];
    for (int i = 0; preserved && i < PRESERVED_REGISTERS; i++)
        preserved->value[i] = (uint64_t)machine->gregs[preserved_places[i]];
}

#elif defined(__aarch64__)

enum { X19 = 19, X29 = 29, X30 = 30 };

static void read_registers(struct frame_registers *registers, struct preserved_registers *preserved,
                           const mcontext_t *machine)
{
    registers->pc = machine->pc;
    registers->sp = machine->sp;
    registers->fp = machine->regs[X29];
    for (int i = 0; preserved && i < PRESERVED_REGISTERS - 1; i++)
        preserved->value[i] = machine->regs[X19 + i];
    if (preserved)
        preserved->value[PRESERVED_REGISTERS - 1] = machine->regs[X30];
}

#else

static void read_registers(struct frame_registers *registers, struct preserved_registers *preserved,
                           const mcontext_t *machine)
{
    (void)registers, (void)preserved, (void)machine;
}

#endif

void frame_registers__of_context(struct frame_registers *registers,
                                 struct preserved_registers *preserved, const void *context)
{
    const ucontext_t *interrupted = context;

    memset(registers, 0, sizeof(*registers));
    if (preserved)
        memset(preserved, 0, sizeof(*preserved));
    read_registers(registers, preserved, &interrupted->uc_mcontext);
    registers->fp_known = registers->pc != 0;
    registers->preserved = preserved;
}

#if SIGNAL_FRAMES_ARE_READ

/* struct rt_sigframe of the kernel begins with these, at sp of the trampoline's frame. */
struct signal_frame {
    siginfo_t info;
    ucontext_t context;
};

static uint64_t word(uint64_t frame, size_t offset)
{
    return walked_stack__load(frame + offset);
}

#define REGISTER(number) offsetof(struct signal_frame, context.uc_mcontext.regs[number])

bool frame_registers__leave_signal_frame(struct frame_registers *registers, uint64_t stack_end)
{
    const struct walked_stack stack = {registers->sp, stack_end};
    struct preserved_registers *preserved = registers->preserved;
    uint64_t frame = registers->sp, sp;

    if (!walked_stack__holds(&stack, frame) ||
        !walked_stack__holds(&stack, frame + offsetof(struct signal_frame, context.uc_mcontext.pc)))
        return false;
    sp = word(frame, offsetof(struct signal_frame, context.uc_mcontext.sp));
    if (sp <= frame || sp > stack_end)
        return false;
    for (int i = 0; preserved && i < PRESERVED_REGISTERS - 1; i++)
        preserved->value[i] = word(frame, REGISTER(X19 + i));
    if (preserved)
        preserved->value[PRESERVED_REGISTERS - 1] = word(frame, REGISTER(X30));
    registers->pc = word(frame, offsetof(struct signal_frame, context.uc_mcontext.pc));
    registers->fp = word(frame, REGISTER(X29));
    registers->fp_known = true;
    registers->sp = sp;
    registers->interrupted = true;
    return true;
}

#else

bool frame_registers__leave_signal_frame(struct frame_registers *registers, uint64_t stack_end)
{
    (void)registers, (void)stack_end;
    return false;
}

#endif
