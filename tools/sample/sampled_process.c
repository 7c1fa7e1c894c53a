#define TREADLE_FORMAT_ONLY /* reads stacks, has none */
#include "tools/sample/sampled_process.h"

#include "native/activity/segment_reader.h"
#include "native/fault_guard.h"
#include "native/ledger/ledger_time.h"
#include "native/proc/process_stat.h"
#include "tools/output/whole_file.h"
#include "tools/report/memory.h"
#include "tools/sample/sample_header.h"
#include "tools/sample/sampled_parts.h"
#include "tools/sample/sampled_threads.h"
#include "tools/sample/segment_files.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LEDGER_BYTES (UINT64_C(256) << 20)
#define SEGMENTS_MAX 16u
#define LEASE_NS     UINT64_C(5000000000)

struct sampled_process {
    pid_t pid;
    bool is_over;
    struct ledger ledger;
    struct activity_tree tree;
    struct ledger_time time;
    struct segment_reader *segments[SEGMENTS_MAX];
    struct part_feed *feeds[SEGMENTS_MAX]; /* of each */
    uint32_t segment_count;
    struct sampled_parts parts;
    struct sampled_threads threads;
    uint64_t samples;
    char refused[320];
    char elsewhere[320]; /* why there are no stacks, if there are none */
};

static uint64_t now_ns(const struct sampled_process *process)
{
    return ledger_time__now_ns(&process->time);
}

/* Reads the stack in a slot. Its thread has to be known: a segment may claim any. */
static void read_slot(struct sampled_process *process, struct segment_reader *segment,
                      uint32_t slot)
{
    struct segment_stack stack;
    enum segment_read read = segment_reader__read(segment, slot, &stack);
    struct sampled_thread *thread;

    if (read == SEGMENT_NO_THREAD)
        return;
    thread = sampled_threads__find(&process->threads, stack.tid);
    if (!thread)
        return;
    if (!thread->stack)
        thread->stack = memory__zeroed(1, sizeof(*thread->stack));
    thread->has_stack = true;
    if (read == SEGMENT_TORN)
        process->ledger.header->torn_stacks++;
    sampled_thread__add_stack(thread, &stack, segment);
}

/* A segment whose file was cut is dropped; what was read of it stays. */
static void drop_segment(struct sampled_process *process, uint32_t index)
{
    snprintf(process->refused, sizeof(process->refused), "%s: cut while it was read",
             segment_reader__path(process->segments[index]));
    segment_reader__close(process->segments[index]);
    free(process->feeds[index]);
    process->segment_count--;
    process->segments[index] = process->segments[process->segment_count];
    process->feeds[index] = process->feeds[process->segment_count];
}

static void read_segment(struct sampled_process *process, uint32_t index)
{
    struct segment_reader *segment = process->segments[index];
    uint32_t slots = segment_reader__slots(segment);

    for (uint32_t slot = 0; slot < slots; slot++)
        read_slot(process, segment, slot);
    sampled_parts__take(&process->parts, segment, process->feeds[index]);
}

static void count_sample(struct sampled_process *process, struct sampled_thread *thread)
{
    sampled_threads__count(&process->threads, thread, 1);
    process->samples++;
}

static void read_all(struct sampled_process *process, volatile uint32_t *at, bool is_alive)
{
    struct sampled_thread *thread, *next;

    for (*at = 0; *at < process->segment_count; ++*at)
        read_segment(process, *at);
    HASH_ITER (hh, process->threads.by_tid, thread, next)
        if (thread->has_stack && (!is_alive || sampled_threads__measure(&process->threads, thread)))
            count_sample(process, thread);
}

/* Reads and charges what is in the segments; false after a fault in one of them. */
static bool read_and_charge(struct sampled_process *process, volatile uint32_t *at, bool is_alive)
{
    struct fault_guard guard;

    if (fault_guard__enter(&guard) != 0) {
        fault_guard__leave(&guard);
        return false;
    }
    read_all(process, at, is_alive);
    fault_guard__leave(&guard);
    return true;
}

void sampled_process__sample(struct sampled_process *process)
{
    volatile uint32_t at = 0;

    if (process->is_over)
        return;
    sampled_threads__forget_stacks(&process->threads);
    if (!read_and_charge(process, &at, true))
        drop_segment(process, at < process->segment_count ? at : 0);
    (void)ledger__reserve_ahead(&process->ledger, UINT64_C(1) << 20);
}

void sampled_process__note_late(struct sampled_process *process, uint64_t count)
{
    process->ledger.header->late_samples += count;
}

static bool is_known(const struct sampled_process *process, const char *path)
{
    for (uint32_t i = 0; i < process->segment_count; i++)
        if (strcmp(segment_reader__path(process->segments[i]), path) == 0)
            return true;
    return false;
}

