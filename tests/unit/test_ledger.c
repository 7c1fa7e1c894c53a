/* The ledger's writer: making the file, growing it, handing out records, when nothing is left. */
#include "child.h"
#include "native/ledger/ledger.h"
#include "small_disk.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* cmocka.h needs the others before it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#define KIB     UINT64_C(1024)
#define MIB     (KIB * KIB)
#define RACERS  8
#define PER_RUN (LEDGER_CHUNK_CELLS - 1)

static char folder[] = "/tmp/treadle-ledger-XXXXXX";

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) != NULL ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    return rmdir(folder);
}

static void create(struct ledger *ledger, uint64_t max_bytes)
{
    assert_int_equal(ledger__create(ledger, NULL, max_bytes), 0);
}

/* Runs the eight at once. */
static void race(void *(*run)(void *context), void *contexts, size_t context_bytes)
{
    pthread_t threads[RACERS];
    for (size_t i = 0; i < RACERS; i++)
        assert_int_equal(
            pthread_create(&threads[i], NULL, run, (char *)contexts + i * context_bytes), 0);
    for (size_t i = 0; i < RACERS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
}

static void check_new_file(mode_t mask)
{
    struct ledger ledger;
    struct stat file;
    char beginning[128];
    mode_t before = umask(mask);
    int error = ledger__create(&ledger, folder, MIB);
    (void)umask(before);
    assert_int_equal(error, 0);
    assert_int_equal(lstat(ledger.path, &file), 0);
    assert_int_equal(file.st_mode, S_IFREG | 0600);
    (void)snprintf(beginning, sizeof beginning, "%s/treadle-%d-", folder, (int)getpid());
    assert_memory_equal(ledger.path, beginning, strlen(beginning));
    const char *random = ledger.path + strlen(beginning);
    assert_int_equal(strspn(random, "0123456789abcdef"), 16);
    assert_string_equal(random + 16, ".live");
    assert_int_equal(count_files(folder), 1);
    ledger__unlink(&ledger);
    assert_int_equal(count_files(folder), 0);
    ledger__close(&ledger);
}

static void file_is_for_its_user_only(void **state)
{
    (void)state;
    check_new_file(0);
    check_new_file(0777);
}

static void header_says_what_it_is(void **state)
{
    (void)state;
    struct ledger ledger;
    create(&ledger, MIB + 4095);
    const struct ledger_header *header = ledger.header;
    assert_memory_equal(header->magic, "TREADLE\n", 8);
    assert_int_equal(header->format_version, 8);
    assert_int_equal(header->byte_order, 0x01020304);
    assert_int_equal(header->cell_bytes, 64);
    assert_int_equal(header->chunk_bytes, 4096);
    assert_int_equal(header->state, LEDGER_LIVE);
    assert_int_equal(header->chunks_used, 1);
    assert_int_equal(header->max_bytes, MIB);
    assert_int_equal(header->pid, getpid());
    assert_int_equal(header->uid, getuid());
    assert_int_equal(header->full_error, 0);
    assert_string_equal(ledger.path, "");
    ledger__unlink(&ledger);
    ledger__close(&ledger);
    assert_int_equal(ledger.fd, -1);

    create(&ledger, 0);
    assert_int_equal(ledger.header->max_bytes, 64 * KIB);
    ledger__close(&ledger);
}

static void refused_folders_give_a_reason_and_leave_nothing(void **state)
{
    (void)state;
    static const struct {
        const char *folder;
        int error;
    } cases[] = {
        {"/tmp/treadle-no-such-folder", -ENOENT},
        {"/proc/self/stat", -ENOTDIR},
        {"/dev/null", -ENOTDIR},
    };
    struct ledger ledger;
    char name[5000];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(ledger__create(&ledger, cases[i].folder, MIB), cases[i].error);
        assert_int_equal(ledger.fd, -1);
    }
    assert_true(ledger__create(&ledger, "/proc/self/fdinfo", MIB) < 0);
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    assert_int_equal(ledger__create(&ledger, name, MIB), -ENAMETOOLONG);
    name[300] = '\0';
    name[0] = '/';
    assert_int_equal(ledger__create(&ledger, name, MIB), -ENAMETOOLONG);
}

