/*
 * Names of native functions for a report: what the agent saw, or what the image's file or its debug
 * file says, in the words of the language they were written in.
 */
#ifndef TREADLE_NATIVE_SYMBOLS_H
#define TREADLE_NATIVE_SYMBOLS_H

#include "tools/report/report_model.h"
#include "tools/symbols/native_image.h"

struct native_symbols;

struct native_symbols *native_symbols__new(void);
void native_symbols__free(struct native_symbols *symbols);

/* Returns the image of a function, which is opened on first use; NULL if there is no such file, or
 * if the file is of another build. The image stays the symbols'. */
struct native_image *native_symbols__image(struct native_symbols *symbols, const char *path,
                                           const char *build_id);

/* For report_model__load_named. */
struct symbol_names native_symbols__names(struct native_symbols *symbols);

/* "demo::Engine::spin(int)" for "_ZN4demo6Engine4spinEi"; other names as they are. */
struct text native_symbols__demangled(struct text_store *store, const char *name);

/* report_model__load with names for native functions. */
struct report_model *native_symbols__load_model(const struct ledger_reader *reader,
                                                uint64_t columns);

#endif
