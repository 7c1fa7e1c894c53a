#include "tools/agent/agent_options.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LIBRARY "libtreadle.so"

int agent_options__add(struct agent_options *options, const char *key, const char *value)
{
    char *joined = NULL;
    bool list = strcmp(key, "metrics") == 0;

    if (value && strchr(value, ',') && !list)
        return -EINVAL;
    int length = asprintf(&joined, "%s%s%s%s%s", options->text ? options->text : "",
                          options->text ? "," : "", key, value ? "=" : "", value ? value : "");
    if (length < 0)
        return -ENOMEM;
    size_t begin = (size_t)length - (value ? strlen(value) : 0);
    for (char *comma = joined + begin; list && (comma = strchr(comma, ',')) != NULL;)
        *comma = '+';
    free(options->text);
    options->text = joined;
    return 0;
}

/* Appends so many bytes to *text, which is freed when there is no memory for them. */
static bool append(char **text, const char *piece, size_t length, const char *before)
{
    char *longer = NULL;
    int made = asprintf(&longer, "%s%s%.*s", *text ? *text : "", before, (int)length, piece);

    free(*text);

    *text = made < 0 ? NULL : longer;
    return *text != NULL;
}

char *agent_options__globs(const char *list, const char **file)
{
    char *globs = NULL;
    bool fine = true;

    for (const char *item = list; fine; item++) {
        size_t length = strcspn(item, ";");
        char *path = NULL;

        if (item[0] == '@' && item[1] != '/' && length > 1) {
            char *name = strndup(item + 1, length - 1);

            *file = item + 1;
            path = name ? realpath(name, NULL) : NULL;
            free(name);
            fine = path != NULL;
        }
        if (fine)
            fine = append(&globs, path ? path : item, path ? strlen(path) : length,
                          item == list ? (path ? "@" : "") : (path ? ";@" : ";"));
        free(path);
        item += length;
        if (!*item)
            break;
    }
    if (fine)
        return globs;
    free(globs);
    return NULL;
}

void agent_options__release(struct agent_options *options)
{
    free(options->text);
    options->text = NULL;
}

/* The folder of this program, or "" */
static void own_folder(char folder[PATH_MAX])
{
    ssize_t length = readlink("/proc/self/exe", folder, PATH_MAX - 1);

    folder[length > 0 ? length : 0] = '\0';
    char *slash = strrchr(folder, '/');
    if (slash)
        *slash = '\0';
}

static char *try_path(const char *path, char *tried, size_t tried_bytes)
{
    size_t at = strlen(tried);
    char *absolute = realpath(path, NULL);

    if (absolute && access(absolute, R_OK) == 0)
        return absolute;
    free(absolute);
    snprintf(tried + at, tried_bytes - at, "%s%s", at ? ", " : "", path);
    return NULL;
}

char *agent_library__find(char *tried, size_t tried_bytes)
{
    static const char *const beside[] = {"/../agent/" LIBRARY, "/../lib/treadle/" LIBRARY};
    const char *chosen = getenv("TREADLE_AGENT");

    tried[0] = '\0';
    if (chosen && chosen[0])
        return try_path(chosen, tried, tried_bytes);
    char folder[PATH_MAX];
    own_folder(folder);
    char *found = NULL;
    for (size_t i = 0; i < 2 && !found; i++) {
        char path[PATH_MAX + 64];

        snprintf(path, sizeof(path), "%s%s", folder, beside[i]);
        found = try_path(path, tried, tried_bytes);
    }
    return found ? found : try_path(TREADLE_LIBRARY_FOLDER "/" LIBRARY, tried, tried_bytes);
}
