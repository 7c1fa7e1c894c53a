/*
 * Functions of the C library that wait for time, for files, pipes, sockets and terminals, for
 * signals and for the ends of processes; those that wait for locks and threads are elsewhere. To be
 * included any number of times, each time with two macros defined, which are undefined then:
 *
 *     WAITING_CALL(type, name, reason, parameters, arguments)
 *     WAITING_CALL_IF(may_wait, type, name, reason, parameters, arguments)
 *
 * A function of that type, what is waited for (enum ledger_metric), and what it takes; the latter
 * waits only where `may_wait` holds. A stream is read by the C library with none of the others, and
 * waits where its buffer is empty. Functions that take signals are WAITING_CALL_TAKES where that is
 * defined, too.
 */
#ifndef TREADLE_WAITING_CALLS_H
#define TREADLE_WAITING_CALLS_H

#include "native/ledger/ledger_format.h"

#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/select.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

/* What programs call that are built with _FORTIFY_SOURCE. No header declares these. */
ssize_t __read_chk(int fd, void *bytes, size_t count, size_t room);
ssize_t __pread_chk(int fd, void *bytes, size_t count, off_t at, size_t room);
ssize_t __pread64_chk(int fd, void *bytes, size_t count, off64_t at, size_t room);
ssize_t __recv_chk(int fd, void *bytes, size_t count, size_t room, int flags);
ssize_t __recvfrom_chk(int fd, void *bytes, size_t count, size_t room, int flags,
                       __SOCKADDR_ARG from, socklen_t *from_bytes);
int __poll_chk(struct pollfd *fds, nfds_t count, int ms, size_t room);
int __ppoll_chk(struct pollfd *fds, nfds_t count, const struct timespec *most, const sigset_t *mask,
                size_t room);
char *__fgets_chk(char *line, size_t room, int count, FILE *stream);
size_t __fread_chk(void *items, size_t room, size_t bytes, size_t count, FILE *stream);

#define WAITING_CALL__HAS_NO_BYTES(stream) ((stream)->_IO_read_ptr >= (stream)->_IO_read_end)

#endif

#ifndef WAITING_CALL_TAKES
#define WAITING_CALL_TAKES WAITING_CALL
#endif

/* NOLINTBEGIN(readability-inconsistent-declaration-parameter-name,cert-env33-c): the C library's
 * own names are reserved; nothing here is called that the program does not call
 */

/* ---- time ---- */

WAITING_CALL(int, nanosleep, METRIC_SLEEP, (const struct timespec *asked, struct timespec *rest),
             (asked, rest))
WAITING_CALL(int, clock_nanosleep, METRIC_SLEEP,
             (clockid_t clock, int flags, const struct timespec *asked, struct timespec *rest),
             (clock, flags, asked, rest))
WAITING_CALL(unsigned, sleep, METRIC_SLEEP, (unsigned seconds), (seconds))
WAITING_CALL(int, usleep, METRIC_SLEEP, (useconds_t us), (us))
WAITING_CALL(int, thrd_sleep, METRIC_SLEEP, (const struct timespec *asked, struct timespec *rest),
             (asked, rest))

/* ---- signals ---- */

WAITING_CALL(int, pause, METRIC_PARK, (void), ())
WAITING_CALL(int, sigsuspend, METRIC_PARK, (const sigset_t *mask), (mask))
WAITING_CALL_TAKES(int, sigwait, METRIC_PARK, (const sigset_t *signals, int *number),
                   (signals, number))
WAITING_CALL_TAKES(int, sigwaitinfo, METRIC_PARK, (const sigset_t *signals, siginfo_t *info),
                   (signals, info))
WAITING_CALL_TAKES(int, sigtimedwait, METRIC_PARK,
                   (const sigset_t *signals, siginfo_t *info, const struct timespec *most),
                   (signals, info, most))

/* ---- files, pipes, sockets, terminals ---- */

