#include "tools/views/view_losses.h"

#include "tools/command.h"
#include "tools/output/json_rows.h"
#include "tools/report/report_losses.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORD_COLUMNS 10u

void view_losses__text(const struct screen *screen, const struct report_model *model,
                       const char *of)
{
    struct report_losses_line lines[REPORT_LOSSES_LINES];
    size_t count = report_losses__of(model, lines);

    for (size_t i = 0; i < count; i++) {
        fputs(screen__warn(screen), screen->out);
        screen__left(screen, lines[i].word, WORD_COLUMNS);
        fprintf(screen->out, "%s%s%s\n", screen__plain(screen), of, lines[i].text);
    }
    if (count)
        fputc('\n', screen->out);
}

json_t *view_losses__partial_json(uint64_t present_bytes, uint64_t missing_bytes)
{
    json_t *partial = json_object();

    json_object_set_new(partial, "present_bytes", json_row__integer(present_bytes));
    json_object_set_new(partial, "missing_bytes", json_row__integer(missing_bytes));
    return partial;
}

void view_losses__add_to(json_t *object, const struct report_model *model)
{
    struct report_losses_line lines[REPORT_LOSSES_LINES];
    size_t count = report_losses__of(model, lines);
    json_t *list = count ? json_array() : NULL;

    for (size_t i = 0; i < count; i++) {
        json_t *loss = json_object();

        json_object_set_new(loss, "what", json_string(lines[i].key));
        json_object_set_new(loss, "count", json_row__integer(lines[i].count));
        json_object_set_new(loss, "meaning", json_string(lines[i].text));
        json_array_append_new(list, loss);
    }
    if (list)
        json_object_set_new(object, "losses", list);
    if (!model->missing_bytes)
        return;
    json_object_set_new(object, "partial",
                        view_losses__partial_json(model->present_bytes, model->missing_bytes));
}

void view_losses__add_json(const struct view *view)
{
    json_t *members = json_object();

    view_losses__add_to(members, view->model);
    if (json_object_size(members) == 0) {
        json_decref(members);
        return;
    }
    fputs(",\n", view->screen.out);
    json_row__write_members(view->screen.out, members);
}

/* What is cut off was noted when the ledger was opened. */
static void note_others(const struct report_model *model, const char *path)
{
    char *list = report_losses__list(model, false);

    if (list)
        command__note("%s: %s; this format has no place to say so", path, list);
    free(list);
}

/* Each line on what is cut off, between the two texts. */
static void write_partial(FILE *out, const struct report_model *model, const char *before,
                          const char *after, const char *values)
{
    struct report_losses_line lines[REPORT_LOSSES_LINES];
    size_t count = report_losses__of(model, lines);

    for (size_t i = 0; i < count; i++)
        if (strcmp(lines[i].word, "partial") == 0)
            fprintf(out, "%spartial: %s%s%s\n", before, lines[i].text, after, values);
}

void view_losses__csv(FILE *out, const struct report_model *model, const char *path)
{
    write_partial(out, model, "# ", "", "");
    note_others(model, path);
}

void view_losses__collapsed(FILE *out, const struct report_model *model, const char *path,
                            const char *values)
{
    write_partial(out, model, "(", ") ", values);
    note_others(model, path);
}
