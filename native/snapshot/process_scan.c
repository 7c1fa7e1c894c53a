#include "native/snapshot/process_scan.h"

#include "native/hash_table.h"
#include "native/metrics/metric_bits.h"
#include "native/metrics/task_status.h"
#include "native/thread/unprofiled.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A new row is looked at closely so often, whatever the depth: its thread may get its name late.
 * All but the last of these looks read only the file that has the name. */
#define FIRST_LOOKS 3u

struct scanned_row {
    pid_t tid;
    uint64_t start_ticks;
    ledger_ref thread; /* none until it is clear that no Java thread is about to start on it */
    struct task_status status; /* as last looked at closely */
    unsigned pass;
    unsigned looks; /* close looks */
    UT_hash_handle hh;
};

/* How HotSpot names its own kernel threads (os::set_native_thread_name in its sources, cut to 15
 * bytes by the kernel), JDK 17 to 25, all collectors. A prefix is enough. Those of them that are
 * Java threads count as VM threads until they run a method. */
static const char *const vm_thread_names[] = {
    "VM Thread",       "VM Periodic Tas", "C1 CompilerThre", "C2 CompilerThre",
    "JVMCI",           "GC Thread#",      "GC task thread",  "G1 ",
    "ParGC Thread#",   "Concurrent Mark", "ZDriver",         "ZDirector",
    "ZStat",           "ZWorker",         "ZUncommitter",    "ZUnmapper",
    "ZCollector",      "XDriver",         "XDirector",       "XStat",
    "XWorker",         "XUncommitter",    "XUnmapper",       "Shenandoah",
    "StringDedup",     "Reference Handl", "Finalizer",       "Common-Cleaner",
    "ArchiveWorkerTh", "Sweeper thread",  "Service Thread",  "Monitor Deflati",
    "Notification Th", "Signal Dispatc",  "Attach Listener", "JFR ",
    "Safepoint Clean", "Runtime Worker",  "logger-thread",   "Cleanup Thread",
    "Notification",    "Thread-SMR",      "DestroyJavaVM",   "JIT Compiler",
    "Compiler Thread", "AsyncLog Thread", "LogAsyncWriter",  "Zgc ",
    "GC Concurrent",
};

void process_scan__init(struct process_scan *scan, struct ledger *ledger, pid_t pid,
                        uint64_t metrics, const struct scan_java *java)
{
    memset(scan, 0, sizeof(*scan));
    scan->ledger = ledger;
    scan->pid = pid;
    scan->metrics = metrics;
    scan->java = *java;
}

/* True if the name, as the kernel knows it (15 bytes), is that of one of the JVM's own threads. */
static bool is_vm_thread(const char *name)
{
    for (size_t i = 0; i < sizeof(vm_thread_names) / sizeof(*vm_thread_names); i++)
        if (strncmp(name, vm_thread_names[i], strlen(vm_thread_names[i])) == 0)
            return true;
    return false;
}

static struct scanned_row *remember(struct process_scan *scan, pid_t tid, uint64_t start_ticks,
                                    ledger_ref thread)
{
    struct scanned_row *row = calloc(1, sizeof(*row));

    if (!row)
        return NULL;
    row->tid = tid;
    row->start_ticks = start_ticks;
    row->thread = thread;
    HASH_ADD_INT(scan->rows, tid, row);
    if (!row->hh.tbl) {
        free(row);
        return NULL;
    }
    return row;
}

static void forget(struct process_scan *scan, struct scanned_row *row)
{
    HASH_DEL(scan->rows, row);
    free(row);
}

static struct ledger_thread *thread_of(const struct process_scan *scan,
                                       const struct scanned_row *row)
{
    return ledger__at(scan->ledger, row->thread);
}

static ledger_ref add_root(struct process_scan *scan)
{
    ledger_ref ref = ledger__take(scan->ledger, &scan->nodes, LEDGER_NODES, 1);

    if (ref)
        ((struct ledger_node *)ledger__at(scan->ledger, ref))->kind_and_level = (uint32_t)NODE_ROOT
                                                                                << 24;
    return ref;
}

/* When a kernel thread began, on the ledger's clock, to a clock tick; 0 if that was before the
 * ledger. */
