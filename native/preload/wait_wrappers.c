/*
 * What stands before functions of the C library that wait for time, for files, pipes, sockets and
 * terminals, for signals and for the ends of processes. A wait inside the C library that the
 * program does not call by one of these names has no reason.
 */
#include "native/preload/function_hooks.h"
#include "native/preload/program_waits.h"

#include <dlfcn.h>
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

/* NOLINTBEGIN(readability-inconsistent-declaration-parameter-name): the C library's own names are
 * reserved
 */

/* ---- time ---- */

WAITS(int, nanosleep, METRIC_SLEEP, (const struct timespec *asked, struct timespec *rest),
      (asked, rest))
WAITS(int, clock_nanosleep, METRIC_SLEEP,
      (clockid_t clock, int flags, const struct timespec *asked, struct timespec *rest),
      (clock, flags, asked, rest))
WAITS(unsigned, sleep, METRIC_SLEEP, (unsigned seconds), (seconds))
WAITS(int, usleep, METRIC_SLEEP, (useconds_t us), (us))
WAITS(int, thrd_sleep, METRIC_SLEEP, (const struct timespec *asked, struct timespec *rest),
      (asked, rest))

/* ---- signals ---- */

WAITS(int, pause, METRIC_PARK, (void), ())
WAITS(int, sigsuspend, METRIC_PARK, (const sigset_t *mask), (mask))
WAITS(int, sigwait, METRIC_PARK, (const sigset_t *signals, int *number), (signals, number))
WAITS(int, sigwaitinfo, METRIC_PARK, (const sigset_t *signals, siginfo_t *info), (signals, info))
WAITS(int, sigtimedwait, METRIC_PARK,
      (const sigset_t *signals, siginfo_t *info, const struct timespec *most),
      (signals, info, most))

/* ---- files, pipes, sockets, terminals ---- */

#define IO(type, name, parameters, arguments)                                                      \
    WAITS(type, name, METRIC_IO_WAIT, parameters, arguments)

#define BYTES         (int fd, void *bytes, size_t count)
#define GIVEN_BYTES   (int fd, const void *bytes, size_t count)
#define BYTES_HANDED  (fd, bytes, count)
#define VECTOR        (int fd, const struct iovec *parts, int count)
#define VECTOR_HANDED (fd, parts, count)

IO(ssize_t, read, BYTES, BYTES_HANDED)
IO(ssize_t, write, GIVEN_BYTES, BYTES_HANDED)
IO(ssize_t, readv, VECTOR, VECTOR_HANDED)
IO(ssize_t, writev, VECTOR, VECTOR_HANDED)
IO(ssize_t, pread, (int fd, void *bytes, size_t count, off_t at), (fd, bytes, count, at))
IO(ssize_t, pread64, (int fd, void *bytes, size_t count, off64_t at), (fd, bytes, count, at))
IO(ssize_t, pwrite, (int fd, const void *bytes, size_t count, off_t at), (fd, bytes, count, at))
IO(ssize_t, pwrite64, (int fd, const void *bytes, size_t count, off64_t at), (fd, bytes, count, at))
IO(ssize_t, preadv, (int fd, const struct iovec *parts, int count, off_t at),
   (fd, parts, count, at))
IO(ssize_t, preadv64, (int fd, const struct iovec *parts, int count, off64_t at),
   (fd, parts, count, at))
IO(ssize_t, pwritev, (int fd, const struct iovec *parts, int count, off_t at),
   (fd, parts, count, at))
IO(ssize_t, pwritev64, (int fd, const struct iovec *parts, int count, off64_t at),
   (fd, parts, count, at))
IO(int, fsync, (int fd), (fd))
IO(int, fdatasync, (int fd), (fd))
IO(int, flock, (int fd, int operation), (fd, operation))
IO(int, lockf, (int fd, int command, off_t bytes), (fd, command, bytes))
IO(int, lockf64, (int fd, int command, off64_t bytes), (fd, command, bytes))
IO(ssize_t, sendfile, (int to, int from, off_t *at, size_t count), (to, from, at, count))
IO(ssize_t, sendfile64, (int to, int from, off64_t *at, size_t count), (to, from, at, count))
IO(ssize_t, splice,
   (int from, off64_t *from_at, int to, off64_t *to_at, size_t count, unsigned flags),
   (from, from_at, to, to_at, count, flags))
IO(ssize_t, copy_file_range,
   (int from, off64_t *from_at, int to, off64_t *to_at, size_t count, unsigned flags),
   (from, from_at, to, to_at, count, flags))

IO(int, accept, (int fd, __SOCKADDR_ARG address, socklen_t *bytes), (fd, address, bytes))
IO(int, accept4, (int fd, __SOCKADDR_ARG address, socklen_t *bytes, int flags),
   (fd, address, bytes, flags))
IO(int, connect, (int fd, __CONST_SOCKADDR_ARG address, socklen_t bytes), (fd, address, bytes))
IO(ssize_t, recv, (int fd, void *bytes, size_t count, int flags), (fd, bytes, count, flags))
IO(ssize_t, recvfrom,
   (int fd, void *bytes, size_t count, int flags, __SOCKADDR_ARG from, socklen_t *from_bytes),
   (fd, bytes, count, flags, from, from_bytes))
IO(ssize_t, recvmsg, (int fd, struct msghdr *message, int flags), (fd, message, flags))
IO(int, recvmmsg,
   (int fd, struct mmsghdr *messages, unsigned count, int flags, struct timespec *most),
   (fd, messages, count, flags, most))
