#include "tools/jvm/jvm_arguments.h"

#include "tools/report/memory.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A file of strings that each end with a NUL, to be freed; another NUL is put behind it. */
static char *read_strings(pid_t pid, const char *name, size_t *length)
{
    char path[64], *text = NULL;
    size_t room = 0;
    size_t got = 0;
    FILE *file;

    *length = 0;
    snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
    file = fopen(path, "re");
    if (!file)
        return NULL;
    do {
        *length += got;
        text = memory__grown(text, &room, *length + 4096, 1);
        got = fread(text + *length, 1, 4095, file);
    } while (got);
    text[*length] = '\0';
    fclose(file);
    return text;
}

static void add(struct jvm_arguments *arguments, size_t *room, char *item)
{
    arguments->items =
        memory__grown((void *)arguments->items, room, arguments->count + 1, sizeof(item));
    arguments->items[arguments->count++] = item;
}

/* Options of java whose value is the next argument. */
static bool takes_next(const char *option)
{
    static const char *const options[] = {
        "-cp",           "-classpath",
        "--class-path",  "-p",
        "--module-path", "--upgrade-module-path",
        "--add-modules", "--limit-modules",
        "--add-exports", "--add-opens",
        "--add-reads",   "--patch-module",
        "--source",      "--enable-native-access",
    };

    for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
        if (strcmp(option, options[i]) == 0)
            return true;
    return false;
}

static bool names_the_program(const char *option)
{
    static const char *const options[] = {"-jar", "-m", "--module"};

    if (option[0] != '-' && option[0] != '@')
        return true;
    for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
        if (strcmp(option, options[i]) == 0)
            return true;
    return false;
}

static void add_of_environment(struct jvm_arguments *arguments, size_t *room, size_t length)
{
    static const char key[] = "JDK_JAVA_OPTIONS=";
    char *text = arguments->texts[1];

    for (char *at = text; text && at < text + length; at += strlen(at) + 1) {
        char *rest = NULL;

        if (strncmp(at, key, sizeof(key) - 1) != 0)
            continue;
        for (char *word = strtok_r(at + sizeof(key) - 1, " \t\n", &rest); word;
             word = strtok_r(NULL, " \t\n", &rest))
            add(arguments, room, word);
        return;
    }
}

static void add_of_command_line(struct jvm_arguments *arguments, size_t *room, size_t length,
                                bool java)
{
    char *text = arguments->texts[0];
    const char *end = text + length;

    for (char *at = text + strlen(text) + 1; at < end; at += strlen(at) + 1) {
        if (java && names_the_program(at))
            return;
        if (java && takes_next(at))
            at += strlen(at) + 1;
        else
            add(arguments, room, strncmp(at, "-J", 2) == 0 ? at + 2 : at);
    }
}

int jvm_arguments__read(struct jvm_arguments *arguments, pid_t pid)
{
    size_t lengths[2];
    size_t room = 0;
    const char *slash;
    bool java;

    *arguments = (struct jvm_arguments){0};
    arguments->texts[0] = read_strings(pid, "cmdline", &lengths[0]);
    if (!arguments->texts[0])
        return -errno;
    slash = strrchr(arguments->texts[0], '/');
    java = strcmp(slash ? slash + 1 : arguments->texts[0], "java") == 0;
    if (java) {
        arguments->texts[1] = read_strings(pid, "environ", &lengths[1]);
        add_of_environment(arguments, &room, lengths[1]);
    }
    add_of_command_line(arguments, &room, lengths[0], java);
    return 0;
}

void jvm_arguments__release(struct jvm_arguments *arguments)
{
    free((void *)arguments->items);
    for (size_t i = 0; i < 2; i++)
        free(arguments->texts[i]);
    *arguments = (struct jvm_arguments){0};
}
