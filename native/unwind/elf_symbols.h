/*
 * The names that an ELF object of 64 bits has for its code, from both of its symbol tables. Trusts
 * no byte of it. Not for signal handlers; an open one may be read by several threads at once.
 */
#ifndef TREADLE_ELF_SYMBOLS_H
#define TREADLE_ELF_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct elf_symbols;

/* "[vdso]" is the one of this process. 0; -errno of the file; -ENOEXEC: no such ELF object as this
 * machine runs, or its headers are damaged. An object without symbols is none of that: it has no
 * names. */
int elf_symbols__open(struct elf_symbols **symbols, const char *path);
void elf_symbols__close(struct elf_symbols *symbols);

/* The function that an address, as the object's headers count, is in. A function of which the
 * object does not say how long it is reaches to the next one. name is mangled, and valid until
 * close. False: in none. */
bool elf_symbols__find(const struct elf_symbols *symbols, uint64_t address, const char **name,
                       uint64_t *start, uint64_t *size);

/* Hexadecimal; "" if it has none. */
const char *elf_symbols__build_id(const struct elf_symbols *symbols);

/* Memory in use. */
size_t elf_symbols__bytes(const struct elf_symbols *symbols);

/* How many functions have names. */
size_t elf_symbols__count(const struct elf_symbols *symbols);

#endif
