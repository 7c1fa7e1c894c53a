#include "tools/symbols/native_symbols.h"

#include "tools/report/memory.h"

#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

/* The demangler of libsupc++ that returns its text piece by piece. It has no header. __cxa_demangle
 * first allocates as much memory as the whole text needs, which a hostile symbol can make huge. 0
 * if it worked. */
int __gcclibcxx_demangle_callback(const char *mangled,
                                  void (*piece)(const char *text, size_t length, void *context),
                                  void *context);

/* Longest names that are demangled: no real name is longer, and a demangler could work on one for
 * hours. */
#define MANGLED_MAX   4096u
#define DEMANGLED_MAX 16384u
#define ALL_MAX                                                                                    \
    (32u << 20) /* for all names of one report; once it is used up, names stay mangled */

struct opened_image {
    struct text path;
    struct text build_id;
    struct native_image *image; /* NULL: there is none */
};

struct native_symbols {
    struct opened_image *opened;
    size_t count;
    size_t room;
    size_t bytes_left; /* for demangled names */
    struct text_store texts;
};

struct native_symbols *native_symbols__new(void)
{
    struct native_symbols *symbols = memory__zeroed(1, sizeof(*symbols));

    symbols->bytes_left = ALL_MAX;
    return symbols;
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

struct demangled {
    jmp_buf too_long;
    size_t length;
    size_t room;
    char text[DEMANGLED_MAX];
};

/* A mangled name of a hundred bytes may stand for one of many megabytes: so this leaves the
 * demangler by a jump, which is safe since the demangler holds nothing but its stack. */
static void append(const char *text, size_t length, void *context)
{
    struct demangled *to = context;

    if (length > to->room - to->length)
        longjmp(to->too_long, 1);
    memcpy(to->text + to->length, text, length);
    to->length += length;
}

static bool demangle(struct demangled *to, const char *name)
{
    if (setjmp(to->too_long) != 0)
        return false;
    return __gcclibcxx_demangle_callback(name, append, to) == 0;
}

/* The plain name, if it has at most so many bytes; they are taken off. Else the name as it is. */
static struct text demangled(struct text_store *store, const char *name, size_t *bytes_left)
{
    size_t length = strlen(name);
    struct text text;

    if (length > MANGLED_MAX || name[0] != '_' || name[1] != 'Z')
        return text__from_java(store, name, length);
    struct demangled *plain = memory__zeroed(1, sizeof(*plain));
    plain->room = *bytes_left < DEMANGLED_MAX ? *bytes_left : DEMANGLED_MAX;
    if (demangle(plain, name)) {
        *bytes_left -= plain->length;
        text = text__from_java(store, plain->text, plain->length);
    } else {
        text = text__from_java(store, name, length);
    }
    free(plain);
    return text;
}

struct text native_symbols__demangled(struct text_store *store, const char *name)
{
    size_t bytes_left = DEMANGLED_MAX;

    return demangled(store, name, &bytes_left);
}

static struct text name_of(void *context, struct text_store *store, const struct symbol *symbol)
{
    struct native_symbols *symbols = context;
    struct native_function function;

    if (symbol->name.length)
        return demangled(store, symbol->name.bytes, &symbols->bytes_left);
    struct native_image *image =
        native_symbols__image(symbols, symbol->image.bytes, symbol->build_id.bytes);
    if (!image || native_image__function(image, symbol->address, &function) != 0)
        return (struct text){"", 0};
    return demangled(store, function.name, &symbols->bytes_left);
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
