#define TREADLE_FORMAT_ONLY /* reads stacks, has none */
#include "tools/sample/sampled_process.h"

#include "native/activity/segment_reader.h"
#include "native/activity/task_state.h"
#include "native/fault_guard.h"
#include "native/hash_table.h"
#include "native/ledger/ledger_time.h"
#include "native/proc/process_stat.h"
#include "tools/output/whole_file.h"
#include "tools/report/memory.h"
#include "tools/sample/sample_header.h"
#include "tools/sample/sampled_parts.h"
#include "tools/sample/segment_files.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LEDGER_BYTES (UINT64_C(256) << 20)
#define SEGMENTS_MAX 16u
#define LEASE_NS     UINT64_C(5000000000)

/* So many samples of a thread are charged together. */
#define PENDING_SAMPLES 32u

struct pending_sample {
    ledger_ref node;
    enum activity_state state;
};

/* A thread of the process. */
struct sampled_thread {
    pid_t tid;
    struct task_state task;
    ledger_ref record;
    ledger_ref root;
    ledger_ref kernel;    /* its struct ledger_kernel_thread */
    uint64_t measured_ns; /* up to here its times are read; of them not charged yet: */
    uint64_t cpu_ns;
    uint64_t runnable_ns;
    int64_t waited_ns; /* the rest; less than 0 when the kernel counted CPU time late */
    struct pending_sample pending[PENDING_SAMPLES];
    uint32_t pending_count;
    ledger_ref last_node;                             /* that was charged */
    unsigned pass;                                    /* the look that saw it last */
    bool has_stack;                                   /* a slot of a segment is its own */
    struct segment_stack *stack;                      /* of the sample that is being taken */
    struct segment_reader *where[SEGMENT_FRAMES_MAX]; /* the segment of each of its frames */
    UT_hash_handle hh;
};

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
    struct sampled_thread *threads; /* uthash, by tid */
    unsigned pass;
    uint64_t samples;
    char refused[320];
};

static struct ledger_thread *record_of(const struct sampled_process *process,
                                       const struct sampled_thread *thread)
{
    return ledger__at(&process->ledger, thread->record);
}

static uint64_t now_ns(const struct sampled_process *process)
{
    return ledger_time__now_ns(&process->time);
}

/* The thread's name, or its number where it is gone. */
static ledger_ref name_of(struct sampled_process *process, pid_t tid)
{
    char path[64], name[64] = "";
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%d/task/%d/comm", process->pid, tid);
    file = fopen(path, "re");
    if (file) {
        if (!fgets(name, sizeof(name), file))
            name[0] = '\0';
        fclose(file);
    }
    name[strcspn(name, "\n")] = '\0';
    if (!name[0])
        snprintf(name, sizeof(name), "thread %d", tid);
    return ledger__string(&process->ledger, name, strlen(name));
}

static struct sampled_thread *find_thread(const struct sampled_process *process, pid_t tid)
{
    struct sampled_thread *thread;

    HASH_FIND_INT(process->threads, &tid, thread);
    return thread;
}

/* For parts of chains: their thread may be gone. */
static ledger_ref name_of_part(void *context, pid_t tid)
{
    struct sampled_process *process = context;
    const struct sampled_thread *thread = find_thread(process, tid);

    return thread ? record_of(process, thread)->name : name_of(process, tid);
}

static bool make_records(struct sampled_process *process, struct sampled_thread *thread)
{
    struct ledger *ledger = &process->ledger;

    thread->root = activity_tree__add_root(&process->tree);
    thread->record = ledger__take_shared(ledger, LEDGER_THREADS,
                                         sizeof(struct ledger_thread) / LEDGER_CELL_BYTES);
    thread->kernel = ledger__take_shared(ledger, LEDGER_KERNEL_THREADS,
                                         sizeof(struct ledger_kernel_thread) / LEDGER_CELL_BYTES);
    if (!thread->root || !thread->record || !thread->kernel)
        return false;
    struct ledger_thread *record = record_of(process, thread);
    record->name = name_of(process, thread->tid);
    record->root = record->current = thread->root;
    record->start_ns = thread->measured_ns;
    record->tid_count = 1;
    record->tids[0] = thread->tid;
    record->kind = THREAD_NATIVE;
    struct ledger_kernel_thread *kernel = ledger__at(ledger, thread->kernel);
    kernel->thread = thread->record;
    kernel->current = thread->root;
    kernel->tid = thread->tid;
    return true;
}

