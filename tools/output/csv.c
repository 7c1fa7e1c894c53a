#include "tools/output/csv.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static void separate(struct csv *csv)
{
    if (csv->fields++ > 0)
        fputc(',', csv->out);
}

/* What begins so is computed by a spreadsheet, or run, unless it is marked as text. */
static bool is_formula(const char *word)
{
    return word[0] != '\0' && strchr("=+-@\t\r", word[0]) != NULL;
}

void csv__word(struct csv *csv, const char *word)
{
    separate(csv);
    if (is_formula(word)) {
        fprintf(csv->out, "\"'");
    } else if (!strpbrk(word, ",\"\r\n") && word[0] != ' ') {
        fputs(word, csv->out);
        return;
    } else {
        fputc('"', csv->out);
    }
    for (const char *quote; (quote = strchr(word, '"')) != NULL; word = quote + 1) {
        fwrite(word, 1, (size_t)(quote - word), csv->out);
        fputs("\"\"", csv->out);
    }
    fputs(word, csv->out);
    fputc('"', csv->out);
}

void csv__text(struct csv *csv, struct text text)
{
    char *printable = text__printable(text, 0);

    csv__word(csv, printable);
    free(printable);
}

void csv__integer(struct csv *csv, uint64_t value)
{
    separate(csv);
    fprintf(csv->out, "%" PRIu64, value);
}

void csv__signed(struct csv *csv, int64_t value)
{
    separate(csv);
    fprintf(csv->out, "%" PRId64, value);
}

void csv__empty(struct csv *csv)
{
    separate(csv);
}

void csv__cells(struct csv *csv, const char *cells)
{
    separate(csv);
    fputs(cells, csv->out);
}

void csv__end_record(struct csv *csv)
{
    fputc('\n', csv->out);
    csv->fields = 0;
}
