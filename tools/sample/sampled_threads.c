#define TREADLE_FORMAT_ONLY /* reads stacks, has none */
#include "tools/sample/sampled_threads.h"

#include "tools/report/memory.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct ledger_thread *record_of(const struct sampled_threads *threads,
                                       const struct sampled_thread *thread)
{
    return ledger__at(threads->ledger, thread->record);
}

static uint64_t now_ns(const struct sampled_threads *threads)
{
    return ledger_time__now_ns(threads->time);
}

struct sampled_thread *sampled_threads__find(const struct sampled_threads *threads, pid_t tid)
{
    struct sampled_thread *thread;

    HASH_FIND_INT(threads->by_tid, &tid, thread);
    return thread;
}

static ledger_ref name_now(const struct sampled_threads *threads, pid_t tid)
{
    char path[64], name[64] = "";
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%d/task/%d/comm", threads->pid, tid);
    file = fopen(path, "re");
    if (file) {
        if (!fgets(name, sizeof(name), file))
            name[0] = '\0';
        fclose(file);
    }
    name[strcspn(name, "\n")] = '\0';
    if (!name[0])
        snprintf(name, sizeof(name), "thread %d", tid);
    return ledger__string(threads->ledger, name, strlen(name));
}

ledger_ref sampled_threads__name(void *context, pid_t tid)
{
    const struct sampled_threads *threads = context;
    const struct sampled_thread *thread = sampled_threads__find(threads, tid);

    return thread ? record_of(threads, thread)->name : name_now(threads, tid);
}