static int create_as_nobody(void)
{
    struct ledger ledger;
    if (chmod(folder, 0755) != 0 || setuid(65534) != 0)
        return 77;
    return -ledger__create(&ledger, folder, MIB);
}

static void a_folder_of_somebody_else_is_refused(void **state)
{
    (void)state;
    if (getuid() != 0) {
        print_message("only root can become somebody else\n");
        skip();
    }
    assert_int_equal(run_child(create_as_nobody), EACCES);
    assert_int_equal(count_files(folder), 0);
}

/* Takes nodes until there are none, and fills each: their number. */
static unsigned take_all(struct ledger *ledger, struct ledger_arena *arena)
{
    unsigned count = 0;
    ledger_ref ref = 0;
    while ((ref = ledger__take(ledger, arena, LEDGER_NODES, 1)) != 0) {
        memset(ledger__at(ledger, ref), 0xa5, sizeof(struct ledger_node));
        count++;
    }
    return count;
}

static int take_within_a_file_limit(void)
{
    const struct rlimit limit = {300 * KIB, 300 * KIB};
    struct ledger ledger;
    struct ledger_arena arena = {0};
    /* As a JVM has it. */
    if (signal(SIGXFSZ, SIG_IGN) == SIG_ERR || setrlimit(RLIMIT_FSIZE, &limit) != 0)
        return 1;
    if (ledger__create(&ledger, folder, MIB) != 0)
        return 2;
    ledger__unlink(&ledger);
    if (take_all(&ledger, &arena) != (300 / 4 - 1) * PER_RUN)
        return 3;
    return ledger.header->full_error == EFBIG ? 0 : 4;
}

static void a_limit_on_files_is_a_full_ledger(void **state)
{
    (void)state;
    assert_int_equal(run_child(take_within_a_file_limit), 0);
}

/* Many more than the first reservation holds, each with its own number. */
static void records_are_zero_apart_and_stay(void **state)
{
    (void)state;
    enum { NODES = 10000 };
    struct ledger ledger;
    struct ledger_arena arena = {0};
    create(&ledger, 16 * MIB);
    ledger_ref *refs = calloc(NODES, sizeof *refs);
    assert_non_null(refs);
    for (unsigned i = 0; i < NODES; i++) {
        static const struct ledger_node zero;
        refs[i] = ledger__take(&ledger, &arena, LEDGER_NODES, 1);
        assert_int_not_equal(refs[i], 0);
        struct ledger_node *node = ledger__at(&ledger, refs[i]);
        assert_int_equal(ledger__ref(&ledger, node), refs[i]);
        assert_memory_equal(node, &zero, sizeof zero);
        node->calls = i + 1;
    }
    for (unsigned i = 0; i < NODES; i++)
        assert_int_equal(((struct ledger_node *)ledger__at(&ledger, refs[i]))->calls, i + 1);
    /* 63 nodes a chunk, and the header. */
    assert_int_equal(ledger.header->chunks_used, 1 + (NODES + PER_RUN - 1) / PER_RUN);
    assert_true(ledger.chunks_reserved >= ledger.header->chunks_used);
    struct stat file;
    assert_int_equal(fstat(ledger.fd, &file), 0);
    assert_true((uint64_t)file.st_size >= ledger.header->chunks_used * 4 * KIB);
    free(refs);
    ledger__close(&ledger);
}