static void add_segment(struct sampled_process *process, const char *path, bool is_alive)
{
    char why[200];
    struct segment_reader *segment = segment_reader__open(path, why, sizeof(why));

    if (!segment) {
        snprintf(process->refused, sizeof(process->refused), "%s: %s", path, why);
        return;
    }
    if (segment_reader__pid(segment) != process->pid ||
        segment_reader__start_ticks(segment) != process->ledger.header->start_ticks) {
        segment_reader__close(segment);
        return;
    }
    if (segment_reader__unrecorded(segment))
        snprintf(process->refused, sizeof(process->refused),
                 "%s: process %d records no logical stacks: %s", path, process->pid,
                 segment_reader__unrecorded(segment));
    if (segment_reader__unrecorded(segment) ||
        (is_alive && segment_reader__watch(segment, LEASE_NS) != 0)) {
        segment_reader__close(segment);
        return;
    }
    process->feeds[process->segment_count] = memory__zeroed(1, sizeof(struct part_feed));
    if (is_alive) /* what was before this watch is not of its time */
        process->feeds[process->segment_count]->low = segment_reader__parts_at_open(segment);
    process->segments[process->segment_count++] = segment;
}

static void find_segments(struct sampled_process *process, bool is_alive)
{
    struct segment_files found = {0};

    segment_files__find(&found, process->pid, is_alive);
    for (size_t i = 0; i < found.count && process->segment_count < SEGMENTS_MAX; i++)
        if (!is_known(process, found.paths[i]))
            add_segment(process, found.paths[i], is_alive);
    segment_files__release(&found);
}

/* A file of another user cannot be opened: says whose it is. */
static void look_for_other_users(struct sampled_process *process)
{
    uid_t owner;
    char *path =
        segment_files__of_other_user(process->pid, process->ledger.header->start_ticks, &owner);

    if (path)
        snprintf(process->refused, sizeof(process->refused),
                 "%s: of user %u: process %d made it before it changed its user, and can only be "
                 "sampled if its first push comes after that",
                 path, owner, process->pid);
    free(path);
}

/* A process in a container has a folder of its own for segments, or another pid in their names. */
static void look_into_maps(struct sampled_process *process)
{
    char *path = segment_files__in_maps(process->pid);

    if (path)
        snprintf(process->elsewhere, sizeof(process->elsewhere),
                 "process %d has its logical stacks in %s, in another namespace of mounts or pids: "
                 "use `treadle sample` there, as in the process's container",
                 process->pid, path);
    free(path);
}

static void sample_others(struct sampled_process *process)
{
    struct sampled_thread *thread, *next;

    HASH_ITER (hh, process->threads.by_tid, thread, next)
        if (!thread->has_stack && sampled_threads__measure(&process->threads, thread))
            sampled_threads__count(&process->threads, thread, 0);
}

/* The process is over, and its parent has not asked for its status yet. */
static bool is_zombie(const struct sampled_process *process)
{
    return HASH_COUNT(process->threads.by_tid) == 1 &&
           process->threads.by_tid->tid == process->pid &&
           task_state__is_zombie(&process->threads.by_tid->task);
}

void sampled_process__look(struct sampled_process *process)
{
    uint64_t start_ticks = 0;

    if (process->is_over)
        return;
    if (process_start__read(process->pid, &start_ticks) != 0 ||
        start_ticks != process->ledger.header->start_ticks) {
        process->is_over = true;
        return;
    }
    sampled_threads__look(&process->threads);
    if (is_zombie(process)) {
        process->is_over = true;
        return;
    }
    sample_header__read_totals(&process->ledger, now_ns(process));
    sample_others(process);
    for (uint32_t i = 0; i < process->segment_count; i++)
        (void)segment_reader__watch(process->segments[i], LEASE_NS);
    find_segments(process, true);
    if (!process->segment_count && !process->refused[0])
        look_for_other_users(process);
    if (!process->segment_count && process->threads.pass == 1)
        look_into_maps(process);
}

bool sampled_process__is_over(const struct sampled_process *process)
{
    return process->is_over;
}

bool sampled_process__has_stacks(const struct sampled_process *process)
{
    return process->segment_count > 0 || process->samples > 0;
}

uint64_t sampled_process__samples(const struct sampled_process *process)
{
    return process->samples;
}

const char *sampled_process__refused(const struct sampled_process *process)
{
    return process->refused[0] || sampled_process__has_stacks(process) ? process->refused
                                                                       : process->elsewhere;
}

pid_t sampled_process__pid(const struct sampled_process *process)
{
    return process->pid;
}

static void add_remaining_threads(struct sampled_process *process)
{
    for (uint32_t at = 0; at < process->segment_count; at++) {
        uint32_t slots = segment_reader__slots(process->segments[at]);

        for (uint32_t slot = 0; slot < slots; slot++) {
            struct segment_stack stack;

            if (segment_reader__read(process->segments[at], slot, &stack) == SEGMENT_STACK &&
                !sampled_threads__find(&process->threads, stack.tid))
                (void)sampled_threads__add(&process->threads, stack.tid, false);
        }
    }
}

