#include "native/preload/host_program.h"

#include <link.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static int is_one_of(struct dl_phdr_info *info, size_t bytes, void *context)
{
    const char *slash = info->dlpi_name ? strrchr(info->dlpi_name, '/') : NULL;
    const char *file = slash ? slash + 1 : info->dlpi_name;

    (void)bytes;
    for (const char *const *name = context; file && *name; name++)
        if (strcmp(file, *name) == 0)
            return 1;
    return 0;
}

static bool has_image(const char *const *names)
{
    return dl_iterate_phdr(is_one_of, (void *)(uintptr_t)names) != 0;
}

bool host_program__is_jvm(void)
{
    static const char *const names[] = {"libjli.so", "libjvm.so", NULL};

    return has_image(names);
}

bool host_program__has_agent(void)
{
    static const char *const names[] = {"libtreadle.so", NULL};

    return has_image(names);
}