/* 64 KiB: 16 chunks, one the header, 63 nodes in each other. */
static void a_full_ledger_gives_none(void **state)
{
    (void)state;
    static const struct ledger_method_names names = {"C", "m", "()V", "C.java"};
    struct ledger ledger;
    struct ledger_arena arena = {0};
    struct ledger_thread thread = {0};
    create(&ledger, 64 * KIB);
    assert_int_equal(take_all(&ledger, &arena), 15 * PER_RUN);
    assert_int_equal(ledger.header->full_error, ENOMEM);
    assert_int_equal(ledger.header->chunks_used, 16);
    for (int table = LEDGER_STRINGS; table < LEDGER_TABLES; table++)
        assert_int_equal(ledger__take_shared(&ledger, (enum ledger_table)table, 1), 0);
    assert_int_equal(ledger__take_shared(&ledger, LEDGER_STRINGS, 1000), 0);
    assert_int_equal(ledger__string(&ledger, "lost", 4), 0);
    assert_int_equal(ledger__add_method(&ledger, 1, &names, 0), 0);
    assert_int_equal(ledger__find_method(&ledger, 1), 0);
    ledger__rename_thread(&ledger, &thread, "lost", 4, 1);
    assert_int_equal(thread.renames, 0);
    /* There is no more to reserve, and that is no error; nor is there more to take. */
    assert_int_equal(ledger__reserve_ahead(&ledger, MIB), 0);
    assert_int_equal(take_all(&ledger, &arena), 0);
    assert_int_equal(ledger.header->chunks_used, 16);
    ledger__close(&ledger);
}

/* A string that finds no room must not take away what smaller records could still have. */
static void a_large_record_that_does_not_fit_leaves_the_rest(void **state)
{
    (void)state;
    static char text[60000];
    struct ledger ledger;
    struct ledger_arena arena = {0};
    create(&ledger, 64 * KIB);
    memset(text, 'x', sizeof text);
    assert_int_not_equal(ledger__take(&ledger, &arena, LEDGER_NODES, 1), 0);
    assert_int_equal(ledger__string(&ledger, text, sizeof text), 0);
    assert_int_equal(take_all(&ledger, &arena), 15 * PER_RUN - 1);
    ledger__close(&ledger);
}

static void a_full_folder_is_noted(void **state)
{
    (void)state;
    struct small_disk disk;
    struct ledger ledger;
    struct ledger_arena arena = {0};
    if (!small_disk__mount(&disk, 1024))
        skip();
    assert_int_equal(ledger__create(&ledger, disk.folder, 16 * MIB), 0);
    small_disk__fill(&disk);
    /* What is reserved already, 256 KiB, is ours: 64 chunks, one the header. */
    assert_int_equal(take_all(&ledger, &arena), 63 * PER_RUN);
    assert_int_equal(ledger.header->full_error, ENOSPC);
    assert_int_equal(ledger__reserve_ahead(&ledger, 64 * KIB), -ENOSPC);
    assert_int_equal(take_all(&ledger, &arena), 0);

    /* Somebody made room. */
    small_disk__free(&disk);
    assert_int_equal(ledger__reserve_ahead(&ledger, 64 * KIB), 0);
    unsigned more = take_all(&ledger, &arena);
    assert_true(more >= 16 * PER_RUN && more % PER_RUN == 0);
    assert_int_equal(ledger.header->full_error, ENOSPC);
    ledger__unlink(&ledger);
    ledger__close(&ledger);

    small_disk__fill(&disk);
    assert_int_equal(ledger__create(&ledger, disk.folder, 16 * MIB), -ENOSPC);
    assert_int_equal(count_files(disk.folder), 1);
    small_disk__unmount(&disk);
}

static void reserving_ahead_takes_nothing(void **state)
{
    (void)state;
    struct ledger ledger;
    create(&ledger, 4 * MIB);
    assert_int_equal(ledger__reserve_ahead(&ledger, 2 * MIB), 0);
    assert_true(ledger.chunks_reserved >= 2 * MIB / (4 * KIB));
    assert_int_equal(ledger.header->chunks_used, 1);
    assert_int_equal(ledger__reserve_ahead(&ledger, 64 * MIB), 0);
    assert_int_equal(ledger.chunks_reserved, 4 * MIB / (4 * KIB));
    ledger__close(&ledger);
}

