#include "native/preload/function_names.h"

#include "native/unwind/elf_symbols.h"

#include <errno.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TEXT_BYTES 1024u
#define PROGRAM    "/proc/self/exe"

/* A record_of of sampled_symbols. */
static ledger_ref record_of(void *context, uint64_t address)
{
    struct function_names *names = context;
    struct function *function = function_table__add(names->functions, address);

    return function ? function_table__record(names->functions, function)
                    : ledger__take_shared(names->functions->ledger, LEDGER_METHODS, 1);
}

void function_names__restart(struct function_names *names)
{
    sampled_symbols__init(&names->symbols, names->functions->ledger, names->images);
    names->symbols.record_of = record_of;
    names->symbols.context = names;
    names->named = 0;
    pthread_mutex_init(&names->lock, NULL);
}

int function_names__init(struct function_names *names, struct function_table *functions,
                         struct code_images *images, const struct glob_list *include,
                         const struct glob_list *exclude)
{
    *names = (struct function_names){
        .functions = functions, .images = images, .include = include, .exclude = exclude};
    function_names__restart(names);
    if (!include && !exclude)
        return 0;
    names->filtered = calloc(FILTERED_IMAGES_MAX, sizeof(*names->filtered));
    functions->state_at_first = FUNCTION_NEW;
    return names->filtered ? 0 : -ENOMEM;
}

static bool admits(const struct function_names *names, const char *image, const char *name)
{
    char text[TEXT_BYTES];
    size_t length = (size_t)snprintf(text, sizeof(text), "%s.%s", image, name);
    size_t name_length = strlen(name);

    if (length >= sizeof(text))
        length = sizeof(text) - 1;
    if (names->exclude && (glob_list__matches(names->exclude, name, name_length, NULL) ||
                           glob_list__matches(names->exclude, text, length, NULL)))
        return false;
    return !names->include || glob_list__matches(names->include, name, name_length, NULL) ||
           glob_list__matches(names->include, text, length, NULL);
}

struct deciding {
    struct function_names *names;
    const struct filtered_image *image;
    const char *file;
};

static void decide_symbol(void *context, const char *name, uint64_t start)
{
    const struct deciding *deciding = context;
    struct function *function;

    if (!admits(deciding->names, deciding->file, name))
        return;
    function = function_table__add(deciding->names->functions, start + deciding->image->bias);
    if (function)
        __atomic_store_n(&function->state, (uint32_t)FUNCTION_HEARD, __ATOMIC_RELEASE);
    else
        ledger__count(&deciding->names->functions->ledger->header->dropped_enters, 1);
}

static void decide_image(struct function_names *names, const struct filtered_image *image)
{
    char path[sizeof(image->path)];
    bool is_program = strcmp(image->path, PROGRAM) == 0;
    ssize_t length = is_program ? readlink(PROGRAM, path, sizeof(path) - 1) : -1;
    struct deciding deciding = {names, image, path};
    struct elf_symbols *symbols;

    if (length < 0)
        length = snprintf(path, sizeof(path), "%s", image->path);
    path[length] = '\0';
    if (strrchr(path, '/'))
        deciding.file = strrchr(path, '/') + 1;

    if (elf_symbols__open(&symbols, image->path) != 0)
        return;
    elf_symbols__each(symbols, decide_symbol, &deciding);
    elf_symbols__close(symbols);
}

static const char *path_of(const struct dl_phdr_info *info)
{
    return info->dlpi_name && *info->dlpi_name ? info->dlpi_name : PROGRAM;
}

static bool is_image(const struct filtered_image *image, const struct dl_phdr_info *info)
{
    return image->bias == info->dlpi_addr &&
           strncmp(image->path, path_of(info), sizeof(image->path) - 1) == 0;
}

/* Under the linker's lock: nothing is opened or allocated. */
static int note_image(struct dl_phdr_info *info, size_t bytes, void *context)
{
    struct function_names *names = context;
    struct filtered_image *image;

    (void)bytes;
    for (uint32_t i = 0; i < names->filtered_count; i++)
        if (is_image(&names->filtered[i], info))
            return 0;
    if (names->filtered_count == FILTERED_IMAGES_MAX)
        return 1;
    image = &names->filtered[names->filtered_count++];
    image->bias = info->dlpi_addr;
    snprintf(image->path, sizeof(image->path), "%s", path_of(info));
    return 0;
}

static int find_loaded(struct dl_phdr_info *info, size_t bytes, void *context)
{
    (void)bytes;
    return is_image(context, info);
}

void function_names__forget_unloaded(struct function_names *names)
{
    uint32_t kept = 0;

    if (!names->filtered)
        return;
    pthread_mutex_lock(&names->lock);
    for (uint32_t i = 0; i < names->filtered_count; i++)
        if (dl_iterate_phdr(find_loaded, &names->filtered[i]))
            names->filtered[kept++] = names->filtered[i];
    names->filtered_count = kept;
    pthread_mutex_unlock(&names->lock);
}

void function_names__look(struct function_names *names)
{
    uint32_t before;

    pthread_mutex_lock(&names->lock);
    (void)code_images__refresh(names->images);
    if (names->filtered) {
        before = names->filtered_count;
        (void)dl_iterate_phdr(note_image, names);
        for (uint32_t i = before; i < names->filtered_count; i++)
            decide_image(names, &names->filtered[i]);
    }
    pthread_mutex_unlock(&names->lock);
}

/* A function whose address is not the first one of its symbol, such as a part that the compiler
 * split off: named like the whole. */
static void name_part(const struct function_names *names, ledger_ref part, ledger_ref whole)
{
    struct ledger_method *method = ledger__at(names->functions->ledger, part);
    const struct ledger_method *named = ledger__at(names->functions->ledger, whole);

    method->name = named->name;
    method->image = named->image;
    method->address -=
        ((const struct ledger_image *)ledger__at(names->functions->ledger, named->image))->bias;
    __atomic_store_n(&method->class_name, named->class_name, __ATOMIC_RELEASE);
}

static void name(struct function_names *names, const struct function *function)
{
    ledger_ref record = function->record;
    const struct sampled_symbol *symbol = sampled_symbols__find(&names->symbols, function->address);

    if (symbol && symbol->method && symbol->method != record)
        name_part(names, record, symbol->method);
}

/* Where an image lies now another one may have lain at the last look. */
void function_names__name(struct function_names *names)
{
    bool refreshed = false;

    for (;; names->named++) {
        struct function *function = function_table__nth(names->functions, names->named);

        if (!function)
            break;
        if (!refreshed)
            function_names__look(names);
        refreshed = true;
        name(names, function);
    }
}

enum function_state function_names__decide(const struct function_names *names,
                                           struct function *function)
{
    struct code_function found;
    uint32_t expected = FUNCTION_NEW;

    if (!code_images__find(names->images, function->address, &found)) {
        ledger__count(&names->functions->ledger->header->dropped_enters, 1);
        return FUNCTION_NEW;
    }
    (void)__atomic_compare_exchange_n(&function->state, &expected, (uint32_t)FUNCTION_LEFT_OUT,
                                      false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
    return function_table__state(names->functions, function);
}