WAITING_CALL(ssize_t, read, METRIC_IO_WAIT, (int fd, void *bytes, size_t count), (fd, bytes, count))
WAITING_CALL(ssize_t, write, METRIC_IO_WAIT, (int fd, const void *bytes, size_t count),
             (fd, bytes, count))
WAITING_CALL(ssize_t, readv, METRIC_IO_WAIT, (int fd, const struct iovec *parts, int count),
             (fd, parts, count))
WAITING_CALL(ssize_t, writev, METRIC_IO_WAIT, (int fd, const struct iovec *parts, int count),
             (fd, parts, count))
WAITING_CALL(ssize_t, pread, METRIC_IO_WAIT, (int fd, void *bytes, size_t count, off_t at),
             (fd, bytes, count, at))
WAITING_CALL(ssize_t, pread64, METRIC_IO_WAIT, (int fd, void *bytes, size_t count, off64_t at),
             (fd, bytes, count, at))
WAITING_CALL(ssize_t, pwrite, METRIC_IO_WAIT, (int fd, const void *bytes, size_t count, off_t at),
             (fd, bytes, count, at))
WAITING_CALL(ssize_t, pwrite64, METRIC_IO_WAIT,
             (int fd, const void *bytes, size_t count, off64_t at), (fd, bytes, count, at))
WAITING_CALL(ssize_t, preadv, METRIC_IO_WAIT,
             (int fd, const struct iovec *parts, int count, off_t at), (fd, parts, count, at))
WAITING_CALL(ssize_t, preadv64, METRIC_IO_WAIT,
             (int fd, const struct iovec *parts, int count, off64_t at), (fd, parts, count, at))
WAITING_CALL(ssize_t, pwritev, METRIC_IO_WAIT,
             (int fd, const struct iovec *parts, int count, off_t at), (fd, parts, count, at))
WAITING_CALL(ssize_t, pwritev64, METRIC_IO_WAIT,
             (int fd, const struct iovec *parts, int count, off64_t at), (fd, parts, count, at))
WAITING_CALL(int, fsync, METRIC_IO_WAIT, (int fd), (fd))
WAITING_CALL(int, fdatasync, METRIC_IO_WAIT, (int fd), (fd))
WAITING_CALL(int, flock, METRIC_IO_WAIT, (int fd, int operation), (fd, operation))
WAITING_CALL(int, lockf, METRIC_IO_WAIT, (int fd, int command, off_t bytes), (fd, command, bytes))
WAITING_CALL(int, lockf64, METRIC_IO_WAIT, (int fd, int command, off64_t bytes),
             (fd, command, bytes))
WAITING_CALL(ssize_t, sendfile, METRIC_IO_WAIT, (int to, int from, off_t *at, size_t count),
             (to, from, at, count))
WAITING_CALL(ssize_t, sendfile64, METRIC_IO_WAIT, (int to, int from, off64_t *at, size_t count),
             (to, from, at, count))
WAITING_CALL(ssize_t, splice, METRIC_IO_WAIT,
             (int from, off64_t *from_at, int to, off64_t *to_at, size_t count, unsigned flags),
             (from, from_at, to, to_at, count, flags))
WAITING_CALL(ssize_t, copy_file_range, METRIC_IO_WAIT,
             (int from, off64_t *from_at, int to, off64_t *to_at, size_t count, unsigned flags),
             (from, from_at, to, to_at, count, flags))

WAITING_CALL(int, accept, METRIC_IO_WAIT, (int fd, __SOCKADDR_ARG address, socklen_t *bytes),
             (fd, address, bytes))
WAITING_CALL(int, accept4, METRIC_IO_WAIT,
             (int fd, __SOCKADDR_ARG address, socklen_t *bytes, int flags),
             (fd, address, bytes, flags))
WAITING_CALL(int, connect, METRIC_IO_WAIT, (int fd, __CONST_SOCKADDR_ARG address, socklen_t bytes),
             (fd, address, bytes))
