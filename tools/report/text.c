#include "tools/report/text.h"

#include "tools/report/memory.h"

#include <ctype.h>
#include <langinfo.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#define REPLACEMENT   0xfffdu
#define BLOCK_BYTES   65536u
#define ESCAPE_BYTES  12u /* "\U0010ffff" and its NUL */
#define COMBINING_MAX 2   /* marks on one letter; more is graffiti */

struct text_block {
    struct text_block *next;
    char bytes[];
};

void text_store__release(struct text_store *store)
{
    while (store->blocks) {
        struct text_block *next = store->blocks->next;

        free(store->blocks);
        store->blocks = next;
    }
    *store = (struct text_store){0};
}

static char *take(struct text_store *store, size_t bytes)
{
    if (!store->blocks || store->room - store->used < bytes) {
        size_t room = bytes > BLOCK_BYTES ? bytes : BLOCK_BYTES;
        struct text_block *block = memory__zeroed(1, sizeof(*block) + room);

        block->next = store->blocks;
        store->blocks = block;
        store->room = room;
        store->used = 0;
    }
    char *taken = store->blocks->bytes + store->used;
    store->used += bytes;
    return taken;
}

struct text text__keep(struct text_store *store, const char *bytes, size_t length)
{
    char *copy = take(store, length + 1);

    memcpy(copy, bytes, length);
    copy[length] = '\0';
    return (struct text){copy, length};
}

size_t text__encode(uint32_t code_point, char bytes[4])
{
    if (code_point < 0x80) {
        bytes[0] = (char)code_point;
        return 1;
    }
    if (code_point < 0x800) {
        bytes[0] = (char)(0xc0 | code_point >> 6);
        bytes[1] = (char)(0x80 | (code_point & 0x3f));
        return 2;
    }
    if (code_point < 0x10000) {
        bytes[0] = (char)(0xe0 | code_point >> 12);
        bytes[1] = (char)(0x80 | (code_point >> 6 & 0x3f));
        bytes[2] = (char)(0x80 | (code_point & 0x3f));
        return 3;
    }
    bytes[0] = (char)(0xf0 | code_point >> 18);
    bytes[1] = (char)(0x80 | (code_point >> 12 & 0x3f));
    bytes[2] = (char)(0x80 | (code_point >> 6 & 0x3f));
    bytes[3] = (char)(0x80 | (code_point & 0x3f));
    return 4;
}

static bool is_surrogate(uint32_t code_point, uint32_t base)
{
    return code_point >= base && code_point < base + 0x400;
}

/* One sequence as UTF-8 has it, surrogates and overlong forms not refused. How many bytes it took,
 * 0 if it is none. */
static size_t decode_raw(const unsigned char *bytes, size_t length, uint32_t *code_point)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    unsigned char lead = bytes[0];
    size_t size = lead < 0x80   ? 1
                  : lead < 0xc0 ? 0
                  : lead < 0xe0 ? 2
                  : lead < 0xf0 ? 3
                  : lead < 0xf8 ? 4
                                : 0;

    if (size == 0 || size > length)
        return 0;
    uint32_t value = size == 1 ? lead : lead & (0x7fu >> size);
    for (size_t i = 1; i < size; i++) {
        if ((bytes[i] & 0xc0) != 0x80)
            return 0;
        value = value << 6 | (bytes[i] & 0x3f);
    }
    bool is_modified_nul = size == 2 && value == 0;
    if ((value < least[size] && !is_modified_nul) || value > 0x10ffff)
        return 0;
    *code_point = value;
    return size;
}

