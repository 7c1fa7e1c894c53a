#include "native/unwind/call_frame_info.h"

#include "native/unwind/encoded_pointer.h"

#include <errno.h>

#define LENGTH_IS_64_BIT UINT32_C(0xffffffff)

/* The body of an entry: what follows its length. */
struct entry_body {
    struct byte_cursor cursor;
    size_t
        start; /* offset of its first field, which tells common entries from those of functions */
    size_t length; /* of the whole entry */
};

static struct pointer_bases bases_of(const struct frame_section *section)
{
    return (struct pointer_bases){section->bytes, section->address, section->address};
}

static int open_entry(const struct frame_section *section, size_t offset, struct entry_body *body)
{
    struct byte_cursor cursor;
    const uint8_t *bytes;
    uint64_t length;

    if (offset > section->length)
        return -ENODATA;
    cursor = byte_cursor__of(section->bytes + offset, section->length - offset);
    length = byte_cursor__number(&cursor, 4);
    if (length == LENGTH_IS_64_BIT)
        length = byte_cursor__number(&cursor, 8);
    bytes = byte_cursor__take(&cursor, length);
    if (!bytes || length == 0)
        return -ENODATA;
    body->cursor = byte_cursor__of(bytes, (size_t)length);
    body->start = (size_t)(bytes - section->bytes);
    body->length = body->start + (size_t)length - offset;
    return 0;
}

/* Each letter says what follows next; 'z' says that all of it can be skipped. */
static void read_augmentation(const struct frame_section *section, struct byte_cursor *cursor,
                              const char *letters, struct call_frame_entry *entry)
{
    struct pointer_bases bases = bases_of(section);
    uint64_t length = byte_cursor__uleb(cursor);
    const uint8_t *bytes = byte_cursor__take(cursor, length);
    struct byte_cursor data;

    if (!bytes)
        return;
    data = byte_cursor__of(bytes, (size_t)length);
    for (; *letters && !data.failed; letters++) {
        if (*letters == 'R') {
            entry->pointer_encoding = (uint8_t)byte_cursor__number(&data, 1);
        } else if (*letters == 'L') {
            (void)byte_cursor__number(&data, 1);
        } else if (*letters == 'P') {
            uint8_t encoding = (uint8_t)byte_cursor__number(&data, 1);

            /* The personality's value does not matter, nor whether it is indirect. */
            (void)encoded_pointer__read(&data, encoding & 0x7f, &bases);
        } else if (*letters == 'S') {
            entry->signal_frame = true;
        } else {
            break;
        }
    }
    cursor->failed |= data.failed;
}

static const char *read_letters(struct byte_cursor *cursor)
{
    const uint8_t *letters = cursor->at;
    size_t left = byte_cursor__left(cursor);
    const uint8_t *end = left ? memchr(letters, 0, left) : NULL;

    if (!end)
        return NULL;
    cursor->at = end + 1;
    return (const char *)letters;
}

/* True if all that the common entry says is understood. */
static bool read_common(const struct frame_section *section, size_t offset,
                        struct call_frame_entry *entry)
{
    struct entry_body body;
    struct byte_cursor *cursor = &body.cursor;
    const char *letters;
    uint64_t version;

    if (open_entry(section, offset, &body) != 0 || byte_cursor__number(cursor, 4) != 0)
        return false;
    version = byte_cursor__number(cursor, 1);
    letters = read_letters(cursor);
    if (!letters || (version != 1 && version != 3) || (*letters && *letters != 'z'))
        return false;
    entry->code_align = byte_cursor__uleb(cursor);
    entry->data_align = byte_cursor__sleb(cursor);
    entry->return_address =
        version == 1 ? byte_cursor__number(cursor, 1) : byte_cursor__uleb(cursor);
    if (*letters)
        read_augmentation(section, cursor, letters + 1, entry);
    entry->initial.bytes = cursor->at;
    entry->initial.length = byte_cursor__left(cursor);
    entry->initial.address = section->address + (uint64_t)(cursor->at - section->bytes);
    entry->augmented = *letters != '\0';
    return !cursor->failed;
}

