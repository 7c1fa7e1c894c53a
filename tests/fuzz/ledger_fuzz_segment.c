/* libFuzzer: any bytes as a segment of logical stacks, as another process may leave them: read as
 * `treadle sample` reads it, with the merge and the ledger that come of it. */
#define TREADLE_FORMAT_ONLY
#include "native/activity/activity_tree.h"
#include "native/activity/segment_reader.h"
#include "tools/sample/sampled_parts.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What stands right in most inputs, so that the rest is reached. */
static void put_head(struct treadle_head *head)
{
    memcpy(head->magic, TREADLE_MAGIC, sizeof head->magic);
    head->format = TREADLE_FORMAT;
    head->byte_order = TREADLE_BYTE_ORDER;
    if (head->head_bytes & 1)
        return;
    head->identifiers_offset = sizeof *head;
    head->identifier_bytes = sizeof(struct treadle_identifier);
    head->identifiers_max = 4;
    head->slots_offset = sizeof *head + 4 * sizeof(struct treadle_identifier);
    head->slot_bytes = sizeof(struct treadle_slot);
    head->slots_max = 4;
    head->frames_offset = offsetof(struct treadle_slot, frames);
    head->frame_bytes = sizeof(struct treadle_frame);
    head->frames_max = TREADLE_FRAMES;
    head->slots_used = 4;
    head->part_bytes = sizeof(struct treadle_part);
    head->parts_offset = head->slots_offset + 4 * (uint32_t)sizeof(struct treadle_slot);
    head->parts_max = 4;
}

static ledger_ref no_name(void *context, pid_t tid)
{
    (void)context, (void)tid;
    return 0;
}

/* As often as a sampler would, and at its end. */
static void take_parts(struct segment_reader *reader, struct activity_tree *tree)
{
    struct sampled_parts *parts = calloc(1, sizeof *parts);
    struct part_feed *feed = calloc(1, sizeof *feed);

    if (!parts || !feed)
        abort();
    chain_parts__init(&parts->ring, tree->ledger);
    parts->tree = tree;
    parts->name_of = no_name;
    sampled_parts__take(parts, reader, feed);
    sampled_parts__take(parts, reader, feed);
    sampled_parts__take_open(parts, reader, feed);
    free(parts);
    free(feed);
}

static void merge(struct segment_reader *reader, struct activity_tree *tree, ledger_ref root)
{
    char texts[SEGMENT_FRAMES_MAX][TREADLE_IDENTIFIER_BYTES];
    struct activity_frame frames[SEGMENT_FRAMES_MAX];
    uint32_t slots = segment_reader__slots(reader);
    struct segment_stack stack;

    for (uint32_t slot = 0; slot < slots; slot++) {
        if (segment_reader__read(reader, slot, &stack) != SEGMENT_STACK)
            continue;
        for (uint32_t i = 0; i < stack.depth; i++)
            frames[i] = (struct activity_frame){
                texts[i], segment_reader__identifier(reader, stack.frames[i].identifier, texts[i]),
                stack.frames[i].text, stack.frames[i].length};
        struct activity_share share = {.samples = 1, .cpu_ns = 1, .wall_ns = 1};
        activity_tree__charge(tree, activity_tree__find(tree, root, frames, stack.depth), &share);
    }
    (void)segment_reader__losses(reader);
}

/* What libFuzzer calls, and declares nowhere. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    char path[64], why[200];
    struct segment_reader *reader;
    struct treadle_head head;
    struct ledger ledger;

    if (length < sizeof head)
        return 0;
    memcpy(&head, bytes, sizeof head);
    put_head(&head);
    snprintf(path, sizeof path, "/dev/shm/treadle-fuzz-%d", getpid());
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, &head, sizeof head) < 0 ||
        write(fd, bytes + sizeof head, length - sizeof head) < 0)
        abort();
    close(fd);
    reader = segment_reader__open(path, why, sizeof why);
    unlink(path);
    if (!reader)
        return 0;
    if (ledger__create(&ledger, NULL, 4u << 20) == 0) {
        struct activity_tree tree;

        activity_tree__init(&tree, &ledger);
        ledger_ref root = activity_tree__add_root(&tree);
        if (root)
            merge(reader, &tree, root);
        take_parts(reader, &tree);
        ledger__close(&ledger);
    }
    segment_reader__close(reader);
    return 0;
}
