#include "tools/symbols/native_symbols.h"

#include "tools/report/memory.h"

#include <stdlib.h>
#include <string.h>

/* The C++ ABI's own demangler, from libstdc++; it has no header for C. */
char *__cxa_demangle(const char *mangled, char *buffer, size_t *length, int *status);

/* Longer names are nobody's, but a demangler could work on one for hours. */
#define MANGLED_MAX   4096u
#define DEMANGLED_MAX 16384u

struct opened_image {
    struct text path;
    struct text build_id;
    struct native_image *image; /* NULL: there is none */
};

struct native_symbols {
    struct opened_image *opened;
    size_t count;
    size_t room;
    struct text_store texts;
};

struct native_symbols *native_symbols__new(void)
{
    return memory__zeroed(1, sizeof(struct native_symbols));
}

void native_symbols__free(struct native_symbols *symbols)
{
    for (size_t i = 0; i < symbols->count; i++)
        native_image__close(symbols->opened[i].image);
    text_store__release(&symbols->texts);
    free(symbols->opened);
    free(symbols);
}

struct native_image *native_symbols__image(struct native_symbols *symbols, const char *path,
                                           const char *build_id)
{
    for (size_t i = 0; i < symbols->count; i++)
        if (strcmp(symbols->opened[i].path.bytes, path) == 0 &&
            strcmp(symbols->opened[i].build_id.bytes, build_id) == 0)
            return symbols->opened[i].image;
    if (path[0] != '/')
        return NULL;
    symbols->opened = memory__grown(symbols->opened, &symbols->room, symbols->count + 1,
                                    sizeof(*symbols->opened));
    struct opened_image *opened = &symbols->opened[symbols->count++];
    *opened = (struct opened_image){
        .path = text__keep(&symbols->texts, path, strlen(path)),
        .build_id = text__keep(&symbols->texts, build_id, strlen(build_id)),
        .image = native_image__open(path, build_id),
    };
    return opened->image;
}

struct text native_symbols__demangled(struct text_store *store, const char *name)
{
    size_t length = strlen(name);
    int status = -1;
    char *plain = NULL;
    if (length <= MANGLED_MAX && name[0] == '_' && name[1] == 'Z')
        plain = __cxa_demangle(name, NULL, NULL, &status);
    const char *best = plain && strlen(plain) <= DEMANGLED_MAX ? plain : name;
    struct text text = text__from_java(store, best, strlen(best));
    free(plain);
    return text;
}

static struct text name_of(void *context, struct text_store *store, const struct symbol *symbol)
{
    struct native_function function;
    if (symbol->name.length)
        return native_symbols__demangled(store, symbol->name.bytes);
    struct native_image *image =
        native_symbols__image(context, symbol->image.bytes, symbol->build_id.bytes);
    if (!image || native_image__function(image, symbol->address, &function) != 0)
        return (struct text){"", 0};
    return native_symbols__demangled(store, function.name);
}

struct symbol_names native_symbols__names(struct native_symbols *symbols)
{
    return (struct symbol_names){symbols, name_of};
}

struct report_model *native_symbols__load_model(const struct ledger_reader *reader,
                                                uint64_t columns)
{
    struct native_symbols *symbols = native_symbols__new();
    struct symbol_names names = native_symbols__names(symbols);
    struct report_model *model = report_model__load_named(reader, columns, &names);
    native_symbols__free(symbols);
    return model;
}