static void check_string(struct ledger *ledger, const char *bytes, size_t length)
{
    ledger_ref ref = ledger__string(ledger, bytes, length);
    assert_int_not_equal(ref, 0);
    const struct ledger_string *string = ledger__at(ledger, ref);
    assert_int_equal(string->length, length);
    assert_memory_equal((const char *)string + offsetof(struct ledger_string, bytes), bytes,
                        length);
    assert_int_equal(ledger__string(ledger, bytes, length), ref);
}

static void equal_strings_are_one(void **state)
{
    (void)state;
    /* Around the ends of cells and chunks, where 12 bytes of the first cell are the head. */
    static const size_t lengths[] = {0,    1,    51,   52,   53,    115,  116,  117,
                                     4018, 4019, 4020, 4021, 4022,  8000, 8116, 8117,
                                     4083, 4084, 4085, 4096, 40000, 65535};
    struct ledger ledger;
    char *bytes = malloc(LEDGER_STRING_MAX + 2);
    assert_non_null(bytes);
    for (size_t i = 0; i < LEDGER_STRING_MAX + 2; i++)
        bytes[i] = (char)('a' + i * 7 % 26);
    create(&ledger, 4 * MIB);
    for (int round = 0; round < 2; round++)
        for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++)
            check_string(&ledger, bytes, lengths[i]);
    uint32_t used = ledger.header->chunks_used;

    /* Bytes, not text: what differs behind a NUL differs. */
    ledger_ref one = ledger__string(&ledger, "a\0b", 3);
    assert_int_not_equal(ledger__string(&ledger, "a\0c", 3), one);
    assert_int_not_equal(ledger__string(&ledger, "a", 1), one);

    /* Longer than the longest is cut there. */
    ledger_ref longest = ledger__string(&ledger, bytes, LEDGER_STRING_MAX);
    assert_int_equal(ledger__string(&ledger, bytes, LEDGER_STRING_MAX + 1), longest);
    assert_true(ledger.header->chunks_used <= used + 1);
    free(bytes);
    ledger__close(&ledger);
}

#define NAMES 2000

struct name_racer {
    struct ledger *ledger;
    pthread_barrier_t *start;
    ledger_ref refs[NAMES];
};

static void *race_for_names(void *context)
{
    struct name_racer *racer = context;
    for (unsigned i = 0; i < NAMES; i++) {
        char name[64];
        int length = snprintf(name, sizeof name, "pool-1-thread-%u", i);
        (void)pthread_barrier_wait(racer->start);
        racer->refs[i] = ledger__string(racer->ledger, name, (size_t)length);
    }
    return NULL;
}

/* Two threads of one name start together: whichever record each got, the name that one has when it
 * ends is the name it began with, not a rename. */
static void racing_equal_names_are_no_renames(void **state)
{
    (void)state;
    static struct name_racer racers[RACERS];
    pthread_barrier_t start;
    struct ledger ledger;
    unsigned renames = 0;
    unsigned doubles = 0;
    create(&ledger, 4 * MIB);
    assert_int_equal(pthread_barrier_init(&start, NULL, RACERS), 0);
    for (int i = 0; i < RACERS; i++) {
        racers[i].ledger = &ledger;
        racers[i].start = &start;
    }
    race(race_for_names, racers, sizeof racers[0]);
    for (unsigned i = 0; i < NAMES; i++) {
        char name[64];
        int length = snprintf(name, sizeof name, "pool-1-thread-%u", i);
        for (int j = 0; j < RACERS; j++) {
            const struct ledger_string *string = ledger__at(&ledger, racers[j].refs[i]);
            struct ledger_thread thread = {.name = racers[j].refs[i]};
            assert_int_equal(string->length, length);
            assert_memory_equal(string->bytes, name, (size_t)length);
            doubles += racers[j].refs[i] != racers[0].refs[i];
            ledger__rename_thread(&ledger, &thread, name, (size_t)length, 1);
            renames += thread.rename_count;
        }
    }
    if (doubles > 0)
        print_message("%u of %d refs were doubles\n", doubles, NAMES * RACERS);
    assert_int_equal(renames, 0);
    (void)pthread_barrier_destroy(&start);
    ledger__close(&ledger);
}

