/*
 * Machine code as text, by capstone. Bytes that are no instruction are shown as bytes.
 */
#ifndef TREADLE_MACHINE_TEXT_H
#define TREADLE_MACHINE_TEXT_H

#include <stddef.h>
#include <stdint.h>

struct machine_text;

/* For a machine of elf.h (EM_X86_64, EM_AARCH64). NULL if there is no disassembler for it. */
struct machine_text *machine_text__new(unsigned machine);
void machine_text__free(struct machine_text *machine);

/* Returns the machine that a ledger's description names ("Linux 6.1.0 x86_64, …"); EM_NONE if the
 * description names no known one. */
unsigned machine_text__machine_of(const char *description);

#define MACHINE_TEXT_BYTES 224u

/* Writes the instruction at bytes[0], which stands at `address`. Returns the number of bytes of
 * the instruction, at least 1 and at most `length`, which is not 0. `machine` may be NULL. */
size_t machine_text__instruction(struct machine_text *machine, const unsigned char *bytes,
                                 size_t length, uint64_t address, char text[MACHINE_TEXT_BYTES]);

#endif
