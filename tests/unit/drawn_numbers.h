/* Numbers for tests to draw: the same in every run, on every machine. */
#ifndef TREADLE_TEST_DRAWN_NUMBERS_H
#define TREADLE_TEST_DRAWN_NUMBERS_H

#include <stdint.h>

/* xorshift64 [G. Marsaglia: Xorshift RNGs, 2003]; the seed is not 0. */
static inline uint64_t next_random(uint64_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

/* splitmix64 [S. Vigna]; any seed. */
static inline uint64_t next_mixed(uint64_t *seed)
{
    uint64_t z = (*seed += 0x9e3779b97f4a7c15u);
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

#endif
