/*
 * A ledger with samples, for the tests of the command line.
 */
#ifndef TREADLE_TESTS_SAMPLED_DRAWING_H
#define TREADLE_TESTS_SAMPLED_DRAWING_H

#include "tests/ledger_drawing.h"

#include <errno.h>

/* x86-64: push rbp; mov rbp, rsp; add edi, 1; mov eax, edi; pop rbp; ret */
static const unsigned char drawn_machine_code[] = {
    0x55, 0x48, 0x89, 0xe5, 0x83, 0xc7, 0x01, 0x89, 0xf8, 0x5d, 0xc3,
};

/* iconst_2; newarray int; astore_1; iload_0; goto 4; return. Lines 10 (0), 11 (4), 12 (8). */
static const unsigned char drawn_bytecode[] = {
    0x05, 0xbc, 0x0a, 0x4c, 0x1a, 0xa7, 0xff, 0xff, 0xb1,
};
static const uint16_t drawn_lines[] = {0, 10, 4, 11, 8, 12};

static inline ledger_ref sampled__bytes(struct drawing *drawing, const void *bytes, size_t length)
{
    return ledger__string(&drawing->ledger, bytes, length);
}

/* A place, in front of its owner's others; of a compiled one `offset` counts, else `bci`. */
static inline void sampled__place(struct drawing *drawing, ledger_ref owner, ledger_ref *first,
                                  ledger_ref method, int32_t bci, uint64_t offset, uint64_t cpu)
{
    ledger_ref ref = drawing__record(drawing, LEDGER_PLACES);
    struct ledger_place *place = ledger__at(&drawing->ledger, ref);
    place->owner = owner;
    place->next = *first;
    place->method = method;
    place->bci = bci;
    place->offset = offset;
    place->cpu_samples = cpu;
    *first = ref;
}

static inline ledger_ref *sampled__places_of(struct drawing *drawing, ledger_ref method)
{
    return &((struct ledger_method *)ledger__at(&drawing->ledger, method))->places;
}

static inline struct ledger_code *sampled__code(struct drawing *drawing, ledger_ref method,
                                                uint64_t address, enum ledger_compiler compiler,
                                                ledger_ref *ref)
{
    *ref = drawing__record(drawing, LEDGER_CODE);
    struct ledger_code *code = ledger__at(&drawing->ledger, *ref);
    code->method = method;
    code->bytes = sampled__bytes(drawing, drawn_machine_code, sizeof(drawn_machine_code));
    code->size = sizeof(drawn_machine_code);
    code->address = address;
    code->compiler = (uint32_t)compiler;
    return code;
}

static inline void sampled__describe(struct ledger_header *header)
{
    header->sample_mode = LEDGER_SAMPLE_CPU;
    header->sample_clock = LEDGER_SAMPLE_CLOCK_TIMER;
    header->sample_clock_error = EACCES;
    header->sample_unwind = LEDGER_UNWIND_TABLES;
    header->sample_interval_ns = 10000000;
    header->samples += 3 + 2;
    header->dropped_samples = 3;
    header->homeless_samples = 2;
    header->lost_scopes = 4;
    header->sample_buffer_bytes = 65536;
    header->sample_fill_bytes = 16384;
    header->walk_failures[WALK_NO_UNWIND] = 4;
    header->walk_failures[WALK_TOO_DEEP] = 9;
}

struct sampled_methods {
    ledger_ref main, work, put, loop, small, spin, vfs_read, stub, collect;
};

static inline struct sampled_methods sampled__methods(struct drawing *drawing)
{
    ledger_ref demo = drawing__image(drawing, "/opt/demo/libdemo.so", "0123456789abcdef");
    ledger_ref jvm = drawing__image(drawing, "/opt/jdk/lib/server/libjvm.so", NULL);
    struct sampled_methods methods = {
        .main = drawing__method(drawing, "demo.Main", "main", "([Ljava/lang/String;)V"),
        .work = drawing__method(drawing, "demo.Main", "work", "()V"),
        .put = drawing__method(drawing, "java.util.HashMap", "put",
                               "(Ljava/lang/Object;Ljava/lang/Object;)Ljava/lang/Object;"),
        .loop = drawing__method(drawing, "demo.Inner", "loop", "(I)V"),
        .small = drawing__method(drawing, "demo.Inner", "small", "(I)I"),
        .spin = drawing__symbol(drawing, demo, "/opt/demo/libdemo.so", "_ZN4demo6Engine4spinEi",
                                0x1130),
        .vfs_read = drawing__symbol(drawing, 0, "[kernel]", "vfs_read", 0),
        .stub = drawing__symbol(drawing, 0, "[jvm]", "call_stub", 0x7f0000001000),
        .collect = drawing__symbol(drawing, jvm, "/opt/jdk/lib/server/libjvm.so", NULL, 0x8a3f10),
    };
    return methods;
}