/* What a process that is gone left: each thread's last stack, one sample, and no time. */
static void read_remains(struct sampled_process *process)
{
    volatile uint32_t at = 0;
    struct fault_guard guard;

    process->is_over = true;
    find_segments(process, false);
    if (fault_guard__enter(&guard) == 0)
        add_remaining_threads(process);
    fault_guard__leave(&guard);
    if (!read_and_charge(process, &at, false))
        drop_segment(process, at < process->segment_count ? at : 0);
}

/* 0: the process is gone; -1 after a line in `why`. */
static int check_owner(pid_t pid, char *why, size_t why_bytes)
{
    struct stat folder;
    char path[32];

    snprintf(path, sizeof(path), "/proc/%d", pid);
    if (stat(path, &folder) != 0)
        return 0;
    if (folder.st_uid == geteuid())
        return 1;
    snprintf(why, why_bytes, "process %d is of user %u: only your own processes can be sampled",
             pid, folder.st_uid);
    return -1;
}

struct sampled_process *sampled_process__open(pid_t pid, uint64_t every_ns, char *why,
                                              size_t why_bytes)
{
    struct sampled_process *process;
    uint64_t start_ticks = 0;
    int owner = check_owner(pid, why, why_bytes);

    if (owner < 0)
        return NULL;
    if (owner == 0 && !segment_files__newest_start(pid, &start_ticks)) {
        snprintf(why, why_bytes, "no process %d, and no logical stacks that it left", pid);
        return NULL;
    }
    process = memory__zeroed(1, sizeof(*process));
    process->pid = pid;
    int error = ledger__create(&process->ledger, NULL, LEDGER_BYTES);
    if (error) {
        snprintf(why, why_bytes, "no room for a ledger: %s", strerror(-error));
        free(process);
        return NULL;
    }
    ledger_time__start(&process->time, 0);
    activity_tree__init(&process->tree, &process->ledger);
    process->threads = (struct sampled_threads){
        .pid = pid, .ledger = &process->ledger, .tree = &process->tree, .time = &process->time};
    chain_parts__init(&process->parts.ring, &process->ledger);
    process->parts.tree = &process->tree;
    process->parts.name_of = sampled_threads__name;
    process->parts.context = &process->threads;
    sample_header__begin(&process->ledger, pid, start_ticks, every_ns);
    (void)ledger__reserve_ahead(&process->ledger, UINT64_C(1) << 20);
    if (owner == 0)
        read_remains(process);
    else
        sampled_process__look(process);
    return process;
}

void sampled_process__close(struct sampled_process *process)
{
    if (!process)
        return;
    for (uint32_t i = 0; i < process->segment_count; i++) {
        if (!process->is_over)
            segment_reader__end_watch(process->segments[i]);
        segment_reader__close(process->segments[i]);
        free(process->feeds[i]);
    }
    sampled_threads__release(&process->threads);
    ledger__close(&process->ledger);
    free(process);
}

static void add_losses(struct sampled_process *process)
{
    struct ledger_header *header = process->ledger.header;

    for (uint32_t i = 0; i < process->segment_count; i++) {
        struct segment_losses losses = segment_reader__losses(process->segments[i]);

        header->lost_frames += losses.lost_frames;
        header->lost_slots += losses.lost_threads;
        header->lost_identifiers += losses.lost_identifiers;
        header->cut_parameters += losses.cut_parameters;
        header->cut_identifiers += losses.cut_identifiers;
        header->lost_parts += losses.lost_parts;
    }
}

/* The process's total and its threads' are of one moment, so that a balance adds up. */
static void read_last_times(struct sampled_process *process)
{
    struct sampled_thread *thread, *next;

    if (process->is_over)
        return;
    HASH_ITER (hh, process->threads.by_tid, thread, next)
        (void)sampled_threads__measure(&process->threads, thread);
    sample_header__read_totals(&process->ledger, now_ns(process));
}

int sampled_process__write(struct sampled_process *process, const char *path)
{
    struct ledger_header *header = process->ledger.header;
    struct fault_guard guard;

    if (fault_guard__enter(&guard) == 0) {
        for (uint32_t i = 0; i < process->segment_count; i++)
            sampled_parts__take_open(&process->parts, process->segments[i], process->feeds[i]);
        add_losses(process);
    }
    fault_guard__leave(&guard);
    read_last_times(process);
    sampled_threads__settle(&process->threads);
    header->asof_ns = now_ns(process);
    header->state = LEDGER_CLOSED;
    return whole_file__write(path, process->ledger.base,
                             (size_t)header->chunks_used * LEDGER_CHUNK_BYTES);
}
