/*
 * Draws ledgers for tests: threads and trees written down by hand, in a ledger without a name.
 */
#ifndef TREADLE_TESTS_LEDGER_DRAWING_H
#define TREADLE_TESTS_LEDGER_DRAWING_H

#include "native/ledger/ledger.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct drawing {
    struct ledger ledger;
    uint64_t next_key;
};

static inline void drawing__check(bool fine, const char *what)
{
    if (!fine) {
        perror(what);
        abort();
    }
}

static inline void drawing__begin(struct drawing *drawing, uint64_t max_bytes)
{
    memset(drawing, 0, sizeof(*drawing));
    drawing__check(ledger__create(&drawing->ledger, NULL, max_bytes) == 0, "ledger__create");
    drawing->ledger.header->clock_kind = LEDGER_CLOCK_RSEQ;
    drawing->ledger.header->event_mode = LEDGER_EVENTS_INSTRUMENT;
    drawing->ledger.header->epoch_ns = UINT64_C(1700000000000000000);
    drawing->ledger.header->process_start_epoch_ns = UINT64_C(1699999999500000000);
}

static inline void drawing__end(struct drawing *drawing)
{
    ledger__close(&drawing->ledger);
}

static inline ledger_ref drawing__string(struct drawing *drawing, const char *text)
{
    return ledger__string(&drawing->ledger, text, strlen(text));
}

static inline ledger_ref drawing__method(struct drawing *drawing, const char *class_name,
                                         const char *name, const char *signature)
{
    struct ledger_method_names names = {class_name, name, signature, "Demo.java"};
    return ledger__add_method(&drawing->ledger, ++drawing->next_key, &names, 0);
}

static inline struct ledger_node *drawing__node_at(struct drawing *drawing, ledger_ref ref)
{
    return ledger__at(&drawing->ledger, ref);
}

static inline struct ledger_thread *drawing__thread_at(struct drawing *drawing, ledger_ref ref)
{
    return ledger__at(&drawing->ledger, ref);
}

/* Appends a child, so siblings stand in the order they were drawn in. parent 0: a root. */
static inline ledger_ref drawing__node(struct drawing *drawing, ledger_ref parent,
                                       enum ledger_node_kind kind, ledger_ref method,
                                       uint64_t calls, uint64_t cpu_ns)
{
    ledger_ref ref = ledger__take_shared(&drawing->ledger, LEDGER_NODES, 1);
    drawing__check(ref != 0, "the ledger is full");
    struct ledger_node *node = drawing__node_at(drawing, ref);
    node->parent = parent;
    node->method = method;
    node->kind_and_level = (uint32_t)kind << 24;
    node->calls = calls;
    node->cpu_ns = cpu_ns;
    node->wait_ns = cpu_ns;
    if (parent) {
        ledger_ref *link = &drawing__node_at(drawing, parent)->first_child;
        while (*link)
            link = &drawing__node_at(drawing, *link)->next_sibling;
        *link = ref;
    }
    return ref;
}

static inline ledger_ref drawing__call(struct drawing *drawing, ledger_ref parent,
                                       ledger_ref method, uint64_t calls, uint64_t cpu_ns)
{
    return drawing__node(drawing, parent, NODE_EXACT, method, calls, cpu_ns);
}

/* When a method was heard: times on the ledger's clock. */
static inline void drawing__hooking(struct drawing *drawing, ledger_ref method,
                                    enum ledger_hooking_state state, uint64_t from_ns,
                                    uint64_t since_ns, uint64_t heard_ns)
{
    ledger_ref ref = ledger__take_shared(&drawing->ledger, LEDGER_HOOKINGS, LEDGER_HOOKING_CELLS);
    drawing__check(ref != 0, "the ledger is full");
    struct ledger_hooking *hooking = ledger__at(&drawing->ledger, ref);
    bool has_late_hooks = state == HOOKING_HEARD && heard_ns == 0; /* its first: never silenced */
    *hooking = (struct ledger_hooking){.method = method,
                                       .state = state,
                                       .from_ns = from_ns,
                                       .since_ns = since_ns,
                                       .heard_ns = heard_ns,
                                       .mutes = from_ns && !has_late_hooks ? 1 : 0,
                                       .rate = 5000};
}

/* include= and exclude= left the method out for a time, up to since_ns; from_ns: when it was first
 * hooked, or 0. */
static inline void drawing__left_out(struct drawing *drawing, ledger_ref method, uint64_t from_ns,
                                     uint64_t since_ns, uint64_t left_ns)
{
    ledger_ref ref = ledger__take_shared(&drawing->ledger, LEDGER_HOOKINGS, LEDGER_HOOKING_CELLS);
    drawing__check(ref != 0, "the ledger is full");
    struct ledger_hooking *hooking = ledger__at(&drawing->ledger, ref);
    *hooking = (struct ledger_hooking){.method = method,
                                       .from_ns = from_ns,
                                       .since_ns = since_ns,
                                       .heard_ns = left_ns,
                                       .mutes = 1,
                                       .left_out = 1};
}

/* What samples found below a node, appended to its sampled frames: those with it on top, and of
 * those through it how many found it interpreted. level NODE_SELF: the exact parent itself. */
