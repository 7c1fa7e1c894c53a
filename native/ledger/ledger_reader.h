/*
 * Reading a ledger: live, closed or orphaned, whole or damaged.
 *
 * The file is copied into memory first, so later changes to the file do no harm. Every ref is
 * checked before it is followed. A file that cannot be understood gives one line that says what is
 * wrong and at which byte. Damage that leaves the rest readable, such as a node that was being
 * written when the process was killed, is skipped and counted.
 */
#ifndef TREADLE_LEDGER_READER_H
#define TREADLE_LEDGER_READER_H

#include "native/ledger/ledger_file.h"
#include "native/ledger/ledger_format.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ledger_reader;

/* Reads a ledger from an open file (which stays open), or from the file at `path`. On failure
 * returns NULL and writes one line without newline to message: what is wrong, where, and what was
 * expected. */
struct ledger_reader *ledger_reader__open_fd(int fd, const char *path, char *message,
                                             size_t message_bytes);
struct ledger_reader *ledger_reader__open(const char *path, char *message, size_t message_bytes);
void ledger_reader__close(struct ledger_reader *reader);

const struct ledger_header *ledger_reader__header(const struct ledger_reader *reader);
enum ledger_life ledger_reader__life(const struct ledger_reader *reader);

/* The number of records that were skipped because they were unfinished or made no sense, and a line
 * that says where the first of them is ("" if there is none). */
uint64_t ledger_reader__skipped(const struct ledger_reader *reader);
const char *ledger_reader__skipped_where(const struct ledger_reader *reader);

/* How many bytes of the file there are, and how many bytes are missing: of what the file's header
 * says, or of the ledgers from which the file was merged. 0 missing: the file is whole. */
uint64_t ledger_reader__present_bytes(const struct ledger_reader *reader);
uint64_t ledger_reader__missing_bytes(const struct ledger_reader *reader);

/* Returns the record behind a ref, or NULL if the ref is none, out of range or of another table.
 * The bytes of a string are not NUL-terminated and are valid as long as the reader. */
const char *ledger_reader__string(const struct ledger_reader *reader, ledger_ref ref,
                                  size_t *length);
const struct ledger_method *ledger_reader__method(const struct ledger_reader *reader,
                                                  ledger_ref ref);
const struct ledger_thread *ledger_reader__thread(const struct ledger_reader *reader,
                                                  ledger_ref ref);
const struct ledger_node *ledger_reader__node(const struct ledger_reader *reader, ledger_ref ref);
const struct ledger_side *ledger_reader__side(const struct ledger_reader *reader, ledger_ref ref);
const struct ledger_kernel_thread *ledger_reader__kernel_thread(const struct ledger_reader *reader,
                                                                ledger_ref ref);
const struct ledger_image *ledger_reader__image(const struct ledger_reader *reader, ledger_ref ref);
const struct ledger_code *ledger_reader__code(const struct ledger_reader *reader, ledger_ref ref);
const struct ledger_place *ledger_reader__place(const struct ledger_reader *reader, ledger_ref ref);
const struct ledger_hooking *ledger_reader__hooking(const struct ledger_reader *reader,
                                                    ledger_ref ref);
const struct ledger_class *ledger_reader__class(const struct ledger_reader *reader, ledger_ref ref);
const struct ledger_tally *ledger_reader__tally(const struct ledger_reader *reader, ledger_ref ref);
const struct ledger_block *ledger_reader__block(const struct ledger_reader *reader, ledger_ref ref);
const struct ledger_latency *ledger_reader__latency(const struct ledger_reader *reader,
                                                    ledger_ref ref);
const struct ledger_stuck *ledger_reader__stuck(const struct ledger_reader *reader, ledger_ref ref);
const struct ledger_order *ledger_reader__order(const struct ledger_reader *reader, ledger_ref ref);
const struct ledger_part *ledger_reader__part(const struct ledger_reader *reader, ledger_ref ref);
const struct ledger_rename *ledger_reader__rename(const struct ledger_reader *reader,
                                                  ledger_ref ref);

/* The record without what it claims about calls that were counted since the process wrote its
 * counts last: a live ledger, a copy made without the process's help, and what a killed process
 * left lack them. */
struct ledger_hooking ledger_reader__known_hooking(const struct ledger_reader *reader,
                                                   const struct ledger_hooking *record);

/* No ref to a record is as large. */
ledger_ref ledger_reader__refs(const struct ledger_reader *reader);

/* Iterates over the records of one table in the file's order: pass 0 first, then the last result;
 * returns 0 at the end. Strings cannot be iterated over. */
ledger_ref ledger_reader__next(const struct ledger_reader *reader, enum ledger_table table,
                               ledger_ref previous);

/* Returns how long a thread ran while profiling was on, from start_ns to end_ns. end_ns is 0 if the
 * thread still runs; asof_ns, the ledger's own end, then counts. How much of the unprofiled time
 * came before the thread began is known only if the thread began after the last start; else the
 * result is the least that it can be. */
uint64_t ledger_header__profiled_life_ns(const struct ledger_header *header, uint64_t start_ns,
                                         uint64_t end_ns, uint64_t asof_ns);

#endif
