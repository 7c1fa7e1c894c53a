#include "native/activity/pushed_frames.h"

#include "native/activity/mapped_once.h"
#include "native/activity/whole_characters.h"

#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>

#define TRIES        8u /* slots that are looked at for one frame */
#define NUMBER_BYTES 24u
#define TEXT_BYTES   (TREADLE_PARAMETER_BYTES > NUMBER_BYTES ? TREADLE_PARAMETER_BYTES : NUMBER_BYTES)
#define SPACE_BYTES  (PUSHED_FRAMES_MAX * sizeof(struct pushed_frame))
#define MULTIPLIER   UINT64_C(0x9e3779b97f4a7c15)

/* FNV-1a, of as much as is used of the text. */
static uint64_t text_of(const char *identifier)
{
    uint64_t sum = UINT64_C(0xcbf29ce484222325);

    for (unsigned i = 0; i < TREADLE_IDENTIFIER_BYTES && identifier[i]; i++)
        sum = (sum ^ (unsigned char)identifier[i]) * UINT64_C(0x100000001b3);
    return sum;
}

static uint32_t hash(const struct treadle_pushed *pushed)
{
    uint64_t sum = (uint64_t)(uintptr_t)pushed->identifier + pushed->what;

    for (unsigned i = 0; i < TREADLE_PARAMETER_BYTES / 8; i++)
        sum = (sum ^ sum >> 29 ^ pushed->parameter[i]) * MULTIPLIER;
    return (uint32_t)(sum >> 32);
}

static bool is(const struct pushed_frame *frame, const struct treadle_pushed *pushed)
{
    return frame->identifier == pushed->identifier && frame->what == pushed->what &&
           frame->text == text_of(pushed->identifier) &&
           memcmp(frame->parameter, pushed->parameter, sizeof(frame->parameter)) == 0;
}

static void write_number(char *to, int64_t number)
{
    uint64_t left = number < 0 ? -(uint64_t)number : (uint64_t)number;
    char digits[NUMBER_BYTES], *at = digits + sizeof(digits);

    *--at = '\0';
    do
        *--at = (char)('0' + left % 10);
    while (left /= 10);
    if (number < 0)
        *--at = '-';
    memcpy(to, at, (size_t)(digits + sizeof(digits) - at));
}

/* Copies a text of which so many bytes are there at most. `to` has zeros and room for one more. */
static void copy_cut(char *to, const char *text, size_t most)
{
    size_t length = strnlen(text, most);

    memcpy(to, text, length < most ? length : whole_characters__length(text, length));
}

/* The texts are those that a sampler reads in the segment. */
static int32_t number_by_text(struct logical_frames *frames, const struct treadle_pushed *pushed,
                              struct ledger_header *header)
{
    char identifier[TREADLE_IDENTIFIER_BYTES + 1] = "", parameter[TEXT_BYTES + 1] = "";

    copy_cut(identifier, pushed->identifier, TREADLE_IDENTIFIER_BYTES);
    if (strnlen(pushed->identifier, TREADLE_IDENTIFIER_BYTES + 1) > TREADLE_IDENTIFIER_BYTES)
        ledger__count(&header->cut_identifiers, 1);
    if (!identifier[0])
        return logical_frames__number(frames, LOGICAL_OTHER, "", LOGICAL_OTHER_IDENTIFIER);
    switch (pushed->what >> 32 & 0xff) {
    case TREADLE_TEXT: /* zeros are behind it */
        copy_cut(parameter, (const char *)pushed->parameter, sizeof(pushed->parameter));
        break;
    case TREADLE_NUMBER:
        write_number(parameter, (int64_t)pushed->parameter[0]);
        break;
    default:
        break;
    }
    return logical_frames__number(frames, identifier, parameter, 0);
}

static bool has_free_slot(const struct pushed_frames *frames, uint32_t first)
{
    for (uint32_t i = 0; i < TRIES; i++)
        if (!atomic_load(&frames->slot[(first + i) % PUSHED_FRAMES_SLOTS]))
            return true;
    return false;
}

/* One that stands for others is not remembered: there may be any number of those. Nor is one
 * without a slot: each of its pushes would take memory. */
static void remember(struct pushed_frames *frames, const struct treadle_pushed *pushed,
                     uint32_t first, int32_t number)
{
    struct pushed_frame *space = mapped_once__at(&frames->space, SPACE_BYTES), *frame;
    uint32_t at = atomic_load(&frames->used);

    if (number < 0 || number & (LOGICAL_OTHER_PARAMETER | LOGICAL_OTHER_IDENTIFIER) || !space ||
        !has_free_slot(frames, first))
        return;
    do
        if (at == PUSHED_FRAMES_MAX)
            return;
    while (!atomic_compare_exchange_weak(&frames->used, &at, at + 1));
    frame = &space[at];
    *frame = (struct pushed_frame){.identifier = pushed->identifier,
                                   .text = text_of(pushed->identifier),
                                   .what = pushed->what,
                                   .number = number};
    memcpy(frame->parameter, pushed->parameter, sizeof(frame->parameter));
    for (uint32_t i = 0; i < TRIES; i++) {
        struct pushed_frame *none = NULL;

        if (atomic_compare_exchange_strong(&frames->slot[(first + i) % PUSHED_FRAMES_SLOTS], &none,
                                           frame))
            return;
    }
}

int32_t pushed_frames__number(struct pushed_frames *frames, const struct treadle_pushed *pushed,
                              struct ledger_header *header)
{
    uint32_t first = hash(pushed);
    int32_t number;

    for (uint32_t i = 0; i < TRIES; i++) {
        const struct pushed_frame *frame = atomic_load_explicit(
            &frames->slot[(first + i) % PUSHED_FRAMES_SLOTS], memory_order_acquire);

        if (!frame)
            break;
        if (is(frame, pushed))
            return frame->number;
    }
    number = number_by_text(&frames->frames, pushed, header);
    remember(frames, pushed, first, number);
    return number;
}

void pushed_frames__release(struct pushed_frames *frames)
{
    void *space = atomic_load(&frames->space);

    logical_frames__release(&frames->frames);
    if (space)
        munmap(space, SPACE_BYTES);
}