#define METHODS 2000

struct method_racer {
    struct ledger *ledger;
    pthread_barrier_t *start;
    ledger_ref refs[METHODS];
};

static void *race_for_methods(void *context)
{
    static const struct ledger_method_names names = {"pkg.Class", "method", "()V", "Class.java"};
    struct method_racer *racer = context;
    for (uint64_t i = 0; i < METHODS; i++) {
        if (i % 16 == 0)
            (void)pthread_barrier_wait(racer->start);
        racer->refs[i] = ledger__add_method(racer->ledger, 0x7f0000001000 + i * 8, &names, 0);
    }
    return NULL;
}

static void one_live_record_a_method(void **state)
{
    (void)state;
    static struct method_racer racers[RACERS];
    static unsigned live[METHODS];
    pthread_barrier_t start;
    struct ledger ledger;
    create(&ledger, 16 * MIB);
    assert_int_equal(pthread_barrier_init(&start, NULL, RACERS), 0);
    for (int i = 0; i < RACERS; i++) {
        racers[i].ledger = &ledger;
        racers[i].start = &start;
    }
    race(race_for_methods, racers, sizeof racers[0]);
    for (uint64_t i = 0; i < METHODS; i++) {
        ledger_ref found = ledger__find_method(&ledger, 0x7f0000001000 + i * 8);
        assert_int_not_equal(found, 0);
        for (int j = 0; j < RACERS; j++)
            assert_int_equal(racers[j].refs[i], found);
    }
    ledger_ref ref = 0;
    while ((ref = ledger__next(&ledger, LEDGER_METHODS, ref)) != 0) {
        const struct ledger_method *method = ledger__at(&ledger, ref);
        if (method->flags & METHOD_DEAD)
            continue;
        uint64_t i = (method->key - 0x7f0000001000) / 8;
        assert_true(i < METHODS);
        assert_int_equal(racers[0].refs[i], ref);
        live[i]++;
    }
    for (unsigned i = 0; i < METHODS; i++)
        assert_int_equal(live[i], 1);
    (void)pthread_barrier_destroy(&start);
    ledger__close(&ledger);
}

static void methods_have_names_and_flags(void **state)
{
    (void)state;
    static const struct ledger_method_names put = {"java.util.HashMap", "put", "(II)V", NULL};
    static const struct ledger_method_names other = {"other", "other", "()V", "Other.java"};
    struct ledger ledger;
    create(&ledger, MIB);
    assert_int_equal(ledger__find_method(&ledger, 7), 0);
    ledger_ref ref = ledger__add_method(&ledger, 7, &put, METHOD_NATIVE | METHOD_EXCLUDED);
    const struct ledger_method *method = ledger__at(&ledger, ref);
    assert_int_equal(method->key, 7);
    assert_int_equal(method->flags, METHOD_NATIVE | METHOD_EXCLUDED);
    assert_int_equal(method->class_name, ledger__string(&ledger, put.class_name, 17));
    assert_int_equal(method->name, ledger__string(&ledger, put.name, 3));
    assert_int_equal(method->signature, ledger__string(&ledger, put.signature, 5));
    assert_int_equal(method->source, 0);
    /* The first one stays. */
    assert_int_equal(ledger__add_method(&ledger, 7, &other, 0), ref);
    assert_int_equal(ledger__find_method(&ledger, 7), ref);
    assert_int_not_equal(ledger__add_method(&ledger, 8, &other, 0), ref);
    ledger__close(&ledger);
}

