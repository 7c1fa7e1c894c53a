/* Call frame information as binutils' readelf interprets it: another reading of the same bytes. */
#ifndef TREADLE_TEST_READELF_ROWS_H
#define TREADLE_TEST_READELF_ROWS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#define COLUMNS  24
#define CELL     16
#define LINE     512
#define NO_SHELL 127

/* A row as readelf prints it: "rsp+8", "c-16", "u"; and to which addresses it applies. */
struct printed_row {
    uint64_t from, to;
    uint64_t function_start, function_end;
    char cfa[CELL], fp[CELL], return_address[CELL];
    bool signal_frame;
};

typedef void (*printed_row_seen)(void *context, const struct printed_row *row);

/* What was read so far. */
struct printed {
    char names[COLUMNS][CELL]; /* of the columns */
    struct printed_row row;    /* applies until the next begins */
    uint64_t signal_common;    /* the common entry of signal frames */
    bool in_function, has_row;
    printed_row_seen seen;
    void *context;
};

/* The words of a line, which is cut up; "r10 (r10)" is one. The rest is empty. */
static inline void split(char *line, char words[COLUMNS][CELL])
{
    char *rest = NULL;
    int count = 0;

    memset(words, 0, (size_t)COLUMNS * CELL);
    for (char *word = strtok_r(line, " \n", &rest); word && count < COLUMNS;
         word = strtok_r(NULL, " \n", &rest))
        if (word[0] != '(')
            snprintf(words[count++], CELL, "%.15s", word);
}

static inline uint64_t hexadecimal_after(const char *line, const char *what)
{
    const char *found = strstr(line, what);

    return found ? strtoul(found + strlen(what), NULL, 16) : 0;
}

static inline void end_row(struct printed *printed, uint64_t to)
{
    printed->row.to = to;
    if (printed->has_row && printed->row.from < to)
        printed->seen(printed->context, &printed->row);
    printed->has_row = false;
}

static inline void take_function(struct printed *printed, const char *line)
{
    printed->in_function = true;
    printed->row.signal_frame = hexadecimal_after(line, "cie=") == printed->signal_common;
    printed->row.function_start = hexadecimal_after(line, "pc=");
    printed->row.function_end = hexadecimal_after(line, "..");
}

static inline void set_cell(const struct printed *printed, char to[CELL], char words[COLUMNS][CELL],
                            const char *name)
{
    memcpy(to, "u", 2);
    for (int i = 0; i < COLUMNS; i++)
        if (strcmp(printed->names[i], name) == 0)
            memcpy(to, words[i], CELL);
}

static inline void take_row(struct printed *printed, char *line)
{
    uint64_t from = strtoul(line, NULL, 16);
    char words[COLUMNS][CELL];

    end_row(printed, from);
    split(line, words);
    printed->row.from = from;
    set_cell(printed, printed->row.cfa, words, "CFA");
    set_cell(printed, printed->row.fp, words, "rbp");
    set_cell(printed, printed->row.return_address, words, "ra");
    printed->has_row = true;
}

static inline void take_line(struct printed *printed, char *line)
{
    if (strstr(line, " CIE ") || strstr(line, " FDE "))
        end_row(printed, printed->row.function_end);
    if (strstr(line, " CIE ")) {
        printed->in_function = false;
        if (strstr(line, "\"zRS\""))
            printed->signal_common = strtoul(line, NULL, 16);
    } else if (strstr(line, " FDE ")) {
        take_function(printed, line);
    } else if (strstr(line, "LOC") && strstr(line, "CFA")) {
        split(line, printed->names);
    } else if (printed->in_function && strlen(line) > CELL && line[CELL] == ' ') {
        take_row(printed, line);
    }
}

/* Every row of a file. False if there is no readelf. */
static inline bool readelf_rows__read(const char *path, printed_row_seen seen, void *context)
{
    struct printed printed = {.signal_common = UINT64_MAX, .seen = seen, .context = context};
    char command[600], line[LINE];
    FILE *output;
    int status;

    snprintf(command, sizeof command, "readelf -W --debug-dump=frames-interp '%s' 2>/dev/null",
             path);
    output = popen(command, "r"); // NOLINT(cert-env33-c): the paths are the tests' own
    if (!output)
        return false;
    while (fgets(line, sizeof line, output))
        take_line(&printed, line);
    end_row(&printed, printed.row.function_end);
    /* Its exit status also says that some other file could not be read. */
    status = pclose(output);
    return !WIFEXITED(status) || WEXITSTATUS(status) != NO_SHELL;
}

#endif
