/*
 * "Was I switched out?", from the restartable sequence area that glibc registers for every thread.
 * See rseq(2) in librseq, and sysdeps/unix/sysv/linux/sys/rseq.h in glibc. x86-64 only: elsewhere
 * there is no word and the other clocks serve. Async-signal-safe; each thread for itself.
 */
#ifndef TREADLE_RSEQ_FLAG_H
#define TREADLE_RSEQ_FLAG_H

#include <stdint.h>

/* The calling thread's rseq_cs, or NULL where no rseq is registered. */
const volatile uint64_t *rseq_flag__word(void);

/* The value of rseq_cs while armed: the address of our descriptor. Another user of rseq may have
 * stored a descriptor of its own, so compare with this value, never with zero. */
uint64_t rseq_flag__armed_value(void);

void rseq_flag__arm(void);

/* Removes our descriptor from rseq_cs if it is still there. */
void rseq_flag__disarm(void);

#endif