/*
 *  began as "one"; renames, newest first: three@30, one@25, two@20
 */
static void renames_are_a_history(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        uint64_t when_ns;
    } expected[] = {{"three", 30}, {"one", 25}, {"two", 20}};
    struct ledger ledger;
    create(&ledger, MIB);
    struct ledger_thread thread = {.name = ledger__string(&ledger, "one", 3)};
    ledger__rename_thread(&ledger, &thread, "one", 3, 10);
    ledger__rename_thread(&ledger, &thread, "two", 3, 20);
    ledger__rename_thread(&ledger, &thread, "two", 3, 21);
    ledger__rename_thread(&ledger, &thread, "one", 3, 25);
    ledger__rename_thread(&ledger, &thread, "three", 5, 30);
    assert_int_equal(thread.rename_count, 3);
    assert_int_equal(thread.name, ledger__string(&ledger, "one", 3));
    ledger_ref ref = thread.renames;
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        const struct ledger_rename *rename = ledger__at(&ledger, ref);
        assert_int_not_equal(ref, 0);
        assert_int_equal(rename->name,
                         ledger__string(&ledger, expected[i].name, strlen(expected[i].name)));
        assert_int_equal(rename->when_ns, expected[i].when_ns);
        ref = rename->older;
    }
    assert_int_equal(ref, 0);
    ledger__close(&ledger);
}

/* A pool that names its thread after each request: the count goes on, the ledger does not grow. */
static void renames_are_bounded(void **state)
{
    (void)state;
    struct ledger ledger;
    create(&ledger, 16 * MIB);
    struct ledger_thread thread = {.name = ledger__string(&ledger, "idle", 4)};
    uint32_t used = 0;
    for (unsigned i = 0; i < 20000; i++) {
        char name[64];
        int length = snprintf(name, sizeof name, "worker: GET /orders/%u", i);
        ledger__rename_thread(&ledger, &thread, name, (size_t)length, i);
        if (i == LEDGER_RENAMES_MAX)
            used = ledger.header->chunks_used;
    }
    assert_int_equal(thread.rename_count, 20000);
    unsigned kept = 0;
    for (ledger_ref ref = thread.renames; ref != 0;
         ref = ((const struct ledger_rename *)ledger__at(&ledger, ref))->older)
        kept++;
    assert_int_equal(kept, LEDGER_RENAMES_MAX);
    assert_true(ledger.header->chunks_used <= used + 1);
    ledger__close(&ledger);
}

static const struct {
    enum ledger_table table;
    uint32_t cells;
} tables[] = {
    {LEDGER_METHODS, 1},
    {LEDGER_THREADS, sizeof(struct ledger_thread) / 64},
    {LEDGER_KERNEL_THREADS, sizeof(struct ledger_kernel_thread) / 64},
    {LEDGER_NODES, 1},
    {LEDGER_SIDES, sizeof(struct ledger_side) / 64},
    {LEDGER_RENAMES, 1},
    {LEDGER_IMAGES, 1},
    {LEDGER_CODE, 1},
    {LEDGER_PLACES, 1},
    {LEDGER_TALLIES, 1},
};

#define TABLES      (sizeof tables / sizeof tables[0])
#define TAKEN       400
#define TABLE_CELLS (4096 * LEDGER_CHUNK_CELLS)

struct taker {
    struct ledger *ledger;
    pthread_barrier_t *start;
    bool shared;
    ledger_ref taken[TABLES][TAKEN];
};

