#include "native/sampling/kernel_symbols.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINE_BYTES 1024 /* a module's name, and KSYM_NAME_LEN, which is 512 at the most */

struct symbol {
    uint64_t address;
    uint32_t name; /* where in `names` */
};

struct kernel_symbols {
    struct symbol *symbols; /* by address */
    size_t count, room;
    char *names;
    size_t name_bytes, name_room;
};

/* "ffffffff81000000 T _text\t[module]": the address and the name of a function, or false. */
static bool read_line(char *line, uint64_t *address, const char **name)
{
    char *end;

    *address = strtoull(line, &end, 16);
    if (end == line || end[0] != ' ' || !end[1] || end[2] != ' ' || !strchr("tTwW", end[1]))
        return false;
    *name = end + 3;
    end[3 + strcspn(end + 3, " \t\n")] = '\0';
    return **name != '\0';
}

static bool make_room(struct kernel_symbols *symbols, size_t name_bytes)
{
    if (symbols->count == symbols->room) {
        size_t room = symbols->room ? symbols->room * 2 : 65536;
        struct symbol *grown = realloc(symbols->symbols, room * sizeof(*grown));

        if (!grown)
            return false;
        symbols->symbols = grown;
        symbols->room = room;
    }
    if (symbols->name_bytes + name_bytes > symbols->name_room) {
        size_t room = symbols->name_room ? symbols->name_room * 2 : 1u << 20;
        char *grown = realloc(symbols->names, room);

        if (!grown)
            return false;
        symbols->names = grown;
        symbols->name_room = room;
    }
    return symbols->names && symbols->name_bytes + name_bytes < UINT32_MAX;
}

static bool add(struct kernel_symbols *symbols, uint64_t address, const char *name)
{
    size_t bytes = strlen(name) + 1;

    if (!make_room(symbols, bytes))
        return false;
    symbols->symbols[symbols->count++] = (struct symbol){address, (uint32_t)symbols->name_bytes};
    memcpy(symbols->names + symbols->name_bytes, name, bytes);
    symbols->name_bytes += bytes;
    return true;
}

/* Of several names of one address the first stays first. */
static int compare(const void *a, const void *b)
{
    const struct symbol *x = a, *y = b;

    if (x->address != y->address)
        return x->address < y->address ? -1 : 1;
    return x->name < y->name ? -1 : x->name > y->name;
}

static int load(struct kernel_symbols *symbols, FILE *file)
{
    char line[LINE_BYTES];
    const char *name;
    uint64_t address;

    while (fgets(line, sizeof(line), file))
        if (read_line(line, &address, &name) && address && !add(symbols, address, name))
            return -ENOMEM;
    return symbols->count ? 0 : -EPERM;
}

int kernel_symbols__open(struct kernel_symbols **symbols, const char *path)
{
    FILE *file = fopen(path, "re");
    struct kernel_symbols *made;
    int error;

    if (!file)
        return -errno;
    made = calloc(1, sizeof(*made));
    error = made ? load(made, file) : -ENOMEM;
    (void)fclose(file);
    if (!error && made->symbols) {
        qsort(made->symbols, made->count, sizeof(*made->symbols), compare);
        *symbols = made;
        return 0;
    }
    kernel_symbols__close(made);
    return error;
}

/* Where addresses are hidden all of them are 0. */
int kernel_symbols__check(const char *path)
{
    char line[LINE_BYTES];
    FILE *file = fopen(path, "re");
    const char *name;
    uint64_t address = 0;

    if (!file)
        return -errno;
    for (int i = 0; i < 64 && !address && fgets(line, sizeof(line), file); i++)
        if (!read_line(line, &address, &name))
            address = 0;
    (void)fclose(file);
    return address ? 0 : -EPERM;
}

void kernel_symbols__close(struct kernel_symbols *symbols)
{
    if (!symbols)
        return;
    free(symbols->symbols);
    free(symbols->names);
    free(symbols);
}

const char *kernel_symbols__find(const struct kernel_symbols *symbols, uint64_t address,
                                 uint64_t *start)
{
    size_t low = 0, high = symbols->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (symbols->symbols[middle].address <= address)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0)
        return NULL;
    for (low--; low > 0 && symbols->symbols[low - 1].address == symbols->symbols[low].address;)
        low--;
    *start = symbols->symbols[low].address;
    return symbols->names + symbols->symbols[low].name;
}
