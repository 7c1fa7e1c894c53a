/*
 * Processors that the process kept busy over time: the kernel's CPU time of the process, profiled
 * or not, by slots of equal length. Where all slots are in use two become one. One thread at a time
 * writes; readers in other processes see a slot with its old number or its new one.
 */
#ifndef TREADLE_BUSY_HISTORY_H
#define TREADLE_BUSY_HISTORY_H

#include "native/ledger/ledger_header.h"

/* The process has used so much CPU time by that moment of the ledger's clock. What it used since
 * the last look is spread evenly over the time since then; what it had used before the first look
 * is not in the history. */
void busy_history__look(struct ledger_busy_history *history, uint64_t now_ns, uint64_t cpu_ns);

#endif
