/*
 * The names that a 64-bit ELF object has for its code, from both of its symbol tables. Trusts no
 * byte of the object. Not for signal handlers. Several threads may read one open object at once.
 */
#ifndef TREADLE_ELF_SYMBOLS_H
#define TREADLE_ELF_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct elf_symbols;

/* "[vdso]" is this process's vdso. 0; -errno of the file; -ENOEXEC: not an ELF object for this
 * machine, or its headers are damaged. An object without symbols is no error: it has no names. */
int elf_symbols__open(struct elf_symbols **symbols, const char *path);
void elf_symbols__close(struct elf_symbols *symbols);

/* Finds the function that contains an address, given as in the object's headers. A function without
 * a size extends to the next function. name is mangled, and valid until close. False: no function.
 */
bool elf_symbols__find(const struct elf_symbols *symbols, uint64_t address, const char **name,
                       uint64_t *start, uint64_t *size);

/* Calls visit for each function, with its name and first address as elf_symbols__find gives them.
 */
typedef void elf_symbol_visit(void *context, const char *name, uint64_t start);
void elf_symbols__each(const struct elf_symbols *symbols, elf_symbol_visit *visit, void *context);

/* The build id in hexadecimal; "" if there is none. */
const char *elf_symbols__build_id(const struct elf_symbols *symbols);

/* Memory in use. */
size_t elf_symbols__bytes(const struct elf_symbols *symbols);

#endif