WAITING_CALL(ssize_t, recv, METRIC_IO_WAIT, (int fd, void *bytes, size_t count, int flags),
             (fd, bytes, count, flags))
WAITING_CALL(ssize_t, recvfrom, METRIC_IO_WAIT,
             (int fd, void *bytes, size_t count, int flags, __SOCKADDR_ARG from,
              socklen_t *from_bytes),
             (fd, bytes, count, flags, from, from_bytes))
WAITING_CALL(ssize_t, recvmsg, METRIC_IO_WAIT, (int fd, struct msghdr *message, int flags),
             (fd, message, flags))
WAITING_CALL(int, recvmmsg, METRIC_IO_WAIT,
             (int fd, struct mmsghdr *messages, unsigned count, int flags, struct timespec *most),
             (fd, messages, count, flags, most))
WAITING_CALL(ssize_t, send, METRIC_IO_WAIT, (int fd, const void *bytes, size_t count, int flags),
             (fd, bytes, count, flags))
WAITING_CALL(ssize_t, sendto, METRIC_IO_WAIT,
             (int fd, const void *bytes, size_t count, int flags, __CONST_SOCKADDR_ARG to,
              socklen_t to_bytes),
             (fd, bytes, count, flags, to, to_bytes))
WAITING_CALL(ssize_t, sendmsg, METRIC_IO_WAIT, (int fd, const struct msghdr *message, int flags),
             (fd, message, flags))
WAITING_CALL(int, sendmmsg, METRIC_IO_WAIT,
             (int fd, struct mmsghdr *messages, unsigned count, int flags),
             (fd, messages, count, flags))

WAITING_CALL(int, poll, METRIC_IO_WAIT, (struct pollfd * fds, nfds_t count, int ms),
             (fds, count, ms))
WAITING_CALL(int, ppoll, METRIC_IO_WAIT,
             (struct pollfd * fds, nfds_t count, const struct timespec *most, const sigset_t *mask),
             (fds, count, most, mask))
WAITING_CALL(int, select, METRIC_IO_WAIT,
             (int count, fd_set *read, fd_set *write, fd_set *special, struct timeval *most),
             (count, read, write, special, most))
WAITING_CALL(int, pselect, METRIC_IO_WAIT,
             (int count, fd_set *read, fd_set *write, fd_set *special, const struct timespec *most,
              const sigset_t *mask),
             (count, read, write, special, most, mask))
WAITING_CALL(int, epoll_wait, METRIC_IO_WAIT,
             (int fd, struct epoll_event *events, int count, int ms), (fd, events, count, ms))
WAITING_CALL(int, epoll_pwait, METRIC_IO_WAIT,
             (int fd, struct epoll_event *events, int count, int ms, const sigset_t *mask),
             (fd, events, count, ms, mask))
WAITING_CALL(int, getaddrinfo, METRIC_IO_WAIT,
             (const char *node, const char *service, const struct addrinfo *hints,
              struct addrinfo **found),
             (node, service, hints, found))

WAITING_CALL(ssize_t, __read_chk, METRIC_IO_WAIT, (int fd, void *bytes, size_t count, size_t room),
             (fd, bytes, count, room))
WAITING_CALL(ssize_t, __pread_chk, METRIC_IO_WAIT,
             (int fd, void *bytes, size_t count, off_t at, size_t room),
             (fd, bytes, count, at, room))
WAITING_CALL(ssize_t, __pread64_chk, METRIC_IO_WAIT,
             (int fd, void *bytes, size_t count, off64_t at, size_t room),
             (fd, bytes, count, at, room))
WAITING_CALL(ssize_t, __recv_chk, METRIC_IO_WAIT,
             (int fd, void *bytes, size_t count, size_t room, int flags),
             (fd, bytes, count, room, flags))
WAITING_CALL(ssize_t, __recvfrom_chk, METRIC_IO_WAIT,
             (int fd, void *bytes, size_t count, size_t room, int flags, __SOCKADDR_ARG from,
              socklen_t *from_bytes),
             (fd, bytes, count, room, flags, from, from_bytes))