IO(ssize_t, send, (int fd, const void *bytes, size_t count, int flags), (fd, bytes, count, flags))
IO(ssize_t, sendto,
   (int fd, const void *bytes, size_t count, int flags, __CONST_SOCKADDR_ARG to,
    socklen_t to_bytes),
   (fd, bytes, count, flags, to, to_bytes))
IO(ssize_t, sendmsg, (int fd, const struct msghdr *message, int flags), (fd, message, flags))
IO(int, sendmmsg, (int fd, struct mmsghdr *messages, unsigned count, int flags),
   (fd, messages, count, flags))

IO(int, poll, (struct pollfd * fds, nfds_t count, int ms), (fds, count, ms))
IO(int, ppoll,
   (struct pollfd * fds, nfds_t count, const struct timespec *most, const sigset_t *mask),
   (fds, count, most, mask))
IO(int, select, (int count, fd_set *read, fd_set *write, fd_set *special, struct timeval *most),
   (count, read, write, special, most))
IO(int, pselect,
   (int count, fd_set *read, fd_set *write, fd_set *special, const struct timespec *most,
    const sigset_t *mask),
   (count, read, write, special, most, mask))
IO(int, epoll_wait, (int fd, struct epoll_event *events, int count, int ms),
   (fd, events, count, ms))
IO(int, epoll_pwait, (int fd, struct epoll_event *events, int count, int ms, const sigset_t *mask),
   (fd, events, count, ms, mask))
IO(int, epoll_pwait2,
   (int fd, struct epoll_event *events, int count, const struct timespec *most,
    const sigset_t *mask),
   (fd, events, count, most, mask))
IO(int, getaddrinfo,
   (const char *node, const char *service, const struct addrinfo *hints, struct addrinfo **found),
   (node, service, hints, found))

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

IO(ssize_t, __read_chk, (int fd, void *bytes, size_t count, size_t room), (fd, bytes, count, room))
IO(ssize_t, __pread_chk, (int fd, void *bytes, size_t count, off_t at, size_t room),
   (fd, bytes, count, at, room))
IO(ssize_t, __pread64_chk, (int fd, void *bytes, size_t count, off64_t at, size_t room),
   (fd, bytes, count, at, room))
IO(ssize_t, __recv_chk, (int fd, void *bytes, size_t count, size_t room, int flags),
   (fd, bytes, count, room, flags))
IO(ssize_t, __recvfrom_chk,
   (int fd, void *bytes, size_t count, size_t room, int flags, __SOCKADDR_ARG from,
    socklen_t *from_bytes),
   (fd, bytes, count, room, flags, from, from_bytes))
IO(int, __poll_chk, (struct pollfd * fds, nfds_t count, int ms, size_t room),
   (fds, count, ms, room))
IO(int, __ppoll_chk,
   (struct pollfd * fds, nfds_t count, const struct timespec *most, const sigset_t *mask,
    size_t room),
   (fds, count, most, mask, room))

/* ---- streams: only where their buffers are empty; the C library reads with none of the above ----
 */

static bool is_empty(const FILE *stream)
{
    return stream->_IO_read_ptr >= stream->_IO_read_end;
}

#define FROM_STREAM(type, name, parameters, arguments)                                             \
    WAITS_IF(is_empty(stream), type, name, METRIC_IO_WAIT, parameters, arguments)

ssize_t __getdelim(char **line, size_t *room, int end, FILE *stream);
char *__fgets_chk(char *line, size_t room, int count, FILE *stream);
size_t __fread_chk(void *items, size_t room, size_t bytes, size_t count, FILE *stream);

FROM_STREAM(char *, fgets, (char *line, int count, FILE *stream), (line, count, stream))
FROM_STREAM(char *, __fgets_chk, (char *line, size_t room, int count, FILE *stream),
            (line, room, count, stream))
FROM_STREAM(size_t, fread, (void *items, size_t bytes, size_t count, FILE *stream),
            (items, bytes, count, stream))
FROM_STREAM(size_t, __fread_chk,
            (void *items, size_t room, size_t bytes, size_t count, FILE *stream),
            (items, room, bytes, count, stream))
FROM_STREAM(int, fgetc, (FILE * stream), (stream))
FROM_STREAM(int, getc, (FILE * stream), (stream))
FROM_STREAM(ssize_t, getline, (char **line, size_t *room, FILE *stream), (line, room, stream))
FROM_STREAM(ssize_t, getdelim, (char **line, size_t *room, int end, FILE *stream),
            (line, room, end, stream))
FROM_STREAM(ssize_t, __getdelim, (char **line, size_t *room, int end, FILE *stream),
            (line, room, end, stream))
IO(int, fflush, (FILE * stream), (stream))

/* ---- ends of processes ---- */

IO(pid_t, wait, (int *status), (status))
IO(pid_t, waitpid, (pid_t pid, int *status, int flags), (pid, status, flags))
IO(pid_t, wait3, (int *status, int flags, struct rusage *usage), (status, flags, usage))
IO(pid_t, wait4, (pid_t pid, int *status, int flags, struct rusage *usage),
   (pid, status, flags, usage))
IO(int, waitid, (idtype_t kind, id_t id, siginfo_t *info, int flags), (kind, id, info, flags))
IO(int, system, (const char *command), (command))
IO(int, pclose, (FILE * stream), (stream))

/* NOLINTEND(readability-inconsistent-declaration-parameter-name) */