static void *take_records(void *context)
{
    struct taker *taker = context;
    struct ledger_arena arenas[TABLES] = {{0}};
    (void)pthread_barrier_wait(taker->start);
    for (unsigned i = 0; i < TAKEN; i++) {
        for (size_t t = 0; t < TABLES; t++) {
            ledger_ref ref =
                taker->shared
                    ? ledger__take_shared(taker->ledger, tables[t].table, tables[t].cells)
                    : ledger__take(taker->ledger, &arenas[t], tables[t].table, tables[t].cells);
            taker->taken[t][i] = ref;
            if (ref != 0)
                memset(ledger__at(taker->ledger, ref), (int)t + 1, (size_t)tables[t].cells * 64);
        }
        /* Runs of several chunks stand between. */
        if (i % 50 == 0)
            (void)ledger__take_shared(taker->ledger, LEDGER_STRINGS, 200);
    }
    return NULL;
}

/* Everything taken is walked once, in the file's order, and nothing overlaps. */
static void check_taken(const struct ledger *ledger, const struct taker *takers, size_t t)
{
    uint8_t *owned = calloc(TABLE_CELLS, 1);
    unsigned taken = 0;
    unsigned walked = 0;
    assert_non_null(owned);
    for (int i = 0; i < RACERS; i++) {
        for (int j = 0; j < TAKEN; j++) {
            ledger_ref ref = takers[i].taken[t][j];
            if (ref == 0)
                continue;
            taken++;
            assert_true(ref < TABLE_CELLS);
            for (uint32_t cell = 0; cell < tables[t].cells; cell++) {
                const char *bytes = ledger__at(ledger, ref + cell);
                assert_int_equal(owned[ref + cell], 0);
                owned[ref + cell] = cell == 0 ? 1 : 2;
                assert_int_equal(bytes[0], t + 1);
                assert_int_equal(bytes[63], t + 1);
            }
        }
    }
    for (ledger_ref ref = 0, last = 0; (ref = ledger__next(ledger, tables[t].table, ref)) != 0;
         last = ref) {
        assert_true(ref > last);
        assert_int_equal(owned[ref], 1);
        walked++;
    }
    assert_int_equal(walked, taken);
    free(owned);
}

static void check_takers(uint64_t max_bytes, int shared, bool all)
{
    static struct taker takers[RACERS];
    pthread_barrier_t start;
    struct ledger ledger;
    create(&ledger, max_bytes);
    assert_int_equal(pthread_barrier_init(&start, NULL, RACERS), 0);
    for (int i = 0; i < RACERS; i++) {
        takers[i].ledger = &ledger;
        takers[i].start = &start;
        takers[i].shared = shared == 2 ? i % 2 == 0 : shared == 1;
    }
    race(take_records, takers, sizeof takers[0]);
    for (size_t t = 0; t < TABLES; t++) {
        check_taken(&ledger, takers, t);
        for (int i = 0; i < RACERS; i++)
            assert_true(!all || takers[i].taken[t][TAKEN - 1] != 0);
    }
    assert_int_equal(ledger.header->full_error, all ? 0 : ENOMEM);
    assert_true(ledger.header->chunks_used * 4 * KIB <= max_bytes);
    (void)pthread_barrier_destroy(&start);
    ledger__close(&ledger);
}

static void walk_finds_what_racers_took(void **state)
{
    (void)state;
    check_takers(16 * MIB, 0, true);
    check_takers(16 * MIB, 1, true);
    check_takers(16 * MIB, 2, true);
}

static void racers_fill_a_ledger_to_its_end(void **state)
{
    (void)state;
    check_takers(MIB, 0, false);
    check_takers(MIB, 1, false);
}

static void walk_of_an_empty_table_is_empty(void **state)
{
    (void)state;
    struct ledger ledger;
    create(&ledger, MIB);
    for (size_t t = 0; t < TABLES; t++)
        assert_int_equal(ledger__next(&ledger, tables[t].table, 0), 0);
    ledger__close(&ledger);
}