WAITING_CALL(int, __poll_chk, METRIC_IO_WAIT,
             (struct pollfd * fds, nfds_t count, int ms, size_t room), (fds, count, ms, room))
WAITING_CALL(int, __ppoll_chk, METRIC_IO_WAIT,
             (struct pollfd * fds, nfds_t count, const struct timespec *most, const sigset_t *mask,
              size_t room),
             (fds, count, most, mask, room))

/* ---- streams: only where their buffers are empty; the C library reads with none of the above ----
 */

WAITING_CALL_IF(WAITING_CALL__HAS_NO_BYTES(stream), char *, fgets, METRIC_IO_WAIT,
                (char *line, int count, FILE *stream), (line, count, stream))
WAITING_CALL_IF(WAITING_CALL__HAS_NO_BYTES(stream), char *, __fgets_chk, METRIC_IO_WAIT,
                (char *line, size_t room, int count, FILE *stream), (line, room, count, stream))
WAITING_CALL_IF(WAITING_CALL__HAS_NO_BYTES(stream), size_t, fread, METRIC_IO_WAIT,
                (void *items, size_t bytes, size_t count, FILE *stream),
                (items, bytes, count, stream))
WAITING_CALL_IF(WAITING_CALL__HAS_NO_BYTES(stream), size_t, __fread_chk, METRIC_IO_WAIT,
                (void *items, size_t room, size_t bytes, size_t count, FILE *stream),
                (items, room, bytes, count, stream))
WAITING_CALL_IF(WAITING_CALL__HAS_NO_BYTES(stream), int, fgetc, METRIC_IO_WAIT, (FILE * stream),
                (stream))
WAITING_CALL_IF(WAITING_CALL__HAS_NO_BYTES(stream), int, getc, METRIC_IO_WAIT, (FILE * stream),
                (stream))
WAITING_CALL_IF(WAITING_CALL__HAS_NO_BYTES(stream), ssize_t, getline, METRIC_IO_WAIT,
                (char **line, size_t *room, FILE *stream), (line, room, stream))
WAITING_CALL_IF(WAITING_CALL__HAS_NO_BYTES(stream), ssize_t, getdelim, METRIC_IO_WAIT,
                (char **line, size_t *room, int end, FILE *stream), (line, room, end, stream))
WAITING_CALL_IF(WAITING_CALL__HAS_NO_BYTES(stream), ssize_t, __getdelim, METRIC_IO_WAIT,
                (char **line, size_t *room, int end, FILE *stream), (line, room, end, stream))
WAITING_CALL(int, fflush, METRIC_IO_WAIT, (FILE * stream), (stream))

/* ---- ends of processes ---- */

WAITING_CALL(pid_t, wait, METRIC_IO_WAIT, (int *status), (status))
WAITING_CALL(pid_t, waitpid, METRIC_IO_WAIT, (pid_t pid, int *status, int flags),
             (pid, status, flags))
WAITING_CALL(pid_t, wait3, METRIC_IO_WAIT, (int *status, int flags, struct rusage *usage),
             (status, flags, usage))
WAITING_CALL(pid_t, wait4, METRIC_IO_WAIT,
             (pid_t pid, int *status, int flags, struct rusage *usage), (pid, status, flags, usage))
WAITING_CALL(int, waitid, METRIC_IO_WAIT, (idtype_t kind, id_t id, siginfo_t *info, int flags),
             (kind, id, info, flags))
WAITING_CALL(int, system, METRIC_IO_WAIT, (const char *command), (command))
WAITING_CALL(int, pclose, METRIC_IO_WAIT, (FILE * stream), (stream))

/* NOLINTEND(readability-inconsistent-declaration-parameter-name,cert-env33-c) */

#undef WAITING_CALL
#undef WAITING_CALL_IF
#undef WAITING_CALL_TAKES