/* A thread that began to be seen now. NULL if it is gone, or there is no room. */
static struct sampled_thread *add_thread(struct sampled_process *process, pid_t tid, bool is_alive)
{
    struct sampled_thread *thread = memory__zeroed(1, sizeof(*thread));

    thread->tid = tid;
    thread->task.folder_fd = thread->task.schedstat_fd = -1;
    thread->pass = process->pass;
    thread->measured_ns = now_ns(process);
    if (is_alive && (task_state__open(&thread->task, process->pid, tid) != 0 ||
                     task_state__read(&thread->task) != 0)) {
        task_state__close(&thread->task);
        free(thread);
        return NULL;
    }
    if (!make_records(process, thread)) {
        ledger__count(&process->ledger.header->dropped_threads, 1);
        task_state__close(&thread->task);
        free(thread);
        return NULL;
    }
    HASH_ADD_INT(process->threads, tid, thread);
    return thread;
}

/* Reads the thread's times; false: it is over. */
static bool measure(struct sampled_process *process, struct sampled_thread *thread)
{
    struct task_schedstat before = thread->task.last;
    struct ledger_kernel_thread *kernel = ledger__at(&process->ledger, thread->kernel);
    uint64_t now, cpu_ns, runnable_ns;

    if (task_state__read(&thread->task) != 0)
        return false;
    now = now_ns(process);
    cpu_ns = thread->task.last.run_ns - before.run_ns;
    runnable_ns = thread->task.last.run_queue_delay_ns - before.run_queue_delay_ns;
    thread->cpu_ns += cpu_ns;
    thread->runnable_ns += runnable_ns;
    thread->waited_ns += (int64_t)(now - thread->measured_ns - cpu_ns - runnable_ns);
    thread->measured_ns = now;
    kernel->charged_cpu_ns += cpu_ns;
    kernel->kernel_cpu_ns = kernel->charged_cpu_ns;
    kernel->waited_ns = now - kernel->charged_cpu_ns;
    return true;
}

static void add_totals(struct sampled_process *process, const struct sampled_thread *thread,
                       const struct activity_share *share)
{
    struct ledger_thread *record = record_of(process, thread);

    record->totals[METRIC_RUN_QUEUE_DELAY] += share->runnable_ns;
    record->totals[METRIC_PARK] += share->state == ACTIVITY_LOCK ? share->waited_ns : 0;
    record->totals[METRIC_IO_WAIT] += share->state == ACTIVITY_IO ? share->waited_ns : 0;
    record->totals[METRIC_SLEEP] += share->state == ACTIVITY_SLEEP ? share->waited_ns : 0;
}

static void charge_share(struct sampled_process *process, const struct sampled_thread *thread,
                         ledger_ref node, const struct activity_share *share)
{
    activity_tree__charge(&process->tree, node, share);
    add_totals(process, thread, share);
}

/* Charges the times of all samples that wait for that. `is_end`: there will be no others, so what
 * is of no sample's state goes to the last of them. */
