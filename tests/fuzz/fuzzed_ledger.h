/*
 * Any bytes as a ledger, for libFuzzer. What a file must have to be taken for a ledger at all is
 * put right: the rest is the fuzzer's. Most of its changes put a ref, or what looks like one, to
 * where a ref may stand.
 */
#ifndef TREADLE_FUZZED_LEDGER_H
#define TREADLE_FUZZED_LEDGER_H

#include "native/ledger/ledger_format.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define WORDS_OF_CELL (LEDGER_CELL_BYTES / sizeof(uint32_t))

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);
size_t LLVMFuzzerMutate(uint8_t *bytes, size_t length, size_t most);
size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t length, size_t most, unsigned seed);

static inline uint32_t next_number(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u; /* Knuth's MMIX */
    return (uint32_t)(*seed >> 33);
}

/* A word of the ledger becomes another one. */
static inline void change_word(uint8_t *bytes, uint32_t cells, uint64_t *seed)
{
    uint32_t at = next_number(seed) % cells, word = next_number(seed) % WORDS_OF_CELL, value;
    uint32_t other = next_number(seed) % cells * LEDGER_CELL_BYTES +
                     next_number(seed) % WORDS_OF_CELL * (uint32_t)sizeof(value);

    switch (next_number(seed) % 8) {
    case 0:
        value = 0;
        break;
    case 1:
        value = UINT32_MAX - next_number(seed) % 4;
        break;
    case 2:
        value = next_number(seed) % 70;
        break;
    case 3:
        memcpy(&value, bytes + other, sizeof value);
        break;
    case 4:
        value = (next_number(seed) % 9) << 24 | next_number(seed) % 2;
        break;
    default:
        value = next_number(seed) % cells;
    }
    memcpy(bytes + at * LEDGER_CELL_BYTES + word * sizeof value, &value, sizeof value);
}

static inline void copy_cell(uint8_t *bytes, uint32_t cells, uint64_t *seed)
{
    uint32_t from = next_number(seed) % cells, to = next_number(seed) % cells;

    memmove(bytes + to * LEDGER_CELL_BYTES, bytes + from * LEDGER_CELL_BYTES, LEDGER_CELL_BYTES);
}

size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t length, size_t most, unsigned seed)
{
    uint32_t cells = (uint32_t)(length / LEDGER_CELL_BYTES);
    uint64_t state = seed;

    if (cells < 2 || next_number(&state) % 8 == 0)
        return LLVMFuzzerMutate(bytes, length, most);
    for (uint32_t left = 1 + next_number(&state) % 4; left; left--) {
        if (next_number(&state) % 8)
            change_word(bytes, cells, &state);
        else
            copy_cell(bytes, cells, &state);
    }
    return length;
}

/* What the commands print is nobody's; what they complain of is silenced by -close_fd_mask=2. */
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    return freopen("/dev/null", "w", stdout) ? 0 : -1;
}

/* A file of these bytes, whose header is `header` as far as a reader checks it; or -1. */
static inline int fuzzed_file(const uint8_t *bytes, size_t length, struct ledger_header *header)
{
    int fd;

    if (length < sizeof *header)
        return -1;
    memcpy(header, bytes, sizeof *header);
    memcpy(header->magic, LEDGER_MAGIC, sizeof header->magic);
    header->format_version = LEDGER_FORMAT_VERSION;
    header->byte_order = LEDGER_BYTE_ORDER;
    header->cell_bytes = LEDGER_CELL_BYTES;
    header->chunk_bytes = LEDGER_CHUNK_BYTES;
    header->state = LEDGER_CLOSED;
    header->chunks_used = (uint32_t)(length / LEDGER_CHUNK_BYTES);
    if (!header->chunks_used)
        header->chunks_used = 1;
    fd = memfd_create("fuzzed", MFD_CLOEXEC);
    if (fd >= 0 && write(fd, bytes, length) == (ssize_t)length)
        return fd;
    abort();
}

static inline void put_header(int fd, const struct ledger_header *header)
{
    if (pwrite(fd, header, sizeof *header, 0) != (ssize_t)sizeof *header)
        abort();
}

#endif