int call_frame_info__entry(const struct frame_section *section, size_t offset,
                           struct call_frame_entry *entry)
{
    struct pointer_bases bases = bases_of(section);
    struct entry_body body;
    struct byte_cursor *cursor = &body.cursor;
    uint64_t back;

    memset(entry, 0, sizeof(*entry));
    if (open_entry(section, offset, &body) != 0)
        return -ENODATA;
    entry->length = body.length;
    back = byte_cursor__number(cursor, 4);
    if (cursor->failed || back == 0 || back > body.start ||
        !read_common(section, body.start - (size_t)back, entry))
        return 0;
    entry->start = encoded_pointer__read(cursor, entry->pointer_encoding, &bases);
    /* The size is encoded like the start, but relative to nothing. */
    entry->size = encoded_pointer__read(cursor, entry->pointer_encoding & 0x07, &bases);
    if (cursor->failed)
        return 0;
    if (entry->augmented)
        (void)byte_cursor__take(cursor, byte_cursor__uleb(cursor));
    entry->understood = !cursor->failed;
    entry->program.bytes = cursor->at;
    entry->program.length = byte_cursor__left(cursor);
    entry->program.address = section->address + (uint64_t)(cursor->at - section->bytes);
    return 1;
}

int frame_header__read(const struct frame_section *section, struct frame_header *header)
{
    struct pointer_bases bases = bases_of(section);
    struct byte_cursor cursor = byte_cursor__of(section->bytes, section->length);
    uint64_t version = byte_cursor__number(&cursor, 1);
    uint8_t eh_frame_encoding = (uint8_t)byte_cursor__number(&cursor, 1);
    uint8_t count_encoding = (uint8_t)byte_cursor__number(&cursor, 1);

    memset(header, 0, sizeof(*header));
    header->table_encoding = (uint8_t)byte_cursor__number(&cursor, 1);
    header->eh_frame = encoded_pointer__read(&cursor, eh_frame_encoding, &bases);
    if (version != 1 || cursor.failed)
        return -EINVAL;
    if (count_encoding != POINTER_OMITTED && encoded_pointer__bytes(header->table_encoding)) {
        header->count = encoded_pointer__read(&cursor, count_encoding, &bases);
        header->table = (size_t)(cursor.at - section->bytes);
        if (cursor.failed)
            header->count = 0;
    }
    return 0;
}

/* The number of the table's entries, as far as the section has room for them. */
static uint64_t entries(const struct frame_section *section, const struct frame_header *header)
{
    size_t bytes = encoded_pointer__bytes(header->table_encoding);
    uint64_t room = bytes ? (section->length - header->table) / (2 * bytes) : 0;

    return header->count < room ? header->count : room;
}

/* Part 0 of a table's entry is the function's address, part 1 the address of its description. */
static uint64_t entry_part(const struct frame_section *section, const struct frame_header *header,
                           uint64_t index, unsigned part)
{
    struct pointer_bases bases = bases_of(section);
    size_t bytes = encoded_pointer__bytes(header->table_encoding);
    struct byte_cursor cursor =
        byte_cursor__of(section->bytes + header->table, section->length - header->table);
    uint64_t address;

    (void)byte_cursor__take(&cursor, (2 * index + part) * bytes);
    address = encoded_pointer__read(&cursor, header->table_encoding, &bases);
    return cursor.failed ? 0 : address;
}

uint64_t frame_header__description(const struct frame_section *section,
                                   const struct frame_header *header, uint64_t index)
{
    return index < entries(section, header) ? entry_part(section, header, index, 1) : 0;
}

bool frame_header__find(const struct frame_section *section, const struct frame_header *header,
                        uint64_t address, uint64_t *index)
{
    uint64_t low = 0, high = entries(section, header);

    while (low < high) {
        uint64_t middle = low + (high - low) / 2;

        if (entry_part(section, header, middle, 0) <= address)
            low = middle + 1;
        else
            high = middle;
    }
    *index = low - 1;
    return low > 0;
}