static void settle(struct sampled_process *process, struct sampled_thread *thread, bool is_end)
{
    uint64_t running = 0, waiting = 0;

    for (uint32_t i = 0; i < thread->pending_count; i++)
        *(thread->pending[i].state == ACTIVITY_RUNNING ? &running : &waiting) += 1;
    for (uint32_t i = 0; i < thread->pending_count; i++) {
        struct activity_share share = {.state = thread->pending[i].state};

        if (share.state == ACTIVITY_RUNNING) {
            share.cpu_ns = thread->cpu_ns / running;
            share.runnable_ns = thread->runnable_ns / running--;
        } else if (thread->waited_ns > 0) {
            share.waited_ns = (uint64_t)thread->waited_ns / waiting--;
        }
        thread->cpu_ns -= share.cpu_ns;
        thread->runnable_ns -= share.runnable_ns;
        thread->waited_ns -= (int64_t)share.waited_ns;
        share.wall_ns = share.cpu_ns + share.runnable_ns + share.waited_ns;
        charge_share(process, thread, thread->pending[i].node, &share);
    }
    thread->pending_count = 0;
    if (!is_end)
        return;
    struct activity_share rest = {
        .state = ACTIVITY_UNKNOWN, .cpu_ns = thread->cpu_ns, .runnable_ns = thread->runnable_ns};

    rest.wall_ns = rest.cpu_ns + rest.runnable_ns;
    rest.wall_ns += thread->waited_ns > 0 ? (uint64_t)thread->waited_ns : 0;
    thread->cpu_ns = thread->runnable_ns = 0;
    thread->waited_ns = 0;
    charge_share(process, thread, thread->last_node ? thread->last_node : thread->root, &rest);
}

static void end_thread(struct sampled_process *process, struct sampled_thread *thread)
{
    struct ledger_thread *record = record_of(process, thread);

    settle(process, thread, true);
    record->end_ns = now_ns(process);
    record->flags |= THREAD_TERMINATED;
    task_state__close(&thread->task);
    HASH_DEL(process->threads, thread);
    free(thread->stack);
    free(thread);
}

/* The texts of a stack's frames; `identifiers` and `numbers` have their bytes. */
struct stack_texts {
    char identifiers[SEGMENT_FRAMES_MAX][TREADLE_IDENTIFIER_BYTES];
    char numbers[SEGMENT_FRAMES_MAX][24];
    struct activity_frame frames[SEGMENT_FRAMES_MAX];
};

static void read_texts(const struct sampled_thread *thread, struct stack_texts *texts)
{
    const struct segment_stack *stack = thread->stack;

    for (uint32_t i = 0; i < stack->depth; i++) {
        const struct segment_frame *frame = &stack->frames[i];
        struct activity_frame *text = &texts->frames[i];

        text->identifier = texts->identifiers[i];
        text->identifier_length =
            segment_reader__identifier(thread->where[i], frame->identifier, texts->identifiers[i]);
        text->parameter = frame->text;
        text->parameter_length = frame->kind == TREADLE_TEXT ? frame->length : 0;
        if (frame->kind == TREADLE_NUMBER) {
            text->parameter = texts->numbers[i];
            text->parameter_length = (size_t)snprintf(texts->numbers[i], sizeof(texts->numbers[i]),
                                                      "%" PRId64, frame->number);
        }
    }
}

/* Counts a sample at the node of the thread's stack; its times follow. `samples`: 1, or 0 where a
 * thread without a stack is looked at. */
static void count_sample(struct sampled_process *process, struct sampled_thread *thread,
                         uint64_t samples)
{
    struct activity_share share = {.samples = samples};
    struct stack_texts texts;
    ledger_ref node = thread->root;

    if (thread->stack && thread->stack->depth) {
        read_texts(thread, &texts);
        node =
            activity_tree__find(&process->tree, thread->root, texts.frames, thread->stack->depth);
    }
    thread->last_node = node;
    activity_tree__charge(&process->tree, node, &share);
    thread->pending[thread->pending_count++] =
        (struct pending_sample){.node = node, .state = thread->task.state};
    if (thread->pending_count == PENDING_SAMPLES)
        settle(process, thread, false);
    process->ledger.header->samples += samples;
    process->samples += samples;
}

/* Puts a stack behind those of the same thread in older segments: a library that has a treadle.h of
 * its own was called by the program. */
static void append_stack(struct sampled_thread *thread, const struct segment_stack *stack,
                         struct segment_reader *segment)
{
    struct segment_stack *whole = thread->stack;

