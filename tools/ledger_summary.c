#include "tools/ledger_summary.h"

static void count_threads(struct ledger_summary *summary, const struct ledger_reader *reader)
{
    ledger_ref ref = 0;

    while ((ref = ledger_reader__next(reader, LEDGER_THREADS, ref)) != 0) {
        const struct ledger_thread *thread = ledger_reader__thread(reader, ref);

        if (thread->kind == 0 || thread->flags & THREAD_HIDDEN)
            continue;
        summary->threads++;
        summary->header.dropped_enters += thread->lost_enters;
        summary->ended += (thread->flags & THREAD_TERMINATED) != 0;
    }
}

static struct text string_of(const struct ledger_reader *reader, struct text_store *texts,
                             ledger_ref ref)
{
    size_t length;
    const char *bytes = ledger_reader__string(reader, ref, &length);

    return text__from_java(texts, bytes ? bytes : "", bytes ? length : 0);
}

int ledger_summary__read(struct ledger_summary *summary, struct text_store *texts, const char *path,
                         char *message, size_t message_bytes)
{
    struct ledger_reader *reader = ledger_reader__open(path, message, message_bytes);

    *summary = (struct ledger_summary){0};
    if (!reader)
        return -1;
    summary->header = *ledger_reader__header(reader);
    summary->life = ledger_reader__life(reader);
    summary->present_bytes = ledger_reader__present_bytes(reader);
    summary->missing_bytes = ledger_reader__missing_bytes(reader);
    summary->command = string_of(reader, texts, summary->header.command);
    summary->jvm = string_of(reader, texts, summary->header.jvm);
    summary->options = string_of(reader, texts, summary->header.options);
    count_threads(summary, reader);
    ledger_reader__close(reader);
    return 0;
}

const char *ledger_summary__state(const struct ledger_summary *summary)
{
    static const char *const states[] = {
        [LEDGER_IS_CLOSED] = "snapshot", [LEDGER_IS_LIVE] = "live", [LEDGER_IS_ORPHAN] = "orphan"};

    if (summary->missing_bytes)
        return "partial";
    if (summary->life == LEDGER_IS_LIVE && ledger_header__is_stopped(&summary->header))
        return "stopped";
    return states[summary->life];
}