static size_t decode_java(const unsigned char *bytes, size_t length, uint32_t *code_point)
{
    size_t size = decode_raw(bytes, length, code_point);

    if (size == 0) {
        *code_point = REPLACEMENT;
        return 1;
    }
    if (is_surrogate(*code_point, 0xd800) && length > size) {
        uint32_t low;
        size_t low_size = decode_raw(bytes + size, length - size, &low);

        if (low_size == 3 && is_surrogate(low, 0xdc00)) {
            *code_point = 0x10000 + ((*code_point - 0xd800) << 10) + (low - 0xdc00);
            return size + low_size;
        }
    }
    if (is_surrogate(*code_point, 0xd800) || is_surrogate(*code_point, 0xdc00))
        *code_point = REPLACEMENT;
    return size;
}

struct text text__from_java(struct text_store *store, const char *bytes, size_t length)
{
    /* A bad byte becomes three: the most that text can grow. */
    char *result = memory__zeroed(length * 3 + 1, 1);
    size_t written = 0;

    for (size_t at = 0; at < length;) {
        uint32_t code_point;

        at += decode_java((const unsigned char *)bytes + at, length - at, &code_point);
        written += text__encode(code_point, result + written);
    }
    struct text kept = text__keep(store, result, written);
    free(result);
    return kept;
}

struct text text__with_digits_folded(struct text_store *store, struct text text)
{
    char *folded = memory__zeroed(text.length + 1, 1);
    size_t length = 0;

    for (size_t i = 0; i < text.length; i++) {
        bool digit = isdigit((unsigned char)text.bytes[i]);

        if (!digit)
            folded[length++] = text.bytes[i];
        else if (length == 0 || folded[length - 1] != '#')
            folded[length++] = '#';
    }
    struct text kept = text__keep(store, folded, length);
    free(folded);
    return kept;
}

int text__compare(struct text x, struct text y)
{
    size_t shorter = x.length < y.length ? x.length : y.length;
    int order = x.bytes == y.bytes ? 0 : memcmp(x.bytes, y.bytes, shorter);

    return order ? order : x.length < y.length ? -1 : x.length > y.length;
}

uint32_t text__next(struct text text, size_t *at)
{
    uint32_t code_point;
    size_t size =
        decode_raw((const unsigned char *)text.bytes + *at, text.length - *at, &code_point);

    *at += size ? size : 1;
    return size ? code_point : REPLACEMENT;
}

bool text__is_invisible(uint32_t code_point)
{
    static const struct {
        uint32_t first, last;
    } ranges[] = {
        {0x00ad, 0x00ad}, {0x034f, 0x034f}, {0x061c, 0x061c},   {0x115f, 0x1160},
        {0x17b4, 0x17b5}, {0x180b, 0x180f}, {0x200b, 0x200f},   {0x2028, 0x202e},
        {0x2060, 0x206f}, {0x3164, 0x3164}, {0xfe00, 0xfe0f},   {0xfeff, 0xfeff},
        {0xffa0, 0xffa0}, {0xfff0, 0xfffb}, {0x1d173, 0x1d17a}, {0xe0000, 0xe0fff},
    };

    for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++)
        if (code_point >= ranges[i].first && code_point <= ranges[i].last)
            return true;
    return false;
}

static size_t escape(uint32_t code_point, char escaped[ESCAPE_BYTES])
{
    static const char letters[] = {['\t'] = 't', ['\n'] = 'n', ['\r'] = 'r'};

    if (code_point < sizeof(letters) && letters[code_point])
        return (size_t)snprintf(escaped, ESCAPE_BYTES, "\\%c", letters[code_point]);
    const char *format = code_point < 0x100     ? "\\x%02x"
                         : code_point < 0x10000 ? "\\u%04x"
                                                : "\\U%08x";
    return (size_t)snprintf(escaped, ESCAPE_BYTES, format, code_point);
}

struct cell {
    char bytes[ESCAPE_BYTES];
    size_t length;
    size_t columns;
};

/* What one character looks like; `marks` counts the combining marks before it. */
static struct cell show(uint32_t code_point, bool unicode, int *marks)
{
    struct cell cell = {.columns = 1};
    int width = code_point < 0x80 ? (code_point >= 0x20 && code_point < 0x7f ? 1 : -1)
                : unicode && !text__is_invisible(code_point) ? wcwidth((wchar_t)code_point)
                                                             : -1;
    bool is_mark = width == 0;

