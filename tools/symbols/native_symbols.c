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
    (32u << 20) /* for all names of one report, those that fail too; once it is used up, names     \
                   stay mangled */
#define IMAGES_MAX (64u << 20) /* for all names that images have; later ones are addresses */

struct opened_image {
    struct text path;
    struct text build_id;
    struct native_image *image; /* NULL: there is none */
};

struct native_symbols {
    struct opened_image *opened;
    size_t count;
    size_t room;
    size_t bytes_left;       /* for demangled names */
    size_t image_bytes_left; /* for names that images have */
    struct text_store texts;
};

struct native_symbols *native_symbols__new(void)
{
    struct native_symbols *symbols = memory__zeroed(1, sizeof(*symbols));

    symbols->bytes_left = ALL_MAX;
    symbols->image_bytes_left = IMAGES_MAX;
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

static void take_off(size_t *bytes_left, size_t bytes)
{
    *bytes_left -= bytes < *bytes_left ? bytes : *bytes_left;
}

/* The plain name, if it has at most so many bytes; they are taken off. Else none: {NULL, 0}; what
 * was made of the name until it failed is taken off, and the name, since an attempt has its price.
 */
static struct text plain_name(struct text_store *store, const char *name, size_t length,
                              size_t *bytes_left)
{
    struct text text = {NULL, 0};

    if (length > MANGLED_MAX || name[0] != '_' || name[1] != 'Z' || !*bytes_left)
        return text;
    struct demangled *plain = memory__zeroed(1, sizeof(*plain));
    plain->room = *bytes_left < DEMANGLED_MAX ? *bytes_left : DEMANGLED_MAX;
    if (demangle(plain, name))
        text = text__from_java(store, plain->text, plain->length);
    else
        take_off(bytes_left, length);
    take_off(bytes_left, plain->length);
    free(plain);
    return text;
}

struct text native_symbols__demangled(struct text_store *store, const char *name)
{
    size_t bytes_left = DEMANGLED_MAX, length = strlen(name);
    struct text plain = plain_name(store, name, length, &bytes_left);

    return plain.bytes ? plain : text__from_java(store, name, length);
}

/* An image's names are not the ledger's: each record may have one of some megabytes. */
static struct text name_in_image(struct native_symbols *symbols, struct text_store *store,
                                 const char *name)
{
    size_t length = strlen(name);

    if (length > symbols->image_bytes_left)
        return (struct text){"", 0};
    symbols->image_bytes_left -= length;
    struct text plain = plain_name(store, name, length, &symbols->bytes_left);
    return plain.bytes ? plain : text__from_java(store, name, length);
}

static struct text name_of(void *context, struct text_store *store, const struct symbol *symbol)
{
    struct native_symbols *symbols = context;
    struct native_function function;
    struct text given = symbol->name;

    if (given.length) {
        struct text plain = plain_name(store, given.bytes, given.length, &symbols->bytes_left);

        return plain.bytes ? plain : given;
    }
    struct native_image *image =
        native_symbols__image(symbols, symbol->image.bytes, symbol->build_id.bytes);
    if (!image || native_image__function(image, symbol->address, &function) != 0)
        return (struct text){"", 0};
    return name_in_image(symbols, store, function.name);
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