/* Where in Main.work, Inner.small and Inner.loop: see sampled__draw. */
static inline void sampled__draw_places(struct drawing *drawing,
                                        const struct sampled_methods *methods)
{
    ledger_ref ref;
    struct ledger_code *work =
        sampled__code(drawing, methods->work, 0x7f0000002000, COMPILER_C2, &ref);
    sampled__place(drawing, ref, &work->places, methods->work, 4, 4, 2);
    sampled__place(drawing, ref, &work->places, methods->small, 4, 7, 3);
    struct ledger_code *loop =
        sampled__code(drawing, methods->loop, 0x7f0000003000, COMPILER_C1, &ref);
    sampled__place(drawing, ref, &loop->places, methods->loop, 4, 1, 4);
    sampled__place(drawing, methods->loop, sampled__places_of(drawing, methods->loop), 0, 5, 0, 5);
    sampled__place(drawing, methods->loop, sampled__places_of(drawing, methods->loop), 0, 8, 0, 1);
    sampled__place(drawing, methods->main, sampled__places_of(drawing, methods->main), 0, 4, 0, 1);
    const ledger_ref with_code[] = {methods->main, methods->work, methods->loop, methods->small};
    for (size_t i = 0; i < sizeof(with_code) / sizeof(with_code[0]); i++) {
        struct ledger_method *method = ledger__at(&drawing->ledger, with_code[i]);
        method->bytecode = sampled__bytes(drawing, drawn_bytecode, sizeof(drawn_bytecode));
        method->lines = sampled__bytes(drawing, drawn_lines, sizeof(drawn_lines));
    }
}

/*
 * A sample every 10 ms: (samples on top), [of those through it found interpreted].
 *
 * main                               worker             GC Thread#0
 *   (thread)          0 ms             (thread) 0 ms      (thread) 300 ms (5)
 *     Main.main x1  100 ms (1)[1]        Main.work x9       libjvm.so+0x8a3f10 (25)
 *       HashMap.put (3)                    50 ms
 *         demo::Engine::spin (4)
 *         vfs_read (2)
 *       Main.work x4 200 ms (5)
 *         Inner.loop (10)[9]
 *           spin (4)
 *           call_stub (1)
 *
 * Places: Main.main interpreted at 4; Main.work compiled at +4 (2), and Inner.small, inlined, at +7
 * (3); Inner.loop interpreted at 5 (5) and 8 (1), compiled at +1 (4).
 */
static inline void sampled__draw(struct drawing *drawing)
{
    const uint64_t ms = 1000000;
    struct sampled_methods methods = sampled__methods(drawing);
    ledger_ref main_thread = drawing__thread(drawing, "main", THREAD_PLATFORM, 0);
    ledger_ref in_main =
        drawing__call(drawing, drawing__root(drawing, main_thread), methods.main, 1, 100 * ms);
    ledger_ref put = drawing__frame(drawing, in_main, NODE_SAMPLED, methods.put, 3);
    drawing__frame(drawing, put, NODE_NATIVE, methods.spin, 4);
    drawing__frame(drawing, put, NODE_KERNEL, methods.vfs_read, 2);
    drawing__self(drawing, in_main, 1, 1);
    ledger_ref in_work = drawing__call(drawing, in_main, methods.work, 4, 200 * ms);
    drawing__self(drawing, in_work, 5, 0);
    ledger_ref loop =
        drawing__samples(drawing, in_work, (uint32_t)NODE_SAMPLED << 24, methods.loop, 10, 0, 9);
    drawing__frame(drawing, loop, NODE_NATIVE, methods.spin, 4);
    drawing__frame(drawing, loop, NODE_NATIVE, methods.stub, 1);

    ledger_ref worker = drawing__thread(drawing, "worker", THREAD_PLATFORM, 0);
    drawing__call(drawing, drawing__root(drawing, worker), methods.work, 9, 50 * ms);
    ledger_ref collector = drawing__thread(drawing, "GC Thread#0", THREAD_VM, 300 * ms);
    drawing__self(drawing, drawing__root(drawing, collector), 5, 0);
    drawing__frame(drawing, drawing__root(drawing, collector), NODE_NATIVE, methods.collect, 25);
    sampled__draw_places(drawing, &methods);
    sampled__describe(drawing->ledger.header);
}

/*
 * First samples of CPU time were taken, then of wall time: (CPU samples, wall samples on top).
 *
 * main
 *   (thread)
 *     Main.main x1  100 ms CPU, 200 ms wall (2, 0)
 *       HashMap.put (6, 5)
 *       Inner.loop (2, 15), at bytecode index 5 (2, 10) and 8 (0, 5)
 */
static inline void sampled__draw_mixed(struct drawing *drawing)
{
    const uint64_t ms = 1000000;
    struct sampled_methods methods = sampled__methods(drawing);
    struct ledger_header *header = drawing->ledger.header;
    ledger_ref main_thread = drawing__thread(drawing, "main", THREAD_PLATFORM, 0);
    ledger_ref in_main =
        drawing__call(drawing, drawing__root(drawing, main_thread), methods.main, 1, 100 * ms);
    drawing__self(drawing, in_main, 2, 0);
    drawing__samples(drawing, in_main, (uint32_t)NODE_SAMPLED << 24, methods.put, 6, 5, 0);
    drawing__samples(drawing, in_main, (uint32_t)NODE_SAMPLED << 24, methods.loop, 2, 15, 0);
    ledger_ref *places = sampled__places_of(drawing, methods.loop);
    sampled__place(drawing, methods.loop, places, 0, 5, 0, 2);
    ((struct ledger_place *)ledger__at(&drawing->ledger, *places))->wall_samples = 10;
    sampled__place(drawing, methods.loop, places, 0, 8, 0, 0);
    ((struct ledger_place *)ledger__at(&drawing->ledger, *places))->wall_samples = 5;
    header->sample_mode = LEDGER_SAMPLE_WALL;
    header->sample_modes = 1u << LEDGER_SAMPLE_CPU | 1u << LEDGER_SAMPLE_WALL;
    header->sample_clock = LEDGER_SAMPLE_CLOCK_WALL;
    header->sample_interval_ns = 10 * ms;
}

#endif
