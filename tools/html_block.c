#include "tools/html_block.h"

#include <string.h>

static void encode_three(const unsigned char octets[3], char text[4])
{
    static const char alphabet[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    text[0] = alphabet[octets[0] >> 2];
    text[1] = alphabet[(octets[0] & 3) << 4 | octets[1] >> 4];
    text[2] = alphabet[(octets[1] & 15) << 2 | octets[2] >> 6];
    text[3] = alphabet[octets[2] & 63];
}

static void flush(struct html_block *block)
{
    char text[HTML_BLOCK_OCTETS / 3 * 4];
    size_t length = 0;
    for (size_t at = 0; at < block->used; at += 3, length += 4) {
        unsigned char three[3] = {0};
        size_t left = block->used - at;
        memcpy(three, block->octets + at, left < 3 ? left : 3);
        encode_three(three, text + length);
        for (size_t missing = left; missing < 3; missing++)
            text[length + 1 + missing] = '=';
    }
    fwrite(text, 1, length, block->out);
    block->used = 0;
}

void html_block__begin(struct html_block *block, FILE *out, const char *name)
{
    block->out = out;
    block->used = 0;
    fprintf(out, "<script type=\"application/octet-stream\" data-block=\"%s\">", name);
}

void html_block__octets(struct html_block *block, const void *octets, size_t count)
{
    const unsigned char *from = octets;
    while (count > 0) {
        size_t room = HTML_BLOCK_OCTETS - block->used;
        size_t taken = count < room ? count : room;
        memcpy(block->octets + block->used, from, taken);
        block->used += taken;
        from += taken;
        count -= taken;
        if (block->used == HTML_BLOCK_OCTETS)
            flush(block);
    }
}

void html_block__number(struct html_block *block, uint64_t number)
{
    unsigned char octets[10];
    size_t count = 0;
    do {
        unsigned more = number > 0x7f ? 0x80 : 0;
        octets[count++] = (unsigned char)((number & 0x7f) | more);
        number >>= 7;
    } while (number);
    html_block__octets(block, octets, count);
}

void html_block__end(struct html_block *block)
{
    flush(block);
    fputs("</script>\n", block->out);
}

static ssize_t write_cookie(void *cookie, const char *octets, size_t count)
{
    html_block__octets(cookie, octets, count);
    return (ssize_t)count;
}

FILE *html_block__begin_stream(struct html_block *block, FILE *out, const char *name)
{
    html_block__begin(block, out, name);
    return fopencookie(block, "w", (cookie_io_functions_t){.write = write_cookie});
}

void html_block__end_stream(struct html_block *block, FILE *stream)
{
    fclose(stream);
    html_block__end(block);
}
