#include "tools/ledgers/ledger_summary.h"

#include "native/ledger/ledger.h"
#include "native/ledger/ledger_file.h"
#include "native/ledger/ledger_gate.h"
#include "tools/ledgers/rights.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Where the look at a file stands. */
struct look {
    int fd;
    uint32_t chunks;
    struct ledger_summary *summary;
    struct text_store *texts;
};

/* Zeros from where the file ends, or cannot be read, on. */
static void read_cells(const struct look *look, uint64_t cell, void *to, size_t bytes)
{
    memset(to, 0, bytes);
    (void)ledger_file__read_at(look->fd, to, bytes, cell * LEDGER_CELL_BYTES);
}

static void count_thread(struct ledger_summary *summary, const struct ledger_thread *thread)
{
    if (thread->kind == 0 || thread->flags & THREAD_HIDDEN)
        return;
    summary->threads++;
    summary->header.dropped_enters += thread->lost_enters;
    summary->ended += (thread->flags & THREAD_TERMINATED) != 0;
}

static void count_threads(const struct look *look, uint64_t first, const struct ledger_chunk *head)
{
    uint32_t cells = ledger_gate__record_cells(LEDGER_THREADS);
    struct ledger_thread thread;

    for (uint32_t cell = 1; cell + cells <= head->used_cells; cell += cells) {
        read_cells(look, first + cell, &thread, sizeof(thread));
        count_thread(look->summary, &thread);
    }
}

/* The string, if it lies in the run, with its bytes. */
static void read_text(const struct look *look, uint64_t first, const struct ledger_chunk *head,
                      ledger_ref ref, struct text *text)
{
    struct ledger_string string;
    size_t begin = offsetof(struct ledger_string, bytes);
    uint64_t room;
    char *bytes;

    if (ref <= first || ref >= first + head->used_cells)
        return;
    room = (first + head->used_cells - ref) * LEDGER_CELL_BYTES - begin;
    read_cells(look, ref, &string, sizeof(string));
    if (string.length > room || string.length > LEDGER_STRING_MAX)
        return;
    bytes = malloc(begin + string.length);
    if (!bytes)
        return;
    read_cells(look, ref, bytes, begin + string.length);
    *text = text__from_java(look->texts, bytes + begin, string.length);
    free(bytes);
}

static uint32_t look_at_run(const struct look *look, uint32_t chunk)
{
    struct ledger_summary *summary = look->summary;
    const struct ledger_header *header = &summary->header;
    uint64_t first = (uint64_t)chunk * LEDGER_CHUNK_CELLS;
    struct ledger_chunk head;

    read_cells(look, first, &head, sizeof(head));
    if (!ledger_chunk__is_head(&head))
        return 1;
    ledger_chunk__bound(&head, look->chunks - chunk);
    if (head.table == LEDGER_THREADS)
        count_threads(look, first, &head);
    if (head.table == LEDGER_STRINGS) {
        read_text(look, first, &head, header->command, &summary->command);
        read_text(look, first, &head, header->jvm, &summary->jvm);
        read_text(look, first, &head, header->options, &summary->options);
    }
    return head.run;
}

static int look_at(struct look *look, const struct ledger_complaint *to)
{
    struct ledger_summary *summary = look->summary;
    struct ledger_extent extent;

    if (ledger_file__read_header(look->fd, &summary->header, to) ||
        ledger_file__measure(look->fd, summary->header.chunks_used, &extent, to))
        return -1;
    look->chunks = extent.chunks;
    summary->life = ledger_header__life(&summary->header);
    summary->present_bytes = extent.present_bytes;
    summary->missing_bytes = extent.missing_bytes + summary->header.missing_bytes;
    for (uint32_t chunk = 1; chunk < look->chunks;)
        chunk += look_at_run(look, chunk);
    return 0;
}

#define TEXTS      3u
#define TEXT_BYTES (3u * LEDGER_STRING_MAX) /* a bad byte becomes three */

/* What a look with the rights of the file's owner leaves behind. */
struct seen {
    int fd;
    const char *path;
    char message[512];
    struct ledger_summary summary;
    size_t length[TEXTS];
    char bytes[TEXTS][TEXT_BYTES];
};

static int look_now(void *context)
{
    struct seen *seen = context;
    struct ledger_summary *summary = &seen->summary;
    const struct ledger_complaint to = {seen->path, seen->message, sizeof(seen->message)};
    struct text_store texts = {0};
    struct look look = {.fd = seen->fd, .summary = summary, .texts = &texts};
    int error = look_at(&look, &to) ? -EINVAL : 0;
    const struct text found[TEXTS] = {summary->command, summary->jvm, summary->options};

    for (size_t i = 0; i < TEXTS; i++) {
        seen->length[i] = found[i].length;
        memcpy(seen->bytes[i], found[i].bytes, found[i].length);
    }
    text_store__release(&texts);
    return error;
}

/* A child may have written anything. */
static struct text text_of(const struct seen *seen, size_t number, struct text_store *texts)
{
    size_t length = seen->length[number];

    return text__from_java(texts, seen->bytes[number], length < TEXT_BYTES ? length : TEXT_BYTES);
}

static int take_seen(struct ledger_summary *summary, struct seen *seen, struct text_store *texts,
                     int error, const struct ledger_complaint *to)
{
    seen->message[sizeof(seen->message) - 1] = '\0';
    if (error == -EINVAL && seen->message[0])
        snprintf(to->message, to->bytes, "%s", seen->message);
    else if (error)
        ledger_complaint__say(to, "cannot be read: %s", strerror(-error));
    if (error)
        return -1;
    *summary = seen->summary;
    summary->command = text_of(seen, 0, texts);
    summary->jvm = text_of(seen, 1, texts);
    summary->options = text_of(seen, 2, texts);
    return 0;
}

int ledger_summary__read(struct ledger_summary *summary, struct text_store *texts, const char *path,
                         char *message, size_t message_bytes)
{
    const struct ledger_complaint to = {path, message, message_bytes};
    const struct text none = {"", 0};
    int fd = ledger_file__open(path, &to);
    struct seen *seen = fd < 0 ? NULL : rights__shared(sizeof(*seen));
    int error = -1;

    *summary = (struct ledger_summary){.command = none, .jvm = none, .options = none};
    if (seen) {
        seen->fd = fd;
        seen->path = path;
        seen->summary = *summary;
        error = rights__work_as_owner(fd, look_now, seen);
        error = take_seen(summary, seen, texts, error, &to);
    } else if (fd >= 0) {
        ledger_complaint__say(&to, "%s", strerror(ENOMEM));
    }
    rights__release_shared(seen, sizeof(*seen));
    if (fd >= 0)
        close(fd);
    return error;
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
