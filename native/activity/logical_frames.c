#include "native/activity/logical_frames.h"

#include "native/activity/mapped_once.h"

#include <string.h>
#include <sys/mman.h>

#define INDEX_MASK ((int32_t)LOGICAL_FRAME_SLOTS - 1)
#define ALIGNMENT  _Alignof(struct logical_frame)

/* Constant once it is in the table. */
struct logical_frame {
    int32_t flags;
    const char *parameter; /* behind the identifier */
    char identifier[];
};

static uint32_t hash(uint32_t sum, const char *text)
{
    do
        sum = (sum ^ (unsigned char)*text) * 0x01000193u;
    while (*text++);
    return sum;
}

static size_t bytes_of(const char *identifier, const char *parameter)
{
    size_t bytes = sizeof(struct logical_frame) + strlen(identifier) + strlen(parameter) + 2;

    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static struct logical_frame *make(struct logical_frames *frames, const char *identifier,
                                  const char *parameter, int32_t flags)
{
    size_t first = strlen(identifier) + 1, second = strlen(parameter) + 1;
    size_t bytes = bytes_of(identifier, parameter), at = atomic_load(&frames->bytes);
    char *space = mapped_once__at(&frames->space, LOGICAL_FRAME_SPACE);
    struct logical_frame *frame;

    do
        if (!space || bytes > LOGICAL_FRAME_SPACE - at)
            return NULL;
    while (!atomic_compare_exchange_weak(&frames->bytes, &at, at + bytes));
    frame = (struct logical_frame *)(void *)(space + at);
    frame->flags = flags;
    frame->parameter = frame->identifier + first;
    memcpy(frame->identifier, identifier, first);
    memcpy(frame->identifier + first, parameter, second);
    return frame;
}

void logical_frames__release(struct logical_frames *frames)
{
    void *space = atomic_load(&frames->space);

    if (space)
        munmap(space, LOGICAL_FRAME_SPACE);
}

static bool is(const struct logical_frame *frame, const char *identifier, const char *parameter,
               int32_t flags)
{
    return frame->flags == flags && strcmp(frame->identifier, identifier) == 0 &&
           strcmp(frame->parameter, parameter) == 0;
}

/* Finds the frame, or adds it if it may. There is always a free slot: fewer frames than slots are
 * added. */
static int32_t number_of(struct logical_frames *frames, const char *identifier,
                         const char *parameter, int32_t flags, bool may_add)
{
    uint32_t at = hash(hash(0x811c9dc5u + (uint32_t)flags, identifier), parameter);
    struct logical_frame *found, *added = NULL;

    for (;; at++) {
        int32_t index = (int32_t)at & INDEX_MASK;

        found = atomic_load_explicit(&frames->frame[index], memory_order_acquire);
        if (!found && may_add) {
            added = added ? added : make(frames, identifier, parameter, flags);
            if (added && atomic_compare_exchange_strong(&frames->frame[index], &found, added))
                return index | flags;
        }
        if (!found)
            return LOGICAL_FRAME_NONE;
        if (is(found, identifier, parameter, flags))
            return index | flags;
    }
}

/* Takes one of so many; false: there is none left. */
static bool take(_Atomic uint32_t *count, uint32_t most)
{
    uint32_t before = atomic_load(count);

    while (before < most)
        if (atomic_compare_exchange_weak(count, &before, before + 1))
            return true;
    return false;
}

int32_t logical_frames__number(struct logical_frames *frames, const char *identifier,
                               const char *parameter, int32_t flags)
{
    int32_t found = number_of(frames, identifier, parameter, flags, false);

    if (found != LOGICAL_FRAME_NONE)
        return found;
    if (!flags && *parameter && !take(&frames->parameters, LOGICAL_PARAMETERS_MAX))
        return logical_frames__number(frames, identifier, LOGICAL_OTHER, LOGICAL_OTHER_PARAMETER);
    /* The last one is kept for (other). */
    if (take(&frames->count, LOGICAL_FRAMES_MAX - !(flags & LOGICAL_OTHER_IDENTIFIER)))
        return number_of(frames, identifier, parameter, flags, true);
    if (flags & LOGICAL_OTHER_IDENTIFIER)
        return LOGICAL_FRAME_NONE;
    return logical_frames__number(frames, LOGICAL_OTHER, "", LOGICAL_OTHER_IDENTIFIER);
}

static const struct logical_frame *frame_at(const struct logical_frames *frames, int32_t number)
{
    const struct logical_frame *frame;

    if (number < 0 || number & ~(INDEX_MASK | LOGICAL_OTHER_PARAMETER | LOGICAL_OTHER_IDENTIFIER))
        return NULL;
    frame = atomic_load_explicit(&frames->frame[number & INDEX_MASK], memory_order_acquire);
    return frame && frame->flags == (number & ~INDEX_MASK) ? frame : NULL;
}

bool logical_frames__has(const struct logical_frames *frames, int32_t number)
{
    return frame_at(frames, number) != NULL;
}

ledger_ref logical_frames__resolve(const struct logical_frames *frames, struct ledger *ledger,
                                   uint64_t key)
{
    const struct logical_frame *frame = frame_at(frames, logical_frame__number(key));
    struct ledger_method_names names = {.class_name = ""};

    if (!frame)
        return 0;
    names.name = frame->identifier;
    names.signature = frame->parameter;
    return ledger__add_method(ledger, key, &names, METHOD_LOGICAL);
}