static inline ledger_ref drawing__samples(struct drawing *drawing, ledger_ref parent,
                                          uint32_t kind_and_level, ledger_ref method, uint64_t cpu,
                                          uint64_t wall, uint64_t interpreted)
{
    ledger_ref ref = ledger__take_shared(&drawing->ledger, LEDGER_NODES, 1);
    drawing__check(ref != 0, "the ledger is full");
    struct ledger_node *node = drawing__node_at(drawing, ref);
    struct ledger_node *above = drawing__node_at(drawing, parent);
    node->parent = parent;
    node->method = method;
    node->kind_and_level = kind_and_level;
    node->cpu_samples = cpu;
    node->wall_samples = wall;
    node->interpreted = interpreted;
    ledger_ref *link = ledger_node__is_sampled(above) ? &above->first_child : &above->sampled;
    while (*link)
        link = &drawing__node_at(drawing, *link)->next_sibling;
    *link = ref;
    drawing->ledger.header->samples += cpu + wall;
    return ref;
}

static inline ledger_ref drawing__frame(struct drawing *drawing, ledger_ref parent,
                                        enum ledger_node_kind kind, ledger_ref method,
                                        uint64_t cpu_samples)
{
    return drawing__samples(drawing, parent, (uint32_t)kind << 24, method, cpu_samples, 0, 0);
}

static inline ledger_ref drawing__self(struct drawing *drawing, ledger_ref parent,
                                       uint64_t cpu_samples, uint64_t interpreted)
{
    return drawing__samples(drawing, parent, (uint32_t)NODE_SAMPLED << 24 | NODE_SELF, 0,
                            cpu_samples, 0, interpreted);
}

static inline ledger_ref drawing__record(struct drawing *drawing, enum ledger_table table)
{
    ledger_ref ref = ledger__take_shared(&drawing->ledger, table,
                                         table == LEDGER_HOOKINGS ? LEDGER_HOOKING_CELLS : 1);
    drawing__check(ref != 0, "the ledger is full");
    return ref;
}

static inline ledger_ref drawing__image(struct drawing *drawing, const char *path,
                                        const char *build_id)
{
    ledger_ref ref = drawing__record(drawing, LEDGER_IMAGES);
    struct ledger_image *image = ledger__at(&drawing->ledger, ref);
    image->path = drawing__string(drawing, path);
    image->build_id = build_id ? drawing__string(drawing, build_id) : 0;
    return ref;
}

/* A native function of an image, or of none if `image` is 0: then of `class_name`. */
static inline ledger_ref drawing__symbol(struct drawing *drawing, ledger_ref image,
                                         const char *class_name, const char *name, uint64_t address)
{
    struct ledger_method_names names = {class_name, name ? name : "", "", NULL};
    ledger_ref ref =
        ledger__add_method(&drawing->ledger, ++drawing->next_key, &names, METHOD_SYMBOL);
    struct ledger_method *method = ledger__at(&drawing->ledger, ref);
    method->image = image;
    method->address = address;
    method->signature = 0;
    if (!name)
        method->name = 0;
    return ref;
}

/* A thread and its root, whose base is cpu_ns. */
static inline ledger_ref drawing__thread(struct drawing *drawing, const char *name,
                                         enum ledger_thread_kind kind, uint64_t cpu_ns)
{
    ledger_ref ref = ledger__take_shared(&drawing->ledger, LEDGER_THREADS,
                                         sizeof(struct ledger_thread) / LEDGER_CELL_BYTES);
    drawing__check(ref != 0, "the ledger is full");
    struct ledger_thread *thread = drawing__thread_at(drawing, ref);
    thread->name = drawing__string(drawing, name);
    thread->kind = (uint32_t)kind;
    thread->root = drawing__node(drawing, 0, NODE_ROOT, 0, 0, cpu_ns);
    return ref;
}

static inline ledger_ref drawing__root(struct drawing *drawing, ledger_ref thread)
{
    return drawing__thread_at(drawing, thread)->root;
}

static inline void drawing__side(struct drawing *drawing, ledger_ref node,
                                 enum ledger_metric metric, uint64_t value)
{
    struct ledger_node *record = drawing__node_at(drawing, node);
    if (!record->side) {
        record->side = ledger__take_shared(&drawing->ledger, LEDGER_SIDES,
                                           sizeof(struct ledger_side) / LEDGER_CELL_BYTES);
        struct ledger_side *side = ledger__at(&drawing->ledger, record->side);
        side->node = node;
    }
    struct ledger_side *side = ledger__at(&drawing->ledger, record->side);
    side->value[metric] = value;
    drawing->ledger.header->metrics_charged |= UINT64_C(1) << metric;
}

static inline void drawing__total(struct drawing *drawing, ledger_ref thread,
                                  enum ledger_metric metric, uint64_t value)
{
    drawing__thread_at(drawing, thread)->totals[metric] = value;
    drawing->ledger.header->metrics_totals |= UINT64_C(1) << metric;
}

static inline size_t drawing__bytes(const struct drawing *drawing)
{
    return (size_t)drawing->ledger.header->chunks_used * LEDGER_CHUNK_BYTES;
}

/* Writes the ledger as it stands to a file, as a snapshot or as it would be found live. */
static inline void drawing__save(struct drawing *drawing, const char *path, enum ledger_state state)
{
    drawing->ledger.header->state = (uint32_t)state;
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    drawing__check(fd >= 0, path);
    size_t bytes = drawing__bytes(drawing);
    drawing__check(write(fd, drawing->ledger.base, bytes) == (ssize_t)bytes, path);
    close(fd);
}

#endif
