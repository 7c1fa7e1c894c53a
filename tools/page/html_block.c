#include "tools/page/html_block.h"

#include "tools/report/memory.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define WINDOW_BITS  (-15) /* plain deflate, without a head */
#define MEMORY_LEVEL 8
#define LEVEL        5 /* beyond it, the time of a large page grows and its size hardly shrinks */

static void encode_three(const unsigned char octets[3], char text[4])
{
    static const char alphabet[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

    text[0] = alphabet[octets[0] >> 2];
    text[1] = alphabet[(octets[0] & 3) << 4 | octets[1] >> 4];
    text[2] = alphabet[(octets[1] & 15) << 2 | octets[2] >> 6];
    text[3] = alphabet[octets[2] & 63];
}

static void write_base64(struct html_block *block, size_t count)
{
    char text[HTML_BLOCK_OCTETS / 3 * 4];
    size_t length = 0;

    for (size_t at = 0; at < count; at += 3, length += 4) {
        unsigned char three[3] = {0};
        size_t left = count - at;

        memcpy(three, block->packed + at, left < 3 ? left : 3);
        encode_three(three, text + length);
        for (size_t missing = left; missing < 3; missing++)
            text[length + 1 + missing] = '=';
    }
    fwrite(text, 1, length, block->out);
}

/* Whenever the packed octets fill their room they are written: only the last ones need padding. */
static void pack(struct html_block *block, int flush)
{
    z_stream *stream = &block->stream;

    stream->next_in = block->octets;
    stream->avail_in = (uInt)block->used;
    do {
        (void)deflate(stream, flush);
        if (stream->avail_out == 0 || flush == Z_FINISH)
            write_base64(block, HTML_BLOCK_OCTETS - stream->avail_out);
        if (stream->avail_out != 0)
            break;
        stream->next_out = block->packed;
        stream->avail_out = HTML_BLOCK_OCTETS;
    } while (true);
    block->used = 0;
}

static voidpf take_memory(voidpf unused, uInt count, uInt bytes)
{
    (void)unused;
    return memory__zeroed(count, bytes);
}

static void give_back(voidpf unused, voidpf memory)
{
    (void)unused;
    free(memory);
}

void html_block__begin(struct html_block *block, FILE *out, const char *name)
{
    block->out = out;
    block->used = 0;
    block->stream = (z_stream){.zalloc = take_memory,
                               .zfree = give_back,
                               .next_out = block->packed,
                               .avail_out = HTML_BLOCK_OCTETS};
    (void)deflateInit2(&block->stream, LEVEL, Z_DEFLATED, WINDOW_BITS, MEMORY_LEVEL,
                       Z_DEFAULT_STRATEGY);
    fprintf(out, "<script type=\"application/octet-stream\" data-block=\"%s\">", name);
}

static void write_octets(struct html_block *block, const void *octets, size_t count)
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
            pack(block, Z_NO_FLUSH);
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
    write_octets(block, octets, count);
}

void html_block__end(struct html_block *block)
{
    pack(block, Z_FINISH);
    (void)deflateEnd(&block->stream);
    fputs("</script>\n", block->out);
}

static ssize_t write_cookie(void *cookie, const char *octets, size_t count)
{
    write_octets(cookie, octets, count);
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
