/* The own process's logical stacks, read as from outside, as text: "query/scan ORDERS/batch 42". */
#ifndef TEST_LOGICAL_STACK_H
#define TEST_LOGICAL_STACK_H

#include "native/activity/segment_reader.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The path of a process's segment, to be freed; NULL: it has none. */
static inline char *segment_path(pid_t pid)
{
    DIR *folder = opendir("/dev/shm");
    const struct dirent *entry;
    char prefix[64], *path = NULL;

    snprintf(prefix, sizeof prefix, "treadle-%d-", pid);
    while (folder && !path && (entry = readdir(folder)) != NULL)
        if (strncmp(entry->d_name, prefix, strlen(prefix)) == 0 &&
            strstr(entry->d_name, ".activity") && asprintf(&path, "/dev/shm/%s", entry->d_name) < 0)
            path = NULL;
    closedir(folder);
    return path;
}

/* A reader of the own segment that watches; made by a push if there is none yet. */
__attribute__((noinline, unused)) static struct segment_reader *watched(void)
{
    struct segment_reader *reader = NULL;
    char why[200] = "no segment", *path;

    treadle_push("first");
    treadle_pop();
    path = segment_path(getpid());
    if (path)
        reader = segment_reader__open(path, why, sizeof why);
    free(path);
    if (!reader || segment_reader__watch(reader, UINT64_C(3600000000000)) != 0)
        fail_msg("%s", why);
    return reader;
}

static inline void unwatched(struct segment_reader *reader)
{
    segment_reader__end_watch(reader);
    segment_reader__close(reader);
}

static inline const char *text_of(const struct segment_reader *reader,
                                  const struct segment_stack *stack)
{
    static char text[2048];
    size_t used = 0;

    text[0] = '\0';
    for (uint32_t i = 0; i < stack->depth; i++) {
        const struct segment_frame *frame = &stack->frames[i];
        char name[TREADLE_IDENTIFIER_BYTES];
        size_t length = segment_reader__identifier(reader, frame->identifier, name);

        used += (size_t)snprintf(text + used, sizeof text - used, "%s%.*s", i ? "/" : "",
                                 (int)length, name);
        if (frame->kind == TREADLE_TEXT)
            used += (size_t)snprintf(text + used, sizeof text - used, " %.*s", (int)frame->length,
                                     frame->text);
        if (frame->kind == TREADLE_NUMBER)
            used += (size_t)snprintf(text + used, sizeof text - used, " %" PRId64, frame->number);
    }
    return text;
}

static inline const char *stack_text_of(struct segment_reader *reader, pid_t tid)
{
    struct segment_stack stack;

    for (uint32_t slot = 0; slot < segment_reader__slots(reader); slot++)
        if (segment_reader__read(reader, slot, &stack) == SEGMENT_STACK && stack.tid == tid)
            return text_of(reader, &stack);
    return "(no stack)";
}

static inline const char *stack_text(struct segment_reader *reader)
{
    const char *text = stack_text_of(reader, gettid());

    return strcmp(text, "(no stack)") == 0 ? "" : text;
}

#endif