static void unlink_takes_away_its_own_file_only(void **state)
{
    (void)state;
    struct ledger ledger;
    char path[sizeof ledger.path];
    assert_int_equal(ledger__create(&ledger, folder, MIB), 0);
    memcpy(path, ledger.path, sizeof path);
    assert_int_equal(unlink(path), 0);
    int other = open(path, O_CREAT | O_WRONLY | O_EXCL | O_CLOEXEC, 0600);
    assert_true(other >= 0);
    ledger__unlink(&ledger);
    assert_int_equal(access(path, F_OK), 0);

    /* Nor what a link leads to. */
    assert_int_equal(unlink(path), 0);
    assert_int_equal(symlink("/proc/self/exe", path), 0);
    ledger__unlink(&ledger);
    assert_int_equal(unlink(path), 0);
    ledger__unlink(&ledger);
    (void)close(other);
    ledger__close(&ledger);
    assert_int_equal(count_files(folder), 0);
}

/* A copy with one node in its second chunk: more can be added behind, in memory, and the file has
 * it when it is written back. */
static void a_copy_can_be_added_to(void **state)
{
    (void)state;
    struct ledger ledger;
    struct ledger copy;
    struct ledger_arena arena = {0};
    struct ledger_node written;
    create(&ledger, MIB);
    ledger_ref first = ledger__take(&ledger, &arena, LEDGER_NODES, 1);
    assert_int_equal(ledger__adopt(&copy, ledger.fd, 2 * 4 * KIB, 64 * KIB), 0);
    arena = (struct ledger_arena){0};
    ledger_ref second = ledger__take(&copy, &arena, LEDGER_NODES, 1);
    assert_int_equal(second, 2 * LEDGER_CHUNK_CELLS + 1);
    assert_int_equal(ledger__next(&copy, LEDGER_NODES, 0), first);
    assert_int_equal(ledger__next(&copy, LEDGER_NODES, first), second);
    struct ledger_node *old = ledger__at(&copy, first);
    old->calls = 17;
    ledger__touch(&copy, old);
    assert_int_equal(take_all(&copy, &arena), 16 * PER_RUN - 1);
    assert_int_equal(((struct ledger_node *)ledger__at(&ledger, first))->calls, 0);
    assert_int_equal(ledger.header->chunks_used, 2);

    assert_int_equal(ledger__write_back(&copy, ledger.fd), 0);
    assert_int_equal(ledger.header->chunks_used, 18);
    assert_int_equal(pread(ledger.fd, &written, sizeof written, (off_t)first * 64), 64);
    assert_int_equal(written.calls, 17);
    assert_int_equal(pread(ledger.fd, &written, sizeof written, 17 * 4096 + 63 * 64), 64);
    assert_int_equal(written.key, 0xa5a5a5a5a5a5a5a5);
    ledger__close(&copy);
    ledger__close(&ledger);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(file_is_for_its_user_only),
        cmocka_unit_test(header_says_what_it_is),
        cmocka_unit_test(refused_folders_give_a_reason_and_leave_nothing),
        cmocka_unit_test(a_folder_of_somebody_else_is_refused),
        cmocka_unit_test(a_limit_on_files_is_a_full_ledger),
        cmocka_unit_test(records_are_zero_apart_and_stay),
        cmocka_unit_test(a_full_ledger_gives_none),
        cmocka_unit_test(a_large_record_that_does_not_fit_leaves_the_rest),
        cmocka_unit_test(a_full_folder_is_noted),
        cmocka_unit_test(reserving_ahead_takes_nothing),
        cmocka_unit_test(equal_strings_are_one),
        cmocka_unit_test(racing_equal_names_are_no_renames),
        cmocka_unit_test(one_live_record_a_method),
        cmocka_unit_test(methods_have_names_and_flags),
        cmocka_unit_test(renames_are_a_history),
        cmocka_unit_test(renames_are_bounded),
        cmocka_unit_test(walk_finds_what_racers_took),
        cmocka_unit_test(racers_fill_a_ledger_to_its_end),
        cmocka_unit_test(walk_of_an_empty_table_is_empty),
        cmocka_unit_test(unlink_takes_away_its_own_file_only),
        cmocka_unit_test(a_copy_can_be_added_to),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
