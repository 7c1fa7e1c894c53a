/*
 * JVM bytecode as text: mnemonics and operands as numbers (JVMS, chapter 6). Anything may stand in
 * the bytes; what is no instruction is shown as a byte.
 */
#ifndef TREADLE_BYTECODE_TEXT_H
#define TREADLE_BYTECODE_TEXT_H

#include <stddef.h>

#define BYTECODE_TEXT_BYTES 160u

/* Writes the instruction at bytes[at]. Returns the number of its bytes, at least 1 and never beyond
 * the end. */
size_t bytecode_text__instruction(const unsigned char *bytes, size_t length, size_t at,
                                  char text[BYTECODE_TEXT_BYTES]);

#endif