static uint64_t started_ns(const struct process_scan *scan, uint64_t start_ticks)
{
    const struct ledger_header *header = scan->ledger->header;
    uint64_t tick_ns = 1000000000u / (uint64_t)sysconf(_SC_CLK_TCK);
    uint64_t after_process_ns = (start_ticks - header->start_ticks) * tick_ns;
    uint64_t ledger_after_ns = header->epoch_ns - header->process_start_epoch_ns;

    return after_process_ns > ledger_after_ns ? after_process_ns - ledger_after_ns : 0;
}

/* A thread may be seen before it has given itself its name. */
static void set_row_name(struct process_scan *scan, struct ledger_thread *thread, const char *name)
{
    thread->name = ledger__string(scan->ledger, name, strlen(name));
    __atomic_store_n(&thread->kind, is_vm_thread(name) ? THREAD_VM : THREAD_NATIVE,
                     __ATOMIC_RELEASE);
}

static const struct ledger_unprofiled *unprofiled_of(const struct process_scan *scan,
                                                     const struct scanned_row *row)
{
    return scan->java.unprofiled(scan->java.context, row->tid, row->start_ticks);
}

/* Makes the row's records in the ledger. False: the ledger is full. */
static bool enter_row(struct process_scan *scan, struct scanned_row *row)
{
    const struct ledger_header *header = scan->ledger->header;
    ledger_ref root = add_root(scan);
    ledger_ref ref = root ? ledger__take_shared(scan->ledger, LEDGER_THREADS,
                                                sizeof(struct ledger_thread) / LEDGER_CELL_BYTES)
                          : 0;
    struct ledger_thread *thread;

    if (!ref)
        return false;
    thread = ledger__at(scan->ledger, ref);
    thread->root = root;
    thread->first_ticks = row->start_ticks;
    thread->start_ns = started_ns(scan, row->start_ticks);
    thread->unprofiled_wall_ns = header->unprofiled_wall_ns;
    /* A thread that ran before the last start of profiling counts from that start on. */
    if (thread->start_ns < header->since_ns && (header->attached || header->starts > 1))
        thread->start_ns = header->since_ns;
    thread->tid_count = 1;
    thread->tids[0] = row->tid;
    set_row_name(scan, thread, row->status.name);
    row->thread = ref;
    return true;
}

/* The sum to which the CPU time of a thread of this name is also added; or NULL. */
static uint64_t *sum_of(struct process_scan *scan, const char *name)
{
    static const char *const compilers[] = {"C1 CompilerThre", "C2 CompilerThre", "JVMCI"};

    for (size_t i = 0; i < sizeof(compilers) / sizeof(*compilers); i++)
        if (strncmp(name, compilers[i], strlen(compilers[i])) == 0)
            return &scan->compilers_cpu_ns;
    return strcmp(name, "Service Thread") == 0 ? &scan->service_cpu_ns : NULL;
}

static void set_row_times(struct process_scan *scan, struct scanned_row *row, uint64_t cpu_ns,
                          uint64_t now_ns)
{
    const struct ledger_header *header = scan->ledger->header;
    const struct ledger_thread *thread = thread_of(scan, row);
    struct ledger_node *root;
    uint64_t unprofiled_ns;

    row->status.cpu_ns = cpu_ns;
    if (!row->thread)
        return;
    root = ledger__at(scan->ledger, thread->root);
    cpu_ns = unprofiled__cpu_ns(unprofiled_of(scan, row), header->profiling, cpu_ns);
    unprofiled_ns = header->unprofiled_wall_ns - thread->unprofiled_wall_ns;
    if (cpu_ns > root->cpu_ns) {
        uint64_t *sum = sum_of(scan, row->status.name);

        if (sum)
            *sum += cpu_ns - root->cpu_ns;
        __atomic_store_n(&root->cpu_ns, cpu_ns, __ATOMIC_RELAXED);
    }
    if (now_ns > thread->start_ns + unprofiled_ns)
        __atomic_store_n(&root->wait_ns, now_ns - thread->start_ns - unprofiled_ns - root->cpu_ns,
                         __ATOMIC_RELAXED);
    ledger__touch(scan->ledger, root);
}

