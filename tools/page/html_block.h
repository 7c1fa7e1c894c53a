/*
 * Blocks of octets in an HTML page: each a script element of a type that no browser runs, its
 * content compressed (deflate) and in base64. So the HTML parser never reads text of a
 * ledger, and the page of a server with thousands of threads is small enough for mail.
 *
 * Numbers are written as LEB128: seven bits an octet, the least significant first; the eighth bit
 * says that more octets follow.
 */
#ifndef TREADLE_HTML_BLOCK_H
#define TREADLE_HTML_BLOCK_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <zlib.h>

#define HTML_BLOCK_OCTETS 12288u /* a multiple of 3 */

struct html_block {
    FILE *out;
    z_stream stream;
    size_t used;
    unsigned char octets[HTML_BLOCK_OCTETS]; /* not compressed yet */
    unsigned char packed[HTML_BLOCK_OCTETS]; /* not written yet */
};

/* Begins a block. `name` is a constant of letters, digits, '-' and '_'. Errors are left to the
 * stream's ferror(). */
void html_block__begin(struct html_block *block, FILE *out, const char *name);
void html_block__number(struct html_block *block, uint64_t number);
void html_block__end(struct html_block *block);

/* The same for text: begins a block and returns a stream that writes into the block; NULL without
 * memory. */
FILE *html_block__begin_stream(struct html_block *block, FILE *out, const char *name);
void html_block__end_stream(struct html_block *block, FILE *stream);

#endif