    for (uint32_t i = 0; i < stack->depth && whole->depth < SEGMENT_FRAMES_MAX; i++) {
        thread->where[whole->depth] = segment;
        whole->frames[whole->depth++] = stack->frames[i];
    }
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
    thread = find_thread(process, stack.tid);
    if (!thread)
        return;
    if (!thread->stack)
        thread->stack = memory__zeroed(1, sizeof(*thread->stack));
    thread->has_stack = true;
    if (read == SEGMENT_TORN)
        process->ledger.header->torn_stacks++;
    append_stack(thread, &stack, segment);
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

static void forget_stacks(struct sampled_process *process)
{
    for (struct sampled_thread *thread = process->threads; thread; thread = thread->hh.next) {
        thread->has_stack = false;
        if (thread->stack)
            thread->stack->depth = 0;
    }
}

static void read_all(struct sampled_process *process, volatile uint32_t *at, bool is_alive)
{
    struct sampled_thread *thread, *next;

    for (*at = 0; *at < process->segment_count; ++*at)
        read_segment(process, *at);
    HASH_ITER (hh, process->threads, thread, next)
        if (thread->has_stack && (!is_alive || measure(process, thread)))
            count_sample(process, thread, 1);
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
    forget_stacks(process);
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
        segment_reader__start_ticks(segment) != process->ledger.header->start_ticks ||
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

/* Threads of the process that are new; those that are gone end. */
static void find_threads(struct sampled_process *process)
{
    struct sampled_thread *thread, *next;
    const struct dirent *entry;
    char path[64];
    DIR *folder;

    process->pass++;
    snprintf(path, sizeof(path), "/proc/%d/task", process->pid);
    folder = opendir(path);
    while (folder && (entry = readdir(folder)) != NULL) {
        pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);

        thread = tid > 0 ? find_thread(process, tid) : NULL;
        if (tid > 0 && !thread)
            thread = add_thread(process, tid, true);
        if (thread)
            thread->pass = process->pass;
    }
    if (folder)
        closedir(folder);
    HASH_ITER (hh, process->threads, thread, next)
        if (thread->pass != process->pass)
            end_thread(process, thread);
}

static void sample_others(struct sampled_process *process)
{
    struct sampled_thread *thread, *next;

    HASH_ITER (hh, process->threads, thread, next)
        if (!thread->has_stack && measure(process, thread))
            count_sample(process, thread, 0);
}

/* The process is over, and its parent has not asked for its status yet. */
static bool is_zombie(const struct sampled_process *process)
{
    return HASH_COUNT(process->threads) == 1 && process->threads->tid == process->pid &&
           task_state__is_zombie(&process->threads->task);
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
    find_threads(process);
    if (is_zombie(process)) {
        process->is_over = true;
        return;
    }
    sample_header__read_totals(&process->ledger, now_ns(process));
    sample_others(process);
    for (uint32_t i = 0; i < process->segment_count; i++)
        (void)segment_reader__watch(process->segments[i], LEASE_NS);
    find_segments(process, true);
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
    return process->refused;
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
                !find_thread(process, stack.tid))
                (void)add_thread(process, stack.tid, false);
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
    chain_parts__init(&process->parts.ring, &process->ledger);
    process->parts.tree = &process->tree;
    process->parts.name_of = name_of_part;
    process->parts.context = process;
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
    struct sampled_thread *thread, *next;

    if (!process)
        return;
    for (uint32_t i = 0; i < process->segment_count; i++) {
        if (!process->is_over)
            segment_reader__end_watch(process->segments[i]);
        segment_reader__close(process->segments[i]);
        free(process->feeds[i]);
    }
    /* NOLINTBEGIN(clang-analyzer-unix.Malloc,clang-analyzer-core.NullDereference): it cannot see
     * that the table lets go of the thread */
    HASH_ITER (hh, process->threads, thread, next) {
        task_state__close(&thread->task);
        HASH_DEL(process->threads, thread);
        free(thread->stack);
        free(thread);
    }
    /* NOLINTEND(clang-analyzer-unix.Malloc,clang-analyzer-core.NullDereference) */
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
        header->lost_parts += losses.lost_parts;
    }
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
    for (struct sampled_thread *thread = process->threads; thread; thread = thread->hh.next)
        settle(process, thread, true);
    header->asof_ns = now_ns(process);
    header->state = LEDGER_CLOSED;
    return whole_file__write(path, process->ledger.base,
                             (size_t)header->chunks_used * LEDGER_CHUNK_BYTES);
}
