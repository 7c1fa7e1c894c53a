#include "native/tree/left_frames.h"

#include <stdbool.h>
#include <string.h>

/* Multiplicative hashing and linear probing [D. E. Knuth: The Art of Computer Programming 3, 6.4].
 */
static uint32_t home_of(uint64_t key)
{
    return (uint32_t)(key * 0x9e3779b97f4a7c15u >> 56);
}

_Static_assert(LEFT_METHOD_SLOTS == 256, "home_of gives eight bits");

static uint32_t next_slot(uint32_t slot)
{
    return (slot + 1) % LEFT_METHOD_SLOTS;
}

static uint32_t slot_of(const struct left_frames *left, uint64_t key)
{
    uint32_t slot = home_of(key);

    while (left->slots[slot].key && left->slots[slot].key != key)
        slot = next_slot(slot);
    return slot;
}

uint64_t left_frames__of(const struct left_frames *left, uint64_t key)
{
    return left->methods ? left->slots[slot_of(left, key)].frames : 0;
}

/* True if `slot` comes after `from` and not after `to` in the circle of slots. */
static bool is_between(uint32_t slot, uint32_t from, uint32_t to)
{
    return from <= to ? from < slot && slot <= to : from < slot || slot <= to;
}

/* Frees a slot. Moves up entries that stand behind the slot because it was taken: ibid., algorithm
 * R. */
static void free_slot(struct left_frames *left, uint32_t slot)
{
    uint32_t other = slot;

    left->methods--;
    for (;;) {
        left->slots[slot] = (struct left_method){0};
        do {
            other = next_slot(other);
            if (!left->slots[other].key)
                return;
        } while (is_between(home_of(left->slots[other].key), slot, other));
        left->slots[slot] = left->slots[other];
        slot = other;
    }
}

void left_frames__add(struct left_frames *left, uint64_t key, uint64_t frames)
{
    struct left_method *method = &left->slots[slot_of(left, key)];

    if (!method->key) {
        if (left->methods == LEFT_METHODS_MAX)
            return;
        left->methods++;
        method->key = key;
    }
    method->frames += frames;
}

void left_frames__take(struct left_frames *left, uint64_t key)
{
    uint32_t slot = slot_of(left, key);

    if (left->slots[slot].key && --left->slots[slot].frames == 0)
        free_slot(left, slot);
}

void left_frames__clear(struct left_frames *left)
{
    if (left->methods)
        memset(left, 0, sizeof(*left));
}