static bool make_records(struct sampled_threads *threads, struct sampled_thread *thread)
{
    struct ledger *ledger = threads->ledger;

    thread->root = activity_tree__add_root(threads->tree);
    thread->record = ledger__take_shared(ledger, LEDGER_THREADS,
                                         sizeof(struct ledger_thread) / LEDGER_CELL_BYTES);
    thread->kernel = ledger__take_shared(ledger, LEDGER_KERNEL_THREADS,
                                         sizeof(struct ledger_kernel_thread) / LEDGER_CELL_BYTES);
    if (!thread->root || !thread->record || !thread->kernel)
        return false;
    struct ledger_thread *record = record_of(threads, thread);
    record->name = name_now(threads, thread->tid);
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

struct sampled_thread *sampled_threads__add(struct sampled_threads *threads, pid_t tid,
                                            bool is_alive)
{
    struct sampled_thread *thread = memory__zeroed(1, sizeof(*thread));

    thread->tid = tid;
    thread->task.folder_fd = thread->task.schedstat_fd = -1;
    thread->pass = threads->pass;
    thread->measured_ns = now_ns(threads);
    if (is_alive && (task_state__open(&thread->task, threads->pid, tid) != 0 ||
                     task_state__read(&thread->task) != 0)) {
        task_state__close(&thread->task);
        free(thread);
        return NULL;
    }
    if (!make_records(threads, thread)) {
        ledger__count(&threads->ledger->header->dropped_threads, 1);
        task_state__close(&thread->task);
        free(thread);
        return NULL;
    }
    HASH_ADD_INT(threads->by_tid, tid, thread);
    return thread;
}

bool sampled_threads__measure(const struct sampled_threads *threads, struct sampled_thread *thread)
{
    struct task_schedstat before = thread->task.last;
    struct ledger_kernel_thread *kernel = ledger__at(threads->ledger, thread->kernel);
    uint64_t now, cpu_ns, runnable_ns;

    if (task_state__read(&thread->task) != 0)
        return false;
    now = now_ns(threads);
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

static void add_totals(const struct sampled_threads *threads, const struct sampled_thread *thread,
                       const struct activity_share *share)
{
    struct ledger_thread *record = record_of(threads, thread);

    record->totals[METRIC_RUN_QUEUE_DELAY] += share->runnable_ns;
    record->totals[METRIC_PARK] += share->state == ACTIVITY_LOCK ? share->waited_ns : 0;
    record->totals[METRIC_IO_WAIT] += share->state == ACTIVITY_IO ? share->waited_ns : 0;
    record->totals[METRIC_SLEEP] += share->state == ACTIVITY_SLEEP ? share->waited_ns : 0;
}

static void charge_share(const struct sampled_threads *threads, const struct sampled_thread *thread,
                         ledger_ref node, const struct activity_share *share)
{
    activity_tree__charge(threads->tree, node, share);
    add_totals(threads, thread, share);
}

/* Charges the times of all samples that wait for that. `is_end`: there will be no others, so what
 * is of no sample's state goes to the last of them. */
static void settle(const struct sampled_threads *threads, struct sampled_thread *thread,
                   bool is_end)
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
        charge_share(threads, thread, thread->pending[i].node, &share);
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
    charge_share(threads, thread, thread->last_node ? thread->last_node : thread->root, &rest);
}

static void end_thread(struct sampled_threads *threads, struct sampled_thread *thread)
{
    struct ledger_thread *record = record_of(threads, thread);

    settle(threads, thread, true);
    record->end_ns = now_ns(threads);
    record->flags |= THREAD_TERMINATED;
    task_state__close(&thread->task);
    /* NOLINTBEGIN(clang-analyzer-unix.Malloc,clang-analyzer-core.NullDereference): it cannot see
     * that the table lets go of the thread */
    HASH_DEL(threads->by_tid, thread);
    /* NOLINTEND(clang-analyzer-unix.Malloc,clang-analyzer-core.NullDereference) */
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

void sampled_threads__count(const struct sampled_threads *threads, struct sampled_thread *thread,
                            uint64_t samples)
{
    struct activity_share share = {.samples = samples};
    struct stack_texts texts;
    ledger_ref node = thread->root;

    if (thread->stack && thread->stack->depth) {
        read_texts(thread, &texts);
        node = activity_tree__find(threads->tree, thread->root, texts.frames, thread->stack->depth);
    }
    thread->last_node = node;
    activity_tree__charge(threads->tree, node, &share);
    thread->pending[thread->pending_count++] =
        (struct pending_sample){.node = node, .state = thread->task.state};
    if (thread->pending_count == PENDING_SAMPLES)
        settle(threads, thread, false);
    threads->ledger->header->samples += samples;
}

/* The next frame of a stack, and how far out it lies: an address, or UINT64_MAX. */
struct next_frame {
    const struct segment_stack *stack;
    uint32_t at;
    uint64_t place;
};

static void find_place(struct next_frame *next)
{
    uint64_t place = next->at < next->stack->depth ? next->stack->frames[next->at].place : 0;

    if (place > TREADLE_ELSEWHERE)
        next->place = place;
}

static bool is_first(const struct next_frame *next, const struct next_frame *other)
{
    return next->at < next->stack->depth &&
           (other->at == other->stack->depth || next->place >= other->place);
}

void sampled_thread__add_stack(struct sampled_thread *thread, const struct segment_stack *stack,
                               struct segment_reader *segment)
{
    struct segment_stack *whole = thread->stack;
    const struct sampled_thread before = *thread;
    const struct segment_stack older = *whole;
    struct next_frame from_older = {.stack = &older, .place = UINT64_MAX};
    struct next_frame from_new = {.stack = stack, .place = UINT64_MAX};

    for (whole->depth = 0;
         whole->depth < SEGMENT_FRAMES_MAX && whole->depth < older.depth + stack->depth;
         whole->depth++) {
        find_place(&from_older);
        find_place(&from_new);
        if (is_first(&from_older, &from_new)) {
            thread->where[whole->depth] = before.where[from_older.at];
            whole->frames[whole->depth] = older.frames[from_older.at++];
        } else {
            thread->where[whole->depth] = segment;
            whole->frames[whole->depth] = stack->frames[from_new.at++];
        }
    }
}

void sampled_threads__forget_stacks(struct sampled_threads *threads)
{
    for (struct sampled_thread *thread = threads->by_tid; thread; thread = thread->hh.next) {
        thread->has_stack = false;
        if (thread->stack)
            thread->stack->depth = 0;
    }
}

void sampled_threads__look(struct sampled_threads *threads)
{
    struct sampled_thread *thread, *next;
    const struct dirent *entry;
    char path[64];
    DIR *folder;

    threads->pass++;
    snprintf(path, sizeof(path), "/proc/%d/task", threads->pid);
    folder = opendir(path);
    while (folder && (entry = readdir(folder)) != NULL) {
        pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);

        thread = tid > 0 ? sampled_threads__find(threads, tid) : NULL;
        if (tid > 0 && !thread)
            thread = sampled_threads__add(threads, tid, true);
        if (thread)
            thread->pass = threads->pass;
    }
    if (folder)
        closedir(folder);
    HASH_ITER (hh, threads->by_tid, thread, next)
        if (thread->pass != threads->pass)
            end_thread(threads, thread);
}

void sampled_threads__settle(struct sampled_threads *threads)
{
    for (struct sampled_thread *thread = threads->by_tid; thread; thread = thread->hh.next)
        settle(threads, thread, true);
}

void sampled_threads__release(struct sampled_threads *threads)
{
    struct sampled_thread *thread, *next;

    /* NOLINTBEGIN(clang-analyzer-unix.Malloc,clang-analyzer-core.NullDereference): it cannot see
     * that the table lets go of the thread */
    HASH_ITER (hh, threads->by_tid, thread, next) {
        task_state__close(&thread->task);
        HASH_DEL(threads->by_tid, thread);
        free(thread->stack);
        free(thread);
    }
    /* NOLINTEND(clang-analyzer-unix.Malloc,clang-analyzer-core.NullDereference) */
}
