/*
 * The file in which an agent keeps events of a timeline while one is asked for, beside the ledger:
 * a header, then rings of events, a lane for each processor or for several. A lane is a ring of
 * lane_events slots; `head` events were begun in it so far, and the event with the number n stands
 * in slot n % lane_events. The newest events stay.
 *
 * Times are those of CLOCK_MONOTONIC. Refs are the ledger's: names of classes and methods stay
 * where they are as long as the ledger. Threads are known by their Java id and their tid, because
 * the record of a thread may be reused.
 *
 * A reader in another process must survive anything that it sees here.
 */
#ifndef TREADLE_TIMELINE_FORMAT_H
#define TREADLE_TIMELINE_FORMAT_H

#include "native/ledger/ledger_format.h"

#include <stdint.h>

#define TIMELINE_VERSION    1u
#define TIMELINE_BYTE_ORDER 0x01020304u
#define TIMELINE_LANES_MAX  64u
#define TIMELINE_NAME_BYTES 32u

enum timeline_kind {
    TIMELINE_THREAD = 1, /* who runs on tid from here on: `name` */
    TIMELINE_WAIT,       /* java_id begins to wait for `reason` */
    TIMELINE_WAITED,     /* … and goes on */
    TIMELINE_LOCK,       /* the wait that is under way is for `lock` */
    TIMELINE_CALL,       /* a call that has ended: `call` */
    TIMELINE_GC,         /* a pause that has ended: `call` without a method */
    TIMELINE_ON,         /* tid gets processor `reason`. Not written by an agent, as the next two */
    TIMELINE_OFF,        /* … and leaves it to wait */
    TIMELINE_PREEMPTED,  /* … or although it could run */
};

struct timeline_lock {
    ledger_ref class_name; /* string, or none */
    uint32_t identity;
    uint32_t kind; /* enum ledger_block_kind */
    int32_t owner_tid;
    uint64_t owner_id; /* java_id; 0: not known */
};

struct timeline_call {
    uint64_t length_ns; /* of a call: on the ledger's clock */
    uint64_t left_ns;   /* of a call: its end on the ledger's clock, read a little before at_ns */
    ledger_ref method;
};

struct timeline_event {
    uint64_t sequence; /* atomic: 0: never written; odd: being written; 2 * (number + 1): whole */
    uint64_t at_ns;    /* of a call or a pause: its end */
    uint64_t java_id;
    int32_t tid;
    uint8_t kind;        /* enum timeline_kind */
    uint8_t thread_kind; /* enum ledger_thread_kind */
    uint16_t reason;     /* enum ledger_metric */
    union {
        char name[TIMELINE_NAME_BYTES]; /* cut off; filled up with zeros */
        struct timeline_lock lock;
        struct timeline_call call;
    };
};

struct timeline_lane {
    uint64_t head;    /* atomic: events begun */
    uint64_t refused; /* atomic: events for which the slot was not free: their numbers stay empty */
    uint64_t unseen_calls; /* atomic: returns in threads for which there was no room to note when
                              calls begin */
    uint64_t reserved[5];
};

struct timeline_header {
    char magic[8];
    uint32_t version;
    uint32_t byte_order;
    uint32_t lanes;
    uint32_t lane_events; /* a power of two */
    int32_t pid;
    uint32_t number; /* of the timelines of this process */
    uint64_t start_ticks;
    uint64_t began_ns;
    uint64_t ledger_began_ns; /* the same moment on the ledger's clock */
    uint64_t ended_ns;        /* atomic: 0 while events are written */
    uint64_t until_ns;        /* atomic: when it ends by itself; 0 before the first event */
    uint64_t calls_above_ns;  /* calls as long as this or longer are events */
    uint64_t reserved_calls;
    uint8_t has_waits;
    uint8_t has_calls;
    uint8_t reserved_bytes[6];
    uint64_t reserved[500];
    struct timeline_lane lane[TIMELINE_LANES_MAX];
};

_Static_assert(sizeof(struct timeline_event) == 64, "a cache line");
_Static_assert(sizeof(struct timeline_lane) == 64, "a cache line");
_Static_assert(sizeof(struct timeline_header) == 8192, "whole pages");

#endif
