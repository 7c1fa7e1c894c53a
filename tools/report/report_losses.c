#include "tools/report/report_losses.h"

#include "tools/report/quantity.h"
#include "tools/report/report_folded.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The lines so far. */
struct list {
    struct report_losses_line *lines;
    size_t count;
};

__attribute__((format(printf, 5, 6))) static void add(struct list *list, const char *word,
                                                      const char *key, uint64_t count,
                                                      const char *format, ...)
{
    struct report_losses_line *line = &list->lines[list->count++];
    va_list arguments;

    *line = (struct report_losses_line){.key = key, .word = word, .count = count};
    va_start(arguments, format);
    vsnprintf(line->text, sizeof(line->text), format, arguments);
    va_end(arguments);
}

void report_losses__partial(uint64_t present_bytes, uint64_t missing_bytes,
                            const struct ledger_header *header, char text[PARTIAL_TEXT_BYTES])
{
    uint64_t merged_bytes = header->missing_bytes;
    uint64_t whole_bytes = present_bytes + missing_bytes;

    text[0] = '\0';
    if (missing_bytes > merged_bytes)
        snprintf(text, PARTIAL_TEXT_BYTES,
                 "the file ends at byte %" PRIu64 " of %" PRIu64 ": %s of the ledger is missing",
                 present_bytes, whole_bytes - merged_bytes,
                 quantity__share(missing_bytes, whole_bytes).text);
    else if (missing_bytes)
        snprintf(text, PARTIAL_TEXT_BYTES,
                 "%" PRIu64 " bytes of the merged ledgers were missing, beside %" PRIu64
                 " that are here",
                 missing_bytes, present_bytes);
}

void report_losses__corrected(const struct ledger_header *header, char text[CORRECTED_TEXT_BYTES])
{
    uint64_t count = header->positions_corrected;

    text[0] = '\0';
    if (count)
        snprintf(text, CORRECTED_TEXT_BYTES,
                 "%s position%s corrected: samples found threads elsewhere",
                 quantity__count(count).text, count == 1 ? "" : "s");
}

/* The thread of whose CPU a context that is not shown may have had the largest share. */
static const struct report_thread *least_known(const struct report_model *model, uint64_t *most_ns)
{
    const struct report_thread *found = NULL;

    *most_ns = 0;
    for (uint32_t i = 0; i < model->thread_count; i++) {
        const struct report_thread *thread = &model->threads[i];
        uint64_t ns = report_folded__most_cpu_ns(model, thread);

        if (ns && thread->cpu_ns &&
            (!found ||
             (double)ns / (double)thread->cpu_ns > (double)*most_ns / (double)found->cpu_ns)) {
            found = thread;
            *most_ns = ns;
        }
    }
    return found;
}

static void add_full(struct list *list, const struct report_model *model)
{
    const struct ledger_header *header = &model->header;
    int error = header->full_error;
    uint64_t most_ns;
    const struct report_thread *thread = least_known(model, &most_ns);

    if (error == ENOMEM && report_folded__times(model) && thread)
        add(list, "full", "full", 0,
            "the ledger reached max-mem (%s): cold contexts were folded %s, none with more "
            "than %s of its thread's CPU; raise it to keep more",
            quantity__bytes(header->max_bytes).text,
            quantity__counted(report_folded__times(model), "time").text,
            quantity__share(most_ns, thread->cpu_ns).text);
    else if (error == ENOMEM)
        add(list, "full", "full", 0,
            "the ledger reached max-mem (%s): raise it, or include fewer methods",
            quantity__bytes(header->max_bytes).text);
    else if (error == ENOSPC)
        add(list, "full", "full", 0,
            "the ledger filled its file system: a container's /dev/shm is often 64 MiB");
    else if (error)
        add(list, "full", "full", 0, "the ledger could not grow: %s", strerror(error));
}

size_t report_losses__of(const struct report_model *model,
                         struct report_losses_line lines[REPORT_LOSSES_LINES])
{
    struct list list = {.lines = lines};
    char partial[PARTIAL_TEXT_BYTES];

    report_losses__partial(model->present_bytes, model->missing_bytes, &model->header, partial);
    if (partial[0])
        add(&list, "partial", "missing_bytes", model->missing_bytes, "%s", partial);
    report_losses__partial(model->before_present_bytes, model->before_missing_bytes, &model->header,
                           partial);
    if (partial[0])
        add(&list, "partial", "missing_bytes_before", model->before_missing_bytes,
            "of the earlier snapshot %s", partial);
    for (unsigned i = 0; i < REPORT_LOSSES; i++) {
        struct report_loss loss = report_loss__of(&model->header, i);
        char text[LOSS_TEXT_BYTES];

        report_loss__text(&loss, text);
        if (loss.count)
            add(&list, "lost", loss.key, loss.count, "%s", text);
    }
    /* Where a file ends too early is one of them, and told already. */
    bool is_told = model->skipped == 1 && model->missing_bytes > model->header.missing_bytes;
    if (model->skipped && !is_told)
        add(&list, "lost", "skipped_records", model->skipped, "%s unreadable, the first at %s",
            quantity__counted(model->skipped, "record").text, model->skipped_where);
    add_full(&list, model);
    return list.count;
}

char *report_losses__list(const struct report_model *model, bool with_partial)
{
    struct report_losses_line lines[REPORT_LOSSES_LINES];
    size_t count = report_losses__of(model, lines);
    char *list = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&list, &length);
    const char *before = "";

    for (size_t i = 0; out && i < count; i++) {
        if (!with_partial && strcmp(lines[i].word, "partial") == 0)
            continue;
        fprintf(out, "%s%s: %s", before, lines[i].word, lines[i].text);
        before = "; ";
    }
    bool is_written = out && fclose(out) == 0;
    if (is_written && length)
        return list;
    free(list);
    return NULL;
}

struct text report_losses__title(struct text_store *store, const struct report_model *model)
{
    char *list = report_losses__list(model, true);
    char *title = NULL;
    size_t length = 0;
    FILE *out = list ? open_memstream(&title, &length) : NULL;

    if (out) {
        fwrite(model->command.bytes, 1, model->command.length, out);
        fprintf(out, " (%s)", list);
    }
    bool is_written = out && fclose(out) == 0;
    struct text kept = is_written ? text__keep(store, title, length) : model->command;
    free(list);
    free(title);
    return kept;
}