/* Writes into the ledger what the last close look found. */
static void book_row(struct process_scan *scan, struct scanned_row *row, uint64_t now_ns)
{
    const struct ledger_unprofiled *unprofiled = unprofiled_of(scan, row);
    const struct task_status *status = &row->status;
    struct ledger_thread *thread = thread_of(scan, row);
    uint64_t left = status->bits;
    unsigned metric;

    if (strcmp(status->name, "VM Thread") == 0)
        __atomic_store_n(&scan->vm_thread, row->tid, __ATOMIC_RELAXED);
    set_row_times(scan, row, status->cpu_ns, now_ns);
    set_row_name(scan, thread, status->name);
    while (metric_bits__take(&left, &metric)) {
        uint64_t value = unprofiled__value(unprofiled, scan->ledger->header->profiling, metric,
                                           status->value[metric]);

        if (value > thread->totals[metric])
            __atomic_store_n(&thread->totals[metric], value, __ATOMIC_RELAXED);
    }
}

/* Counts the samples of a hidden row as homeless: they are in no visible thread. */
static void make_homeless(const struct process_scan *scan, const struct ledger_thread *thread)
{
    const struct ledger_node *node = ledger__at(scan->ledger, thread->root);
    uint64_t steps_left = (uint64_t)scan->ledger->header->chunks_used * LEDGER_CHUNK_CELLS;
    ledger_ref ref = node->sampled;
    uint64_t samples = 0;

    /* Bounded, since there are no more nodes than cells. */
    while (ref && steps_left-- > 0) {
        node = ledger__at(scan->ledger, ref);
        samples += node->cpu_samples + node->wall_samples;
        ref = node->first_child;
        while (!ref && node->parent) {
            ref = node->next_sibling;
            node = ledger__at(scan->ledger, node->parent);
        }
    }
    ledger__count(&scan->ledger->header->homeless_samples, samples);
}

/* Hides the row of a kernel thread on which a Java thread started: what the kernel thread consumes,
 * from its beginning on, is that Java thread's. */
static void hide_row(struct process_scan *scan, struct scanned_row *row)
{
    struct ledger_thread *thread = thread_of(scan, row);
    struct ledger_node *root;

    if (row->thread) {
        root = ledger__at(scan->ledger, thread->root);
        thread->flags |= THREAD_HIDDEN;
        make_homeless(scan, thread);
        root->cpu_ns = 0;
        root->wait_ns = 0;
        ledger__touch(scan->ledger, root);
    }
    forget(scan, row);
}

/* True if a Java thread ran on the very kernel thread of the row. Where runs_java would forget a
 * kernel thread that is gone, ran_java is asked instead. */
static bool ran_java(const struct process_scan *scan, const struct scanned_row *row)
{
    if (scan->java.ran_java)
        return scan->java.ran_java(scan->java.context, row->tid, row->start_ticks);
    return scan->java.runs_java(scan->java.context, row->tid);
}

/* Ends the row of a kernel thread that is gone, or hides it if a Java thread ran there after all.
 */
static void end_row(struct process_scan *scan, struct scanned_row *row, uint64_t now_ns)
{
    struct ledger_thread *thread;

    if (ran_java(scan, row)) {
        hide_row(scan, row);
        return;
    }
    if (!row->thread && enter_row(scan, row))
        book_row(scan, row, now_ns);
    if (row->thread) {
        thread = thread_of(scan, row);
        thread->end_ns = now_ns;
        thread->flags |= THREAD_TERMINATED;
    }
    forget(scan, row);
}

/* Updates the CPU time of a row. False: a close look is needed, because the thread is gone, or
 * because its clock went back and so is that of another thread with the same tid. */
static bool refresh_row(struct process_scan *scan, struct scanned_row *row, uint64_t now_ns)
{
    uint64_t cpu_ns;

    if (task_cpu__read(scan->pid, row->tid, &cpu_ns) != 0 || cpu_ns < row->status.cpu_ns)
        return false;
    set_row_times(scan, row, cpu_ns, now_ns);
    row->pass = scan->pass;
    return true;
}

/* The metrics that a close look reads: each file of a thread costs some 10 µs, and a JVM that
 * starts has dozens of new threads. */
static uint64_t metrics_of_look(const struct process_scan *scan, const struct scanned_row *row,
                                enum scan_depth depth)
{
    bool for_name = depth == SCAN_CPU && (!row || row->looks + 1 < FIRST_LOOKS);

    return for_name ? scan->metrics & task_status__of_stat() : scan->metrics;
}

