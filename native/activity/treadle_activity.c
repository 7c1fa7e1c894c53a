#include "native/activity/treadle_activity.h"

#include "native/activity/treadle.h"

#define EXPORTED __attribute__((visibility("default")))

/* Identifiers that stay where they are, found by what they say. */
struct kept_text {
    uint32_t stage; /* 0: free, 1: being filled in, 2: filled in */
    char text[TREADLE_IDENTIFIER_BYTES + 2];
};

#define KEPT_TEXTS 1024u
#define KEPT_TRIES 16u

static struct kept_text kept_texts[KEPT_TEXTS];

static uint64_t hash(const char *text, size_t length)
{
    uint64_t sum = UINT64_C(0xcbf29ce484222325);

    for (size_t i = 0; i < length; i++)
        sum = (sum ^ (unsigned char)text[i]) * UINT64_C(0x100000001b3);
    return sum;
}

/* A copy that does not move, with one byte more than fits, so that it counts as cut later; the name
 * of no room for more. */
static const char *keep(const char *text)
{
    size_t length = strnlen(text, TREADLE_IDENTIFIER_BYTES + 1);
    uint64_t start = hash(text, length);

    for (uint64_t tried = 0; tried < KEPT_TRIES; tried++) {
        struct kept_text *kept = &kept_texts[(start + tried) % KEPT_TEXTS];
        uint32_t stage = 0;

        if (__atomic_compare_exchange_n(&kept->stage, &stage, 1, 0, __ATOMIC_ACQ_REL,
                                        __ATOMIC_ACQUIRE)) {
            memcpy(kept->text, text, length);
            __atomic_store_n(&kept->stage, 2, __ATOMIC_RELEASE);
            return kept->text;
        }
        if (stage == 2 && memcmp(kept->text, text, length) == 0 && !kept->text[length])
            return kept->text;
    }
    return "(other)";
}

EXPORTED uint32_t treadle_activity_format(void)
{
    return TREADLE_FORMAT;
}

EXPORTED uint64_t treadle_activity_push(const char *identifier, const char *parameter)
{
    uint32_t watch = treadle__watch_now();
    struct treadle__text text = {{0}, 0};

    if (!watch)
        return TREADLE__UNRECORDED;
    if (!parameter)
        return treadle__push_at(keep(identifier), watch, UINT64_MAX,
                                TREADLE_WHAT(0, TREADLE_NO_PARAMETER, 0), 0, NULL);
    text.length = strnlen(parameter, TREADLE_PARAMETER_BYTES + 1);
    memcpy(text.words, parameter,
           text.length < TREADLE_PARAMETER_BYTES ? text.length : TREADLE_PARAMETER_BYTES);
    return treadle__push_text_at(keep(identifier), watch, UINT64_MAX, &text);
}

EXPORTED uint64_t treadle_activity_push_number(const char *identifier, int64_t parameter)
{
    uint32_t watch = treadle__watch_now();

    if (!watch)
        return TREADLE__UNRECORDED;
    return treadle__push_at(keep(identifier), watch, UINT64_MAX, TREADLE_WHAT(0, TREADLE_NUMBER, 0),
                            (uint64_t)parameter, NULL);
}

EXPORTED uint64_t treadle_activity_begin(const char *identifier, const char *parameter)
{
    return treadle__watch_now()
               ? treadle__adopt(treadle_activity_push(identifier, parameter), treadle__new_id())
               : TREADLE__UNRECORDED;
}

EXPORTED uint64_t treadle_activity_adopt(const char *id, const char *identifier,
                                         const char *parameter)
{
    const struct treadle_chain none = {{0, 0}};

    return treadle__watch_now() ? treadle__adopt(treadle_activity_push(identifier, parameter),
                                                 id ? treadle_id_of_text(id) : none)
                                : TREADLE__UNRECORDED;
}

EXPORTED int treadle_activity_id(char text[33])
{
    struct treadle_chain id = treadle_id();

    text[0] = '\0';
    if (!(id.word[0] | id.word[1]))
        return 0;
    treadle_id_text(id, text);
    return 1;
}

EXPORTED void treadle_activity_pop(void)
{
    uint32_t watch = treadle__watch_now();
    struct treadle_slot *slot;

    if (watch == TREADLE__INSIDE_WATCH) {
        treadle__pop_slowly(UINT64_MAX);
        return;
    }
    slot = watch ? treadle__attach() : NULL;
    if (slot && slot->state & TREADLE_DEPTH_MASK)
        treadle__pop_other(slot, 0);
}

EXPORTED void treadle_activity_pop_to(uint64_t mark)
{
    treadle_pop_to(mark);
}
