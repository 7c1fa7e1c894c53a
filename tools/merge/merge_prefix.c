/* What a process's threads are called by in a merged ledger. */
#include "tools/merge/merge_parts.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define APPLICATION_BYTES 40u

struct word {
    const char *bytes;
    size_t length;
};

static bool is_word(struct word word, const char *text)
{
    return word.length == strlen(text) && memcmp(word.bytes, text, word.length) == 0;
}

/* The next word of a command, which has a blank or a NUL between two; of no bytes at the end. */
static struct word next_word(const char *command, size_t length, size_t *at)
{
    while (*at < length && (command[*at] == ' ' || command[*at] == '\0'))
        ++*at;
    struct word word = {command + *at, 0};
    while (*at < length && command[*at] != ' ' && command[*at] != '\0') {
        ++*at;
        word.length++;
    }
    return word;
}

static struct word without_folder(struct word word)
{
    for (size_t i = word.length; i-- > 0;)
        if (word.bytes[i] == '/')
            return (struct word){word.bytes + i + 1, word.length - i - 1};
    return word;
}

/* Options of java(1) whose value is the next word. */
static bool takes_word(struct word option)
{
    static const char *const options[] = {
        "-cp",           "-classpath",        "--class-path",    "-p",
        "--module-path", "--add-modules",     "--limit-modules", "--upgrade-module-path",
        "--add-reads",   "--add-exports",     "--add-opens",     "--patch-module",
        "--source",      "--describe-module",
    };

    for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
        if (is_word(option, options[i]))
            return true;
    return false;
}

/* The main class, jar or module of a command that begins with java; else its program. A blank in a
 * path misleads it, which costs nothing but a strange name. */
static struct word find_application(const char *command, size_t length)
{
    size_t at = 0;
    struct word program = without_folder(next_word(command, length, &at));
    struct word word = is_word(program, "java") ? next_word(command, length, &at) : program;

    while (word.length && (word.bytes[0] == '-' || word.bytes[0] == '@')) {
        bool names_it = is_word(word, "-jar") || is_word(word, "-m") || is_word(word, "--module");

        if (takes_word(word))
            next_word(command, length, &at);
        word = next_word(command, length, &at);
        if (names_it)
            break;
    }
    return without_folder(word.length ? word : program);
}

/* Packages are left out from the front until it fits. */
static struct word shortened(struct word name)
{
    const char *dot;

    while (name.length >= APPLICATION_BYTES && (dot = memchr(name.bytes, '.', name.length)))
        name = (struct word){dot + 1, name.length - (size_t)(dot + 1 - name.bytes)};
    if (name.length < APPLICATION_BYTES)
        return name;
    name.length = APPLICATION_BYTES - 1;
    while (name.length && ((unsigned char)name.bytes[name.length] & 0xc0) == 0x80)
        name.length--; /* not in the middle of a character */
    return name;
}

static void name_application(const struct merge_input *input, char name[APPLICATION_BYTES])
{
    size_t length = 0;
    const char *command = ledger_reader__string(input->reader, input->header->command, &length);
    struct word word = command ? shortened(find_application(command, length)) : (struct word){0};

    if (word.length == 0)
        word = (struct word){"java", 4};
    for (size_t i = 0; i < word.length; i++) {
        bool bracket = word.bytes[i] == '[' || word.bytes[i] == ']';

        name[i] = bracket ? '_' : word.bytes[i]; /* it would end the prefix early */
    }
    name[word.length] = '\0';
}

static bool is_taken(const struct ledger_merge *merge, const struct merge_input *input)
{
    for (size_t i = 0; i < input->number; i++)
        if (strcmp(merge->inputs[i].prefix, input->prefix) == 0)
            return true;
    return false;
}

void merge_prefix__set(const struct ledger_merge *merge, struct merge_input *input)
{
    char application[APPLICATION_BYTES];
    char number[24] = "";
    unsigned same = 1;

    if (input->header->pid == 0)
        return; /* merged before: its threads have theirs */
    name_application(input, application);
    do {
        snprintf(input->prefix, sizeof(input->prefix), "[pid %" PRId32 " %s%s] ",
                 input->header->pid, application, number);
        snprintf(number, sizeof(number), " #%u", ++same);
    } while (is_taken(merge, input));
}
