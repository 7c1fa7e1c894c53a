#include "tools/jvm/jvm_attach.h"

#include "tools/command.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define CONNECT_MS         10000
#define CONNECT_AGAIN_MS   5000 /* a JVM that was busy starting up may have missed the first */
#define POLL_MS            20
#define REPLY_MS           (10 * 60 * 1000)
#define ARGUMENT_BYTES_MAX 1024u /* the JVM's own bound */

static int64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

/* Groups that could not be given up need not be taken back. */
static bool give_up_groups(struct jvm_conversation *conversation)
{
    int count = getgroups(0, NULL);
    gid_t *groups = calloc((size_t)(count > 0 ? count : 0) + 1, sizeof(gid_t));
    int error;

    if (groups && count >= 0 && getgroups(count, groups) == count && setgroups(0, NULL) == 0) {
        conversation->own_groups = groups;
        conversation->own_group_count = count;
        return true;
    }
    error = errno;
    free(groups);
    errno = error;
    return false;
}

/* Files that root could open and the JVM's user could not are opened before. Root that attaches to
 * root's JVM stays what it is. */
static int take_ids(struct jvm_conversation *conversation)
{
    const struct process_status *status = &conversation->process->status;

    if (conversation->own_uid != 0 || (status->uid == 0 && status->gid == conversation->own_gid))
        return 0;
    if (give_up_groups(conversation) && setegid(status->gid) == 0 && seteuid(status->uid) == 0)
        return 0;
    return command__fail(
        "process %d runs as user %u, group %u, and treadle cannot become these: %s",
        (int)conversation->process->pid, (unsigned)status->uid, (unsigned)status->gid,
        strerror(errno));
}

int jvm_attach__begin(struct jvm_conversation *conversation, const struct jvm_process *process)
{
    char path[64];
    int error;

    *conversation = (struct jvm_conversation){
        .process = process, .socket_fd = -1, .own_uid = geteuid(), .own_gid = getegid()};
    snprintf(path, sizeof(path), "/proc/%d/root/tmp", (int)process->pid);
    conversation->temporary_fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (conversation->temporary_fd < 0)
        return command__fail("%s: the folder of the JVM's socket cannot be opened: %s", path,
                             strerror(errno));
    error = take_ids(conversation);
    if (error)
        jvm_attach__end(conversation);
    return error;
}

static bool take_own_ids_back(const struct jvm_conversation *conversation)
{
    return seteuid(0) == 0 && setegid(conversation->own_gid) == 0 &&
           (!conversation->own_groups ||
            setgroups((size_t)conversation->own_group_count, conversation->own_groups) == 0);
}

void jvm_attach__end(struct jvm_conversation *conversation)
{
    close_fd(&conversation->socket_fd);
    close_fd(&conversation->temporary_fd);
    if (conversation->own_uid == 0 && !take_own_ids_back(conversation))
        command__fail("cannot become root again: %s", strerror(errno));
    free(conversation->own_groups);
    conversation->own_groups = NULL;
}

/* Another user may have put a socket of that name there. */
static int check_socket(const struct jvm_conversation *conversation, const char *name)
{
    struct stat file;

    if (fstatat(conversation->temporary_fd, name, &file, AT_SYMLINK_NOFOLLOW) != 0)
        return -errno;
    return S_ISSOCK(file.st_mode) && file.st_uid == conversation->process->status.uid ? 0 : -EPERM;
}

static int check_peer(const struct jvm_conversation *conversation)
{
    struct ucred peer;
    socklen_t bytes = sizeof(peer);

    if (getsockopt(conversation->socket_fd, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) != 0)
        return -errno;
    return peer.pid == conversation->process->pid ? 0 : -EPERM;
}

/* 0, or -errno: -ENOENT and -ECONNREFUSED while the JVM does not listen, -EPERM if it is not the
 * JVM that does. */
static int try_connect(struct jvm_conversation *conversation)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct timeval patience = {.tv_sec = CONNECT_MS / 1000};
    char name[32];
    int error;

    snprintf(name, sizeof(name), ".java_pid%d", (int)conversation->process->status.inner_pid);
    snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/%s",
             conversation->temporary_fd, name);
    error = check_socket(conversation, name);
    if (error)
        return error;
    conversation->socket_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (conversation->socket_fd < 0)
        return -errno;
    (void)setsockopt(conversation->socket_fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
    if (connect(conversation->socket_fd, (const struct sockaddr *)&address, sizeof(address)) != 0)
        error = -errno;
    if (!error)
        error = check_peer(conversation);
    if (error)
        close_fd(&conversation->socket_fd);
    return error;
}

