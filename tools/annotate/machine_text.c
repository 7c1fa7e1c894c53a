#include "tools/annotate/machine_text.h"

#include <capstone.h>
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct machine_text {
    csh handle;
    cs_insn *instruction;
};

static const struct {
    const char *name;
    unsigned machine;
    cs_arch arch;
    cs_mode mode;
} machines[] = {
    {"x86_64", EM_X86_64, CS_ARCH_X86, CS_MODE_64},
    {"aarch64", EM_AARCH64, CS_ARCH_ARM64, CS_MODE_LITTLE_ENDIAN},
};
#define MACHINE_COUNT (sizeof(machines) / sizeof(machines[0]))

struct machine_text *machine_text__new(unsigned machine)
{
    size_t row = 0;

    while (row < MACHINE_COUNT && machines[row].machine != machine)
        row++;
    struct machine_text *text = row < MACHINE_COUNT ? calloc(1, sizeof(*text)) : NULL;
    if (!text)
        return NULL;
    if (cs_open(machines[row].arch, machines[row].mode, &text->handle) != CS_ERR_OK)
        goto fail_open;
    text->instruction = cs_malloc(text->handle);
    if (text->instruction)
        return text;
    cs_close(&text->handle);
fail_open:
    free(text);
    return NULL;
}

void machine_text__free(struct machine_text *machine)
{
    if (!machine)
        return;
    cs_free(machine->instruction, 1);
    cs_close(&machine->handle);
    free(machine);
}

unsigned machine_text__machine_of(const char *description)
{
    for (size_t i = 0; i < MACHINE_COUNT; i++)
        if (strstr(description, machines[i].name))
            return machines[i].machine;
    return EM_NONE;
}

size_t machine_text__instruction(struct machine_text *machine, const unsigned char *bytes,
                                 size_t length, uint64_t address, char text[MACHINE_TEXT_BYTES])
{
    const unsigned char *at = bytes;
    size_t left = length;

    if (machine && cs_disasm_iter(machine->handle, &at, &left, &address, machine->instruction)) {
        const cs_insn *found = machine->instruction;

        snprintf(text, MACHINE_TEXT_BYTES, "%s%s%s", found->mnemonic, found->op_str[0] ? " " : "",
                 found->op_str);
        return found->size;
    }
    snprintf(text, MACHINE_TEXT_BYTES, ".byte 0x%02x", bytes[0]);
    return 1;
}
