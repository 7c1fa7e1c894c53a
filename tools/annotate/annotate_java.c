/* A Java method's lines and bytecode: what was interpreted, and what was compiled, wherever it was
 * inlined, by its bytecode index. */
#include "tools/annotate/annotation.h"
#include "tools/report/bytecode_text.h"
#include "tools/report/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CONTEXT_LINES 2u
#define LINES_MAX     65535u
#define TAB_COLUMNS   8u

#define SOURCE_BYTES_MAX (64 << 20)

#define NO_LINES_TITLE "Bytecode: the ledger has no line numbers of it"

/* Lines from the method's first to its last. */
static void line_range(const struct report_method_code *code, uint32_t *first, uint32_t *last)
{
    *first = UINT32_MAX;
    *last = 0;
    for (size_t at = 0; at + 4 <= code->line_bytes; at += 4) {
        uint16_t line;

        memcpy(&line, code->lines + at + 2, sizeof(line));
        *first = line && line < *first ? line : *first;
        *last = line > *last ? line : *last;
    }
}

static char *with_spaces(const char *line)
{
    size_t length = strcspn(line, "\r\n");
    char *spaced = memory__zeroed(length * TAB_COLUMNS + 1, 1);
    size_t column = 0;

    for (size_t i = 0; i < length; i++) {
        do
            spaced[column++] = line[i] == '\t' ? ' ' : line[i];
        while (line[i] == '\t' && column % TAB_COLUMNS);
    }
    return spaced;
}

/* "Main.java" of demo.Main$Inner, should the ledger not say. */
static char *source_name(const struct report_method *method)
{
    if (method->source.length)
        return strdup(method->source.bytes);
    const char *dot = strrchr(method->class_name.bytes, '.');
    const char *simple = dot ? dot + 1 : method->class_name.bytes;
    char *name = NULL;
    if (asprintf(&name, "%.*s.java", (int)strcspn(simple, "$"), simple) < 0)
        return NULL;
    return name;
}

/* NULL, and errno, of what is no regular file, or no source of that size. Never waits, as an open
 * of a pipe would. */
static FILE *open_regular(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat status;
    FILE *file = NULL;

    if (fd < 0)
        return NULL;
    if (fstat(fd, &status) == 0) {
        errno = status.st_size > SOURCE_BYTES_MAX ? EFBIG : EINVAL;
        if (S_ISREG(status.st_mode) && status.st_size <= SOURCE_BYTES_MAX)
            file = fdopen(fd, "r");
    }
    if (!file)
        close(fd);
    return file;
}

/* In the folder of the package, or right there. */
static FILE *open_in_folder(const struct report_method *method, const char *folder)
{
    char *name = source_name(method);
    char *path = NULL;
    FILE *file = NULL;
    const char *dot = strrchr(method->class_name.bytes, '.');
    int package = dot ? (int)(dot - method->class_name.bytes) : 0;

    if (name && !strchr(name, '/') &&
        asprintf(&path, "%s/%.*s/%s", folder, package, method->class_name.bytes, name) > 0) {
        for (char *at = path + strlen(folder); at < path + strlen(folder) + 1 + package; at++)
            *at = *at == '.' ? '/' : *at;
        file = open_regular(path);
        free(path);
        path = NULL;
        if (!file && asprintf(&path, "%s/%s", folder, name) > 0)
            file = open_regular(path);
        free(path);
    }
    free(name);
    return file;
}

static FILE *open_source(const struct report_method *method, const char *source, char *message,
                         size_t message_bytes)
{
    struct stat status;

    if (stat(source, &status) != 0) {
        snprintf(message, message_bytes, "%s: cannot be read: %s", source, strerror(errno));
        return NULL;
    }
    if (!S_ISDIR(status.st_mode) && !S_ISREG(status.st_mode)) {
        snprintf(message, message_bytes, "%s: is no regular file", source);
        return NULL;
    }
    FILE *file = S_ISDIR(status.st_mode) ? open_in_folder(method, source) : open_regular(source);
    if (!file && S_ISDIR(status.st_mode))
        snprintf(message, message_bytes,
                 "%s: has no source of %s; name its file, or the folder that its package is in",
                 source, method->class_name.bytes);
    else if (!file)
        snprintf(message, message_bytes, "%s: cannot be read: %s", source, strerror(errno));
    return file;
}

static void add_lines(struct listing *listing, FILE *file, uint32_t first, uint32_t last)
{
    char *line = NULL;
    size_t room = 0;

    for (uint32_t number = 1; number <= last && number <= LINES_MAX; number++) {
        if (getline(&line, &room, file) < 0)
            break;
        if (number >= first)
            listing__add(listing, number, with_spaces(line))->line = number;
    }
    free(line);
}

/* What the ledger has no bytecode of has rows where samples were. */
static void add_bare_rows(struct listing *listing, const struct report_places *places,
                          const struct report_method_code *code, uint32_t method)
{
    for (int32_t bci = -1;;) {
        int32_t next = -1;

        for (uint32_t i = 0; i < places->place_count; i++) {
            const struct report_place *place = &places->places[i];

            if (place->method == method && place->bci > bci && (next < 0 || place->bci < next))
                next = place->bci;
        }
        if (next < 0)
            return;
        bci = next;
        listing__add(listing, (uint64_t)bci, strdup(""))->line =
            report_method_code__line(code, bci);
    }
}

void annotation__add_bytecode(struct annotation *annotation, struct report_places *places,
                              const struct report_method_code *code, const char *title)
{
    struct listing *listing = annotation__add(annotation, LISTING_BYTECODE, strdup(title));

    for (size_t at = 0; at < code->bytecode_bytes;) {
        char text[BYTECODE_TEXT_BYTES];
        size_t taken = bytecode_text__instruction(code->bytecode, code->bytecode_bytes, at, text);

        listing__add(listing, at, strdup(text))->line = report_method_code__line(code, (int64_t)at);
        at += taken;
    }
    if (!code->bytecode)
        add_bare_rows(listing, places, code, annotation->method);
    for (uint32_t i = 0; i < places->place_count; i++) {
        const struct report_place *place = &places->places[i];
        bool inside = !code->bytecode || (uint64_t)place->bci < code->bytecode_bytes;

        if (place->method != annotation->method || place->bci < 0)
            continue;
        if (!inside || !listing__count(listing, (uint64_t)place->bci, place->samples))
            annotation->unplaced += place->samples;
    }
}

int annotation__add_source(struct annotation *annotation, struct report_places *places,
                           const struct report_method_code *code, const char *source, char *message,
                           size_t message_bytes)
{
    const struct report_method *method = &places->model->methods[annotation->method];
    uint32_t first, last;
    FILE *file = open_source(method, source, message, message_bytes);

    if (!file)
        return -ENOENT;
    line_range(code, &first, &last);
    if (last == 0) {
        fclose(file);
        annotation__add_bytecode(annotation, places, code, NO_LINES_TITLE);
        return 0;
    }
    struct listing *listing = annotation__add(annotation, LISTING_SOURCE, strdup("Source"));
    first = first > CONTEXT_LINES ? first - CONTEXT_LINES : 1;
    add_lines(listing, file, first, last + CONTEXT_LINES);
    fclose(file);
    for (uint32_t i = 0; i < places->place_count; i++) {
        const struct report_place *place = &places->places[i];

        if (place->method != annotation->method || place->bci < 0)
            continue;
        uint32_t line = report_method_code__line(code, place->bci);
        if (!line || !listing__count(listing, line, place->samples))
            annotation->unplaced += place->samples;
    }
    return 0;
}