    if (is_mark && ++*marks > COMBINING_MAX)
        width = -1;
    if (!is_mark)
        *marks = 0;
    if (width < 0) {
        cell.length = escape(code_point, cell.bytes);
        cell.columns = cell.length;
    } else {
        cell.length = text__encode(code_point, cell.bytes);
        cell.columns = (size_t)width;
    }
    return cell;
}

/* Shows text from *at on, up to a number of columns (0: all). Whether all of it fitted. */
static bool show_up_to(struct text text, size_t *at, size_t columns, char *out, size_t *written)
{
    bool unicode = text__is_utf8_locale();
    size_t used = 0;
    int marks = COMBINING_MAX; /* a mark needs a letter first */

    while (*at < text.length) {
        size_t next = *at;
        struct cell cell = show(text__next(text, &next), unicode, &marks);

        if (columns && used + cell.columns > columns)
            return false;
        memcpy(out + *written, cell.bytes, cell.length);
        *written += cell.length;
        used += cell.columns;
        *at = next;
    }
    return true;
}

static const char *ellipsis(void)
{
    return text__is_utf8_locale() ? "…" : "...";
}

char *text__printable(struct text text, size_t columns)
{
    /* "\x01" for one byte, "\u202e" for three: four times at most, and the ellipsis. */
    char *out = memory__zeroed(text.length * 4 + 8, 1);
    size_t at = 0;
    size_t written = 0;

    if (show_up_to(text, &at, columns, out, &written))
        return out;
    at = written = 0;
    size_t mark = text__columns(ellipsis());
    if (columns > mark)
        show_up_to(text, &at, columns - mark, out, &written);
    memcpy(out + written, ellipsis(), strlen(ellipsis()) + 1);
    return out;
}

char *text__printable_middle(struct text text, size_t columns)
{
    size_t mark = text__columns(ellipsis());
    char *whole = text__printable(text, 0);

    if (!columns || text__columns(whole) <= columns)
        return whole;
    if (columns < mark + 4) {
        free(whole);
        return text__printable(text, columns);
    }
    size_t head = (columns - mark) / 3;
    size_t tail = columns - mark - head;
    char *out = memory__zeroed(text.length * 4 + 8, 1);
    size_t at = 0;
    size_t written = 0;
    show_up_to(text, &at, head, out, &written);
    memcpy(out + written, ellipsis(), strlen(ellipsis()));
    written += strlen(ellipsis());
    /* The shown text is printable: dropping whole characters from its front cannot split one. */
    struct text shown = {whole, strlen(whole)};
    size_t left = text__columns(whole);
    size_t from = 0;
    while (left > tail && from < shown.length) {
        uint32_t code_point = text__next(shown, &from);
        int width = wcwidth((wchar_t)code_point);

        left -= width > 0 ? (size_t)width : 0;
    }
    memcpy(out + written, whole + from, shown.length - from + 1);
    free(whole);
    return out;
}

size_t text__columns(const char *printable)
{
    struct text text = {printable, strlen(printable)};
    size_t columns = 0;

    for (size_t at = 0; at < text.length;) {
        uint32_t code_point = text__next(text, &at);
        int width = code_point < 0x80 ? 1 : wcwidth((wchar_t)code_point);

        columns += width > 0 ? (size_t)width : 0;
    }
    return columns;
}

bool text__is_utf8_locale(void)
{
    return strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
}

static bool is_set(const char *variable)
{
    const char *value = getenv(variable);

    return value && value[0];
}

void text__set_locale(void)
{
    bool chosen = is_set("LC_ALL") || is_set("LC_CTYPE") || is_set("LANG");

    if (!chosen || !setlocale(LC_CTYPE, ""))
        setlocale(LC_CTYPE, "C.UTF-8");
}
