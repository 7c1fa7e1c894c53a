#include "native/unwind/build_id.h"

#include "native/unwind/byte_cursor.h"

#include <elf.h>

static size_t padding(size_t length, size_t align)
{
    return (align - length % align) % align;
}

/* Takes the next piece of a note and passes over the padding behind it. */
static const uint8_t *take_piece(struct byte_cursor *cursor, size_t length, size_t align)
{
    const uint8_t *piece = byte_cursor__take(cursor, length);
    size_t fill = padding(length, align);

    if (piece && fill <= byte_cursor__left(cursor))
        (void)byte_cursor__take(cursor, fill);
    return piece;
}

static void write_hexadecimal(struct build_id *id, const uint8_t *bytes, size_t length)
{
    static const char digits[] = "0123456789abcdef";

    for (size_t i = 0; i < length; i++) {
        id->text[2 * i] = digits[bytes[i] >> 4];
        id->text[2 * i + 1] = digits[bytes[i] & 0xf];
    }
    id->text[2 * length] = '\0';
}

bool build_id__of_notes(struct build_id *id, const uint8_t *notes, size_t length, size_t align)
{
    struct byte_cursor cursor = byte_cursor__of(notes, length);

    align = align == 8 ? 8 : 4;
    while (byte_cursor__left(&cursor) >= sizeof(Elf64_Nhdr)) {
        size_t name_bytes = (size_t)byte_cursor__number(&cursor, 4);
        size_t id_bytes = (size_t)byte_cursor__number(&cursor, 4);
        uint64_t type = byte_cursor__number(&cursor, 4);
        const uint8_t *name = take_piece(&cursor, name_bytes, align);
        const uint8_t *bytes = take_piece(&cursor, id_bytes, align);

        if (!name || !bytes)
            return false;
        if (type == NT_GNU_BUILD_ID && name_bytes == sizeof(ELF_NOTE_GNU) &&
            memcmp(name, ELF_NOTE_GNU, sizeof(ELF_NOTE_GNU)) == 0 && id_bytes > 0 &&
            id_bytes <= BUILD_ID_BYTES_MAX) {
            write_hexadecimal(id, bytes, id_bytes);
            return true;
        }
    }
    return false;
}