static void look_closely(struct process_scan *scan, struct scanned_row *row, pid_t tid,
                         uint64_t now_ns, enum scan_depth depth)
{
    uint64_t metrics = metrics_of_look(scan, row, depth);
    struct task_status status;

    if (task_status__read(&status, scan->pid, tid, metrics) != 0)
        return;
    if (row && row->start_ticks != status.start_ticks) {
        end_row(scan, row, now_ns);
        row = NULL;
    }
    if (!row)
        row = remember(scan, tid, status.start_ticks, 0);
    if (!row)
        return;
    row->status = status;
    row->pass = scan->pass;
    row->looks++;
    if (!row->thread && (row->looks > 1 || !scan->java.ran_java))
        (void)enter_row(scan, row);
    if (row->thread)
        book_row(scan, row, now_ns);
}

static void look_at(struct process_scan *scan, pid_t tid, uint64_t now_ns, enum scan_depth depth)
{
    struct scanned_row *row;

    HASH_FIND_INT(scan->rows, &tid, row);
    if (scan->java.runs_java(scan->java.context, tid)) {
        if (row)
            hide_row(scan, row);
        return;
    }
    if (!row || depth == SCAN_ALL || row->looks < FIRST_LOOKS || !refresh_row(scan, row, now_ns))
        look_closely(scan, row, tid, now_ns, depth);
}

/* The kernel's list may leave out a thread while others end, so a thread is gone only if its clock
 * says so. */
static void end_unseen_rows(struct process_scan *scan, uint64_t now_ns)
{
    struct scanned_row *row, *next;

    HASH_ITER (hh, scan->rows, row, next) {
        if (row->pass == scan->pass)
            continue;
        if (ran_java(scan, row))
            hide_row(scan, row);
        else if (!refresh_row(scan, row, now_ns))
            end_row(scan, row, now_ns);
    }
}

int process_scan__run(struct process_scan *scan, uint64_t now_ns, enum scan_depth depth)
{
    struct dirent *entry;
    char path[64];
    DIR *tasks;

    snprintf(path, sizeof(path), "/proc/%d/task", (int)scan->pid);
    tasks = opendir(path);
    if (!tasks)
        return -errno;
    scan->pass++;
    while ((entry = readdir(tasks))) {
        long tid = strtol(entry->d_name, NULL, 10);

        if (tid > 0)
            look_at(scan, (pid_t)tid, now_ns, depth);
    }
    closedir(tasks);
    end_unseen_rows(scan, now_ns);
    if (scan->java.forget_gone)
        scan->java.forget_gone(scan->java.context);
    return 0;
}

size_t process_scan__count(const struct process_scan *scan)
{
    return HASH_COUNT(scan->rows);
}

void process_scan__refresh(struct process_scan *scan, uint64_t now_ns)
{
    struct scanned_row *row, *next;

    HASH_ITER (hh, scan->rows, row, next)
        (void)refresh_row(scan, row, now_ns);
}

static void adopt_row(struct process_scan *scan, const struct ledger_thread *thread, ledger_ref ref)
{
    struct scanned_row *row = remember(scan, thread->tids[0], thread->first_ticks, ref);

    const struct ledger_unprofiled *unprofiled;

    if (!row)
        return;
    unprofiled = unprofiled_of(scan, row);
    row->status.cpu_ns =
        ((const struct ledger_node *)ledger__at(scan->ledger, thread->root))->cpu_ns +
        (unprofiled ? unprofiled->cpu_ns : 0);
}

void process_scan__adopt(struct process_scan *scan)
{
    ledger_ref ref = 0;

    while ((ref = ledger__next(scan->ledger, LEDGER_THREADS, ref))) {
        const struct ledger_thread *thread = ledger__at(scan->ledger, ref);

        if ((thread->kind == THREAD_VM || thread->kind == THREAD_NATIVE) && thread->root &&
            !thread->java_id && !(thread->flags & (THREAD_TERMINATED | THREAD_HIDDEN)))
            adopt_row(scan, thread, ref);
    }
}

void process_scan__close(struct process_scan *scan)
{
    struct scanned_row *row, *next;

    /* NOLINTBEGIN(clang-analyzer-unix.Malloc): it cannot see that the table lets go of the row */
    HASH_ITER (hh, scan->rows, row, next) {
        HASH_DEL(scan->rows, row);
        free(row);
    }
    /* NOLINTEND(clang-analyzer-unix.Malloc) */
}

ledger_ref process_scan__row(const struct process_scan *scan, pid_t tid)
{
    const struct scanned_row *row;

    HASH_FIND_INT(scan->rows, &tid, row);
    return row ? row->thread : 0;
}