static int send_quit(const struct jvm_process *process)
{
    struct process_status status;

    if (jvm_process__is_gone(process) || process_status__read(&status, process->pid) != 0)
        return command__fail("process %d has ended", (int)process->pid);
    if (status.suspended)
        return command__fail("process %d is suspended: kill -CONT %d", (int)process->pid,
                             (int)process->pid);
    if (!status.catches_quit)
        return command__fail("process %d does not listen at /tmp/.java_pid%d, and does not catch "
                             "the SIGQUIT that would wake it: it runs with -Xrs and its socket was "
                             "removed, or it is only just starting",
                             (int)process->pid, (int)status.inner_pid);
    int result = process->pidfd >= 0
                     ? (int)syscall(SYS_pidfd_send_signal, process->pidfd, SIGQUIT, NULL, 0)
                     : kill(process->pid, SIGQUIT);
    if (result != 0)
        return command__fail("process %d cannot be sent a signal: %s", (int)process->pid,
                             strerror(errno));
    return 0;
}

/* The file that tells the JVM what the SIGQUIT is meant for: where it looks first, in its working
 * folder, or else in its /tmp. The folder's descriptor, or -1. */
static int make_trigger(const struct jvm_conversation *conversation, const char *name)
{
    char folder[64];
    int fd = -1;

    snprintf(folder, sizeof(folder), "/proc/%d/cwd", (int)conversation->process->pid);
    int folders[] = {open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC),
                     dup(conversation->temporary_fd)};
    for (size_t i = 0; i < 2; i++) {
        int made = -1;

        if (folders[i] >= 0 && fd < 0)
            made = openat(folders[i], name, O_CREAT | O_WRONLY | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (made >= 0) {
            close(made);
            fd = folders[i];
        } else {
            close_fd(&folders[i]);
        }
    }
    return fd;
}

static int not_listening(const struct jvm_process *process)
{
    if (jvm_process__is_gone(process))
        return command__fail("process %d has ended", (int)process->pid);
    return command__fail("process %d does not answer after %d s: it is too busy, or runs "
                         "with -XX:+DisableAttachMechanism",
                         (int)process->pid, CONNECT_MS / 1000);
}

static int wait_for_listener(struct jvm_conversation *conversation)
{
    int64_t start_ms = now_ms();
    bool again = false;
    int error = send_quit(conversation->process);

    while (!error) {
        struct timespec pause = {.tv_nsec = POLL_MS * 1000000};
        int64_t waited_ms = now_ms() - start_ms;

        nanosleep(&pause, NULL);
        if (try_connect(conversation) == 0)
            return 0;
        if (waited_ms > CONNECT_MS || jvm_process__is_gone(conversation->process)) {
            error = not_listening(conversation->process);
        } else if (waited_ms > CONNECT_AGAIN_MS && !again) {
            again = true;
            error = send_quit(conversation->process);
        }
    }
    return error;
}

static int wake_listener(struct jvm_conversation *conversation)
{
    const struct jvm_process *process = conversation->process;
    char name[32];
    int folder, error;

    if (jvm_process__flag(process, "DisableAttachMechanism") == JVM_FLAG_ON)
        return command__fail("process %d runs with -XX:+DisableAttachMechanism: start it without, "
                             "or with treadle run",
                             (int)process->pid);
    snprintf(name, sizeof(name), ".attach_pid%d", (int)process->status.inner_pid);
    folder = make_trigger(conversation, name);
    if (folder < 0)
        return command__fail("%s can be made neither in the working folder of process %d nor in "
                             "its /tmp: %s",
                             name, (int)process->pid, strerror(errno));
    error = wait_for_listener(conversation);
    (void)unlinkat(folder, name, 0);
    close(folder);
    return error;
}

int jvm_attach__connect(struct jvm_conversation *conversation)
{
    const struct process_status *status = &conversation->process->status;
    int error = try_connect(conversation);

    if (error == -ENOENT || error == -ECONNREFUSED)
        return wake_listener(conversation);
    if (error == -EPERM)
        return command__fail("/tmp/.java_pid%d is not the socket of process %d: remove it",
                             (int)status->inner_pid, (int)conversation->process->pid);
    if (error)
        return command__fail("/tmp/.java_pid%d: cannot be connected to: %s", (int)status->inner_pid,
                             strerror(-error));
    return 0;
}

static int send_all(int fd, const char *bytes, size_t left)
{
    while (left) {
        ssize_t sent = send(fd, bytes, left, MSG_NOSIGNAL);

        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0)
            return -errno;
        bytes += sent;
        left -= (size_t)sent;
    }
    return 0;
}

