#include "tools/arguments/thread_filter.h"

#include "tools/command.h"
#include "tools/report/memory.h"
#include "tools/report/nearest.h"

#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LISTED_MOST  5u
#define NAME_COLUMNS 40u

/* Of all models, each name once; those of the threads that used most CPU first. */
struct known_names {
    struct known_name {
        struct text name;
        uint64_t cpu_ns;
    } * items;
    size_t count;
};

static int by_name(const void *a, const void *b)
{
    const struct known_name *x = a;
    const struct known_name *y = b;

    return text__compare(x->name, y->name);
}

static int by_cpu(const void *a, const void *b)
{
    const struct known_name *x = a;
    const struct known_name *y = b;

    if (x->cpu_ns != y->cpu_ns)
        return x->cpu_ns > y->cpu_ns ? -1 : 1;
    return by_name(a, b);
}

static struct known_names names_of(const struct report_model *const *models, size_t count)
{
    struct known_names names = {0};
    size_t all = 0, kept = 0;

    for (size_t i = 0; i < count; i++)
        all += models[i]->thread_count;
    names.items = memory__zeroed(all, sizeof(*names.items));
    for (size_t i = 0; i < count; i++)
        for (uint32_t j = 0; j < models[i]->thread_count; j++) {
            const struct report_thread *thread = &models[i]->threads[j];

            if (!thread->is_idle)
                names.items[names.count++] = (struct known_name){thread->name, thread->cpu_ns};
        }
    qsort(names.items, names.count, sizeof(*names.items), by_name);
    for (size_t i = 0; i < names.count; i++)
        if (kept && text__compare(names.items[kept - 1].name, names.items[i].name) == 0)
            names.items[kept - 1].cpu_ns += names.items[i].cpu_ns;
        else
            names.items[kept++] = names.items[i];
    names.count = kept;
    qsort(names.items, names.count, sizeof(*names.items), by_cpu);
    return names;
}

static void print_name(FILE *out, const char *before, struct text name)
{
    char *printable = text__printable_middle(name, NAME_COLUMNS);

    fprintf(out, "%s'%s'", before, printable);
    free(printable);
}

/* People type a part of a name where the whole one is matched. */
static bool hint_at_part(FILE *out, const struct known_names *names, const char *glob)
{
    char *wide = NULL;
    size_t matching = 0;

    if (asprintf(&wide, "*%s*", glob) < 0)
        return false;
    for (size_t i = 0; i < names->count; i++)
        matching += fnmatch(wide, names->items[i].name.bytes, 0) == 0;
    if (matching)
        fprintf(out, "; '%s' matches %zu name%s", wide, matching, matching == 1 ? "" : "s");
    free(wide);
    return matching != 0;
}

static void hint_at_nearest(FILE *out, const struct known_names *names, const char *glob)
{
    const char **words = memory__zeroed(names->count, sizeof(const char *));

    for (size_t i = 0; i < names->count; i++)
        words[i] = names->items[i].name.bytes;
    const char *near = names->count ? nearest__of(glob, words, names->count) : NULL;
    if (near)
        print_name(out, "; nearest: ", (struct text){near, strlen(near)});
    free((void *)words);
}

static void list(FILE *out, const struct known_names *names)
{
    size_t shown = names->count < LISTED_MOST ? names->count : LISTED_MOST;

    for (size_t i = 0; i < shown; i++)
        print_name(out, i ? ", " : "; there are ", names->items[i].name);
    if (names->count > shown)
        fprintf(out, " and %zu more", names->count - shown);
    if (!names->count)
        fputs("; there are no threads", out);
}

bool thread_filter__selects_any(const bool *selected, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (selected[i])
            return true;
    return false;
}

int thread_filter__refuse(const char *where, const char *glob,
                          const struct report_model *const *models, size_t count)
{
    struct known_names names = names_of(models, count);
    char *rest = NULL;
    size_t bytes;
    FILE *out = open_memstream(&rest, &bytes);

    if (out) {
        if (!hint_at_part(out, &names, glob))
            hint_at_nearest(out, &names, glob);
        list(out, &names);
        (void)fclose(out);
    }
    int status =
        command__fail("%s: no thread's name matches '%s'%s", where, glob, rest ? rest : "");
    free(rest);
    free(names.items);
    return status;
}
