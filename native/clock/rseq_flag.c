#include "native/clock/rseq_flag.h"

#include <stddef.h>

#if defined(__x86_64__)

/* glibc 2.35 and later define these; weak, so that one .so loads on older ones too. */
extern const ptrdiff_t __rseq_offset __attribute__((weak));
extern const unsigned int __rseq_size __attribute__((weak));

/* struct rseq and struct rseq_cs of the kernel's linux/rseq.h, which some headers lack. */
#define RSEQ_CS_OFFSET 8

struct rseq_descriptor {
    uint32_t version;
    uint32_t flags;
    uint64_t start_ip;
    uint64_t post_commit_offset;
    uint64_t abort_ip;
} __attribute__((aligned(32)));

/*
 * A critical section of one byte that is never executed, and an abort address outside it with the
 * signature before it: the kernel kills a thread whose descriptor lacks that. 0x53053053 is
 * RSEQ_SIG of x86, the operand of a ud1 so that it disassembles.
 */
__asm__(".pushsection .text.treadle_rseq, \"ax\", @progbits\n"
        ".hidden treadle_rseq_section, treadle_rseq_abort\n"
        ".global treadle_rseq_section, treadle_rseq_abort\n"
        "treadle_rseq_section:\n"
        "    ud2\n"
        "    .byte 0x0f, 0xb9, 0x3d\n"
        "    .long 0x53053053\n"
        "treadle_rseq_abort:\n"
        "    ud2\n"
        ".popsection\n");

extern const char treadle_rseq_section[] __attribute__((visibility("hidden")));
extern const char treadle_rseq_abort[] __attribute__((visibility("hidden")));

static const struct rseq_descriptor descriptor = {
    .start_ip = (uint64_t)(uintptr_t)treadle_rseq_section,
    .post_commit_offset = 1,
    .abort_ip = (uint64_t)(uintptr_t)treadle_rseq_abort,
};

static volatile uint64_t *word(void)
{
    return (volatile uint64_t *)((char *)__builtin_thread_pointer() + __rseq_offset +
                                 RSEQ_CS_OFFSET);
}

const volatile uint64_t *rseq_flag__word(void)
{
    if (&__rseq_size == NULL || __rseq_size == 0)
        return NULL;
    return word();
}

uint64_t rseq_flag__armed_value(void)
{
    return (uint64_t)(uintptr_t)&descriptor;
}

void rseq_flag__arm(void)
{
    *word() = rseq_flag__armed_value();
}

void rseq_flag__disarm(void)
{
    if (*word() == rseq_flag__armed_value())
        *word() = 0;
}

#else

const volatile uint64_t *rseq_flag__word(void)
{
    return NULL;
}

uint64_t rseq_flag__armed_value(void)
{
    return 0;
}

void rseq_flag__arm(void)
{
}

void rseq_flag__disarm(void)
{
}

#endif