/* Version 1, which every JVM understands: each word and its NUL, `load` with three arguments. All
 * at once: a listener that answers and closes after the first of several pieces would break the
 * pipe for the rest, and look as if it had read nothing. */
static int send_load(const struct jvm_conversation *conversation, const char *library,
                     const char *options)
{
    const char *const words[] = {"1", "load", library, "true", options};
    char request[2 * ARGUMENT_BYTES_MAX + 64];
    size_t length = 0;

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        size_t bytes = strlen(words[i]) + 1;

        if (length + bytes > sizeof(request))
            return -E2BIG;
        memcpy(request + length, words[i], bytes);
        length += bytes;
    }
    return send_all(conversation->socket_fd, request, length);
}

/* Up to the end, which the JVM makes. What is too long for reply is left out. */
static int receive(const struct jvm_conversation *conversation, char *reply, size_t reply_bytes)
{
    int64_t end_ms = now_ms() + REPLY_MS;
    size_t length = 0;

    for (;;) {
        struct pollfd ready = {.fd = conversation->socket_fd, .events = POLLIN};
        int64_t left_ms = end_ms - now_ms();
        int count = left_ms > 0 ? poll(&ready, 1, (int)left_ms) : 0;
        char piece[4096];
        ssize_t got;

        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0)
            return count ? -errno : -ETIMEDOUT;
        got = recv(conversation->socket_fd, piece, sizeof(piece), 0);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0) {
            reply[length] = '\0';
            return got ? -errno : 0;
        }
        size_t room = reply_bytes - 1 - length;
        memcpy(reply + length, piece, (size_t)got < room ? (size_t)got : room);
        length += (size_t)got < room ? (size_t)got : room;
    }
}

/* The first line is the protocol's own: 0, or -1 before the reason, or 100 and more when the JVM
 * did not understand. Only the rest is of interest, in one line. */
static void make_one_line(char *reply)
{
    char *rest = strchr(reply, '\n');
    size_t length;

    if (rest && rest[1])
        memmove(reply, rest + 1, strlen(rest + 1) + 1);
    length = strlen(reply);
    while (length && reply[length - 1] == '\n')
        reply[--length] = '\0';
    for (char *end = reply; (end = strchr(end, '\n')) != NULL;)
        *end = ' ';
}

static int converse(const struct jvm_conversation *conversation, const char *library,
                    const char *options, char *reply, size_t reply_bytes)
{
    int error = send_load(conversation, library, options);

    reply[0] = '\0';
    return error ? error : receive(conversation, reply, reply_bytes);
}

/* A JVM that begins to listen once more, because two were to be woken at the same moment, closes
 * the connections that waited for it, unread (AttachListener::check_socket_file). What it has read
 * it answers. */
static bool was_not_read(const struct jvm_conversation *conversation, int error, const char *reply)
{
    return (!error || error == -EPIPE || error == -ECONNRESET) && !reply[0] &&
           !jvm_process__is_gone(conversation->process);
}

int jvm_attach__load(struct jvm_conversation *conversation, const char *library,
                     const char *options, char *reply, size_t reply_bytes)
{
    int pid = (int)conversation->process->pid;
    int error;

    if (strlen(library) > ARGUMENT_BYTES_MAX)
        return command__fail("%s: a JVM takes paths up to %u bytes", library, ARGUMENT_BYTES_MAX);
    if (strlen(options) > ARGUMENT_BYTES_MAX)
        return command__fail(
            "the options are %zu bytes long: a running JVM takes %u; put globs into "
            "a file: --include @FILE",
            strlen(options), ARGUMENT_BYTES_MAX);
    error = converse(conversation, library, options, reply, reply_bytes);
    if (was_not_read(conversation, error, reply)) {
        close_fd(&conversation->socket_fd);
        error = jvm_attach__connect(conversation);
        if (error)
            return error;
        error = converse(conversation, library, options, reply, reply_bytes);
    }
    if (error == -ETIMEDOUT)
        return command__fail(
            "process %d has not answered within %d minutes; it may still be busy with it: "
            "treadle status %d",
            pid, REPLY_MS / 60000, pid);
    if (was_not_read(conversation, error, reply))
        return command__fail("process %d closed the connection without an answer", pid);
    if (error || !reply[0])
        return command__fail("process %d: the connection broke: %s", pid,
                             error ? strerror(-error) : "the process has ended");
    make_one_line(reply);
    return 0;
}
