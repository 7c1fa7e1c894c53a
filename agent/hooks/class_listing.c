#include "agent/hooks/class_listing.h"

#include "agent/methods/class_name.h"

#include <stdlib.h>
#include <string.h>

#define ROOM_FIRST 1024u

static bool make_room(struct class_listing *listing, size_t bytes)
{
    size_t room = listing->room ? 2 * listing->room : ROOM_FIRST;
    char *more;

    if (listing->length + bytes > LEDGER_STRING_MAX)
        return false;
    if (listing->length + bytes <= listing->room)
        return true;
    while (room < listing->length + bytes)
        room *= 2;
    more = realloc(listing->bytes, room);
    if (!more)
        return false;
    listing->bytes = more;
    listing->room = room;
    return true;
}

static void append(struct class_listing *listing, struct class_text text)
{
    memcpy(listing->bytes + listing->length, text.bytes, text.length);
    listing->bytes[listing->length + text.length] = '\0';
    listing->length += text.length + 1u;
}

void class_listing__add(struct class_listing *listing, uint8_t choice, struct class_text name,
                        struct class_text descriptor)
{
    if (!make_room(listing, (size_t)name.length + descriptor.length + 3)) {
        listing->is_cut = true;
        return;
    }
    listing->bytes[listing->length++] = (char)choice;
    append(listing, name);
    append(listing, descriptor);
}

void class_listing__release(struct class_listing *listing)
{
    free(listing->bytes);
}

/* Listings that were there already take none again: equal strings share a record. They are counted
 * all the same, so that a program that is started and stopped for ever is bounded, too. */
static bool has_room(struct ledger *ledger, size_t bytes)
{
    struct ledger_header *header = ledger->header;
    uint64_t listed = __atomic_add_fetch(&header->listed_bytes, bytes, __ATOMIC_RELAXED);

    if (listed <= header->max_bytes / CLASS_LISTING_PART)
        return true;
    __atomic_fetch_sub(&header->listed_bytes, bytes, __ATOMIC_RELAXED);
    return false;
}

static ledger_ref name_of(struct ledger *ledger, const struct numbered_class *class)
{
    const char *internal = numbered_class__name(class);
    size_t length = strnlen(internal, LEDGER_STRING_MAX);
    char *name = strndup(internal, length);
    ledger_ref ref;

    if (!name)
        return 0;
    class_name__to_dots(name, length);
    ref = ledger__string(ledger, name, length);
    free(name);
    return ref;
}

static ledger_ref new_record(struct ledger *ledger, struct numbered_class *class)
{
    ledger_ref ref = ledger__take_shared(ledger, LEDGER_CLASSES, 1);

    if (ref)
        ((struct ledger_class *)ledger__at(ledger, ref))->name = name_of(ledger, class);
    __atomic_store_n(numbered_class__listing(class), ref, __ATOMIC_RELEASE);
    return ref;
}

void class_listing__write(const struct class_listing *listing, struct ledger *ledger,
                          struct numbered_class *class, uint32_t unhooked)
{
    ledger_ref ref = __atomic_load_n(numbered_class__listing(class), __ATOMIC_ACQUIRE);
    ledger_ref methods = 0;
    struct ledger_class *record;

    if (has_room(ledger, listing->length + LEDGER_CELL_BYTES)) {
        if (listing->length)
            methods = ledger__string(ledger, listing->bytes, listing->length);
        if (!ref)
            ref = new_record(ledger, class);
    }
    if (!ref || (listing->length && !methods))
        ledger__count(&ledger->header->unlisted_classes, 1);
    if (!ref)
        return;
    record = ledger__at(ledger, ref);
    record->unhooked = unhooked;
    record->filter = ledger->header->filters;
    if (!listing->length)
        return;
    record->is_cut = listing->is_cut || !methods;
    __atomic_store_n(&record->methods, methods, __ATOMIC_RELEASE);
}
