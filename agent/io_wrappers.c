#include "agent/io_wrappers.h"

#include "agent/agent.h"
#include "agent/threads/thread_waits.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define REASON_BYTES 128

enum slot {
    OPEN_INPUT,
    READ_INPUT_BYTE,
    READ_INPUT,
    OPEN_OUTPUT,
    WRITE_OUTPUT_BYTE,
    WRITE_OUTPUT,
    OPEN_FILE,
    READ_FILE_BYTE,
    READ_FILE,
    WRITE_FILE_BYTE,
    WRITE_FILE,
    SET_FILE_LENGTH,
    SYNC_FILE,
    CLOSE_FILE,
    OPEN_PATH,
    OPEN_PATH_AT,
    OPEN_FOLDER,
    READ_FOLDER,
    READ_PATH,
    WRITE_PATH,
    LINK_PATH,
    SYMLINK_PATH,
    RENAME_PATH,
    RENAME_PATH_AT,
    UNLINK_PATH,
    UNLINK_PATH_AT,
    MAKE_FOLDER,
    REMOVE_FOLDER,
    FIND_USER,
    FIND_GROUP,
    FIND_USER_NAME,
    FIND_GROUP_NAME,
    CREATE_FILE,
    DELETE_FILE,
    RENAME_FILE,
    LIST_FILES,
    CREATE_FOLDER,
    CHANNEL_READ,
    CHANNEL_PREAD,
    CHANNEL_READV,
    CHANNEL_WRITE,
    CHANNEL_PWRITE,
    CHANNEL_WRITEV,
    CHANNEL_FORCE,
    CHANNEL_LOCK,
    CHANNEL_TRUNCATE,
    CHANNEL_CLOSE,
    FORCE_MAPPED,
    TRANSFER_ON_17,
    TRANSFER_TO,
    TRANSFER_FROM,
    COPY_DIRECTLY,
    COPY_BUFFERED,
    COPY_ON_17,
    WATCH,
    SOCKET_READ,
    SOCKET_READV,
    SOCKET_WRITE,
    SOCKET_WRITEV,
    DATAGRAM_READ,
    DATAGRAM_READV,
    DATAGRAM_WRITE,
    DATAGRAM_WRITEV,
    DATAGRAM_RECEIVE,
    DATAGRAM_SEND,
    CONNECT,
    POLL_CONNECT,
    ACCEPT,
    POLL,
    EPOLL_WAIT,
    POLL_SELECT,
    UNIX_CONNECT,
    UNIX_ACCEPT,
    PLAIN_CONNECT,
    PLAIN_ACCEPT,
    PLAIN_READ,
    PLAIN_WRITE,
    PLAIN_RECEIVE,
    PLAIN_SEND,
    PLAIN_PEEK,
    PLAIN_PEEK_DATA,
    LOOK_UP,
    LOOK_UP_SOME,
    LOOK_UP_IPV4,
    LOOK_UP_NAME,
    LOOK_UP_NAME_IPV4,
    REACH,
    REACH_IPV4,
    WAIT_FOR_PROCESS,
    START_PROCESS,
    SLOTS,
};

_Static_assert(SLOTS <= IO_SLOTS_MAX, "an address for each slot");

static void *begin(JNIEnv *jni, enum slot slot)
{
    thread_waits__begin(&treadle_agent.java_threads, jni, METRIC_IO_WAIT);
    return io_natives__address(&treadle_agent.java_threads, slot);
}

static void end(JNIEnv *jni)
{
    thread_waits__end(&treadle_agent.java_threads, jni, METRIC_IO_WAIT);
}

/* A function cannot do: each native needs one of its own, of its type. An exception may be pending
 * when the native returns. */
#define WRAPPER_IF(may_wait, type, slot, parameters, arguments)                                    \
    static type JNICALL wrapper_of_##slot parameters                                               \
    {                                                                                              \
        bool is_wait = (may_wait);                                                                 \
        void *address =                                                                            \
            is_wait ? begin(jni, slot) : io_natives__address(&treadle_agent.java_threads, slot);   \
        __typeof__(wrapper_of_##slot) *native;                                                     \
        type result;                                                                               \
                                                                                                   \
        memcpy(&native, &address, sizeof(native));                                                 \
        result = native arguments;                                                                 \
        if (is_wait)                                                                               \
            end(jni);                                                                              \
        return result;                                                                             \
    }

#define WRAPPER(type, slot, parameters, arguments)                                                 \
    WRAPPER_IF(true, type, slot, parameters, arguments)

#define VOID_WRAPPER(slot, parameters, arguments)                                                  \
    static void JNICALL wrapper_of_##slot parameters                                               \
    {                                                                                              \
        void *address = begin(jni, slot);                                                          \
        __typeof__(wrapper_of_##slot) *native;                                                     \
                                                                                                   \
        memcpy(&native, &address, sizeof(native));                                                 \
        native arguments;                                                                          \
        end(jni);                                                                                  \
    }

/* Shapes that several natives have; `self` is the object or the class. */
#define THIS_ONLY         (JNIEnv * jni, jobject self)
#define THIS_ONLY_GIVEN   (jni, self)
#define ARRAY             (JNIEnv * jni, jobject self, jbyteArray bytes, jint offset, jint count)
#define ARRAY_GIVEN       (jni, self, bytes, offset, count)
#define BUFFER            (JNIEnv * jni, jobject self, jobject fd, jlong address_of, jint count)
#define BUFFER_GIVEN      (jni, self, fd, address_of, count)
#define BUFFER_AT         (JNIEnv * jni, jobject self, jobject fd, jlong address_of, jint count, jlong at)
#define BUFFER_AT_GIVEN   (jni, self, fd, address_of, count, at)
#define OBJECT            (JNIEnv * jni, jobject self, jobject object)
#define OBJECT_GIVEN      (jni, self, object)
#define LONG              (JNIEnv * jni, jobject self, jlong value)
#define LONG_GIVEN        (jni, self, value)
#define LONGS             (JNIEnv * jni, jclass self, jlong first, jlong second)
#define LONGS_GIVEN       (jni, self, first, second)
#define NUMBER            (JNIEnv * jni, jclass self, jint number)
#define NUMBER_GIVEN      (jni, self, number)
#define PATH_BUFFER       (JNIEnv * jni, jclass self, jint fd, jlong address_of, jint count)
#define PATH_BUFFER_GIVEN (jni, self, fd, address_of, count)

VOID_WRAPPER(OPEN_INPUT, OBJECT, OBJECT_GIVEN)
WRAPPER(jint, READ_INPUT_BYTE, THIS_ONLY, THIS_ONLY_GIVEN)
WRAPPER(jint, READ_INPUT, ARRAY, ARRAY_GIVEN)
VOID_WRAPPER(OPEN_OUTPUT, (JNIEnv * jni, jobject self, jstring path, jboolean append),
             (jni, self, path, append))
VOID_WRAPPER(WRITE_OUTPUT_BYTE, (JNIEnv * jni, jobject self, jint byte, jboolean append),
             (jni, self, byte, append))
VOID_WRAPPER(WRITE_OUTPUT,
             (JNIEnv * jni, jobject self, jbyteArray bytes, jint offset, jint count,
              jboolean append),
             (jni, self, bytes, offset, count, append))
VOID_WRAPPER(OPEN_FILE, (JNIEnv * jni, jobject self, jstring path, jint mode),
             (jni, self, path, mode))
WRAPPER(jint, READ_FILE_BYTE, THIS_ONLY, THIS_ONLY_GIVEN)
WRAPPER(jint, READ_FILE, ARRAY, ARRAY_GIVEN)
VOID_WRAPPER(WRITE_FILE_BYTE, (JNIEnv * jni, jobject self, jint byte), (jni, self, byte))
VOID_WRAPPER(WRITE_FILE, ARRAY, ARRAY_GIVEN)
VOID_WRAPPER(SET_FILE_LENGTH, LONG, LONG_GIVEN)
VOID_WRAPPER(SYNC_FILE, THIS_ONLY, THIS_ONLY_GIVEN)
VOID_WRAPPER(CLOSE_FILE, THIS_ONLY, THIS_ONLY_GIVEN)
WRAPPER(jint, OPEN_PATH, (JNIEnv * jni, jclass self, jlong path, jint flags, jint mode),
        (jni, self, path, flags, mode))
WRAPPER(jint, OPEN_PATH_AT,
        (JNIEnv * jni, jclass self, jint folder, jlong path, jint flags, jint mode),
        (jni, self, folder, path, flags, mode))
WRAPPER(jlong, OPEN_FOLDER, LONG, LONG_GIVEN)
WRAPPER(jobject, READ_FOLDER, LONG, LONG_GIVEN)
WRAPPER(jint, READ_PATH, PATH_BUFFER, PATH_BUFFER_GIVEN)
WRAPPER(jint, WRITE_PATH, PATH_BUFFER, PATH_BUFFER_GIVEN)
VOID_WRAPPER(LINK_PATH, LONGS, LONGS_GIVEN)
VOID_WRAPPER(SYMLINK_PATH, LONGS, LONGS_GIVEN)
VOID_WRAPPER(RENAME_PATH, LONGS, LONGS_GIVEN)
VOID_WRAPPER(RENAME_PATH_AT,
             (JNIEnv * jni, jclass self, jint from, jlong path, jint to, jlong new_path),
             (jni, self, from, path, to, new_path))
VOID_WRAPPER(UNLINK_PATH, LONG, LONG_GIVEN)
VOID_WRAPPER(UNLINK_PATH_AT, (JNIEnv * jni, jclass self, jint folder, jlong path, jint flags),
             (jni, self, folder, path, flags))
VOID_WRAPPER(MAKE_FOLDER, (JNIEnv * jni, jclass self, jlong path, jint mode),
             (jni, self, path, mode))
VOID_WRAPPER(REMOVE_FOLDER, LONG, LONG_GIVEN)
WRAPPER(jobject, FIND_USER, NUMBER, NUMBER_GIVEN)
WRAPPER(jobject, FIND_GROUP, NUMBER, NUMBER_GIVEN)
WRAPPER(jint, FIND_USER_NAME, LONG, LONG_GIVEN)
WRAPPER(jint, FIND_GROUP_NAME, LONG, LONG_GIVEN)
WRAPPER(jboolean, CREATE_FILE, OBJECT, OBJECT_GIVEN)
WRAPPER(jboolean, DELETE_FILE, OBJECT, OBJECT_GIVEN)
WRAPPER(jboolean, RENAME_FILE, (JNIEnv * jni, jobject self, jobject from, jobject to),
        (jni, self, from, to))
WRAPPER(jobject, LIST_FILES, OBJECT, OBJECT_GIVEN)
WRAPPER(jboolean, CREATE_FOLDER, OBJECT, OBJECT_GIVEN)
WRAPPER(jint, CHANNEL_READ, BUFFER, BUFFER_GIVEN)
WRAPPER(jint, CHANNEL_PREAD, BUFFER_AT, BUFFER_AT_GIVEN)
WRAPPER(jlong, CHANNEL_READV, BUFFER, BUFFER_GIVEN)
WRAPPER(jint, CHANNEL_WRITE, BUFFER, BUFFER_GIVEN)
WRAPPER(jint, CHANNEL_PWRITE, BUFFER_AT, BUFFER_AT_GIVEN)
WRAPPER(jlong, CHANNEL_WRITEV, BUFFER, BUFFER_GIVEN)
WRAPPER(jint, CHANNEL_FORCE, (JNIEnv * jni, jclass self, jobject fd, jboolean metadata),
        (jni, self, fd, metadata))
WRAPPER(jint, CHANNEL_LOCK,
        (JNIEnv * jni, jclass self, jobject fd, jboolean blocks, jlong at, jlong size,
         jboolean shared),
        (jni, self, fd, blocks, at, size, shared))
WRAPPER(jint, CHANNEL_TRUNCATE, (JNIEnv * jni, jclass self, jobject fd, jlong size),
        (jni, self, fd, size))
VOID_WRAPPER(CHANNEL_CLOSE, OBJECT, OBJECT_GIVEN)

/* What MappedMemoryUtils.force0 of the JDK does, to the words of its exception. */
static void JNICALL write_mapped(JNIEnv *jni, jclass self, jobject fd, jlong address_of,
                                 jlong count)
{
    char buffer[REASON_BYTES], message[2 * REASON_BYTES];
    const char *reason;
    jclass class;

    (void)self, (void)fd;
    if (msync((void *)(uintptr_t)address_of, (size_t)count, MS_SYNC) == 0)
        return;
    reason = strerror_r(errno, buffer, sizeof(buffer));
    (void)snprintf(message, sizeof(message), "%s (msync with parameter MS_SYNC failed)", reason);
    class = (*jni)->FindClass(jni, "java/io/IOException");
    if (class)
        (*jni)->ThrowNew(jni, class, message);
}

VOID_WRAPPER(FORCE_MAPPED, (JNIEnv * jni, jclass self, jobject fd, jlong address_of, jlong count),
             (jni, self, fd, address_of, count))
WRAPPER(jlong, TRANSFER_ON_17,
        (JNIEnv * jni, jobject self, jobject from, jlong at, jlong count, jobject to),
        (jni, self, from, at, count, to))
WRAPPER(jlong, TRANSFER_TO,
        (JNIEnv * jni, jclass self, jobject from, jlong at, jlong count, jobject to,
         jboolean append),
        (jni, self, from, at, count, to, append))
WRAPPER(jlong, TRANSFER_FROM,
        (JNIEnv * jni, jclass self, jobject from, jobject to, jlong at, jlong count,
         jboolean append),
        (jni, self, from, to, at, count, append))
WRAPPER(jint, COPY_DIRECTLY, (JNIEnv * jni, jclass self, jint to, jint from, jlong cancel),
        (jni, self, to, from, cancel))
VOID_WRAPPER(COPY_BUFFERED,
             (JNIEnv * jni, jclass self, jint to, jint from, jlong buffer, jint size, jlong cancel),
             (jni, self, to, from, buffer, size, cancel))
VOID_WRAPPER(COPY_ON_17, (JNIEnv * jni, jclass self, jint to, jint from, jlong cancel),
             (jni, self, to, from, cancel))
WRAPPER(jint, WATCH, (JNIEnv * jni, jclass self, jint first, jint second),
        (jni, self, first, second))
WRAPPER(jint, SOCKET_READ, BUFFER, BUFFER_GIVEN)
WRAPPER(jlong, SOCKET_READV, BUFFER, BUFFER_GIVEN)
WRAPPER(jint, SOCKET_WRITE, BUFFER, BUFFER_GIVEN)
WRAPPER(jlong, SOCKET_WRITEV, BUFFER, BUFFER_GIVEN)
WRAPPER(jint, DATAGRAM_READ, BUFFER, BUFFER_GIVEN)
WRAPPER(jlong, DATAGRAM_READV, BUFFER, BUFFER_GIVEN)
WRAPPER(jint, DATAGRAM_WRITE, BUFFER, BUFFER_GIVEN)
WRAPPER(jlong, DATAGRAM_WRITEV, BUFFER, BUFFER_GIVEN)
WRAPPER(jint, DATAGRAM_RECEIVE,
        (JNIEnv * jni, jclass self, jobject fd, jlong buffer, jint count, jlong sender,
         jboolean connected),
        (jni, self, fd, buffer, count, sender, connected))
WRAPPER(jint, DATAGRAM_SEND,
        (JNIEnv * jni, jclass self, jobject fd, jlong buffer, jint count, jlong target,
         jint target_bytes),
        (jni, self, fd, buffer, count, target, target_bytes))
WRAPPER(jint, CONNECT,
        (JNIEnv * jni, jclass self, jboolean is_ipv6, jobject fd, jobject host, jint port),
        (jni, self, is_ipv6, fd, host, port))
WRAPPER_IF(timeout_ms != 0, jboolean, POLL_CONNECT,
           (JNIEnv * jni, jclass self, jobject fd, jlong timeout_ms), (jni, self, fd, timeout_ms))
WRAPPER(jint, ACCEPT, (JNIEnv * jni, jclass self, jobject fd, jobject accepted, jobjectArray peer),
        (jni, self, fd, accepted, peer))
WRAPPER_IF(timeout_ms != 0, jint, POLL,
           (JNIEnv * jni, jclass self, jobject fd, jint events, jlong timeout_ms),
           (jni, self, fd, events, timeout_ms))
WRAPPER_IF(timeout_ms != 0, jint, EPOLL_WAIT,
           (JNIEnv * jni, jclass self, jint fd, jlong events, jint count, jint timeout_ms),
           (jni, self, fd, events, count, timeout_ms))
WRAPPER_IF(timeout_ms != 0, jint, POLL_SELECT,
           (JNIEnv * jni, jclass self, jlong fds, jint count, jint timeout_ms),
           (jni, self, fds, count, timeout_ms))
WRAPPER(jint, UNIX_CONNECT, (JNIEnv * jni, jclass self, jobject fd, jbyteArray path),
        (jni, self, fd, path))
WRAPPER(jint, UNIX_ACCEPT,
        (JNIEnv * jni, jclass self, jobject fd, jobject accepted, jobjectArray peer),
        (jni, self, fd, accepted, peer))
VOID_WRAPPER(PLAIN_CONNECT, (JNIEnv * jni, jobject self, jobject host, jint port, jint timeout_ms),
             (jni, self, host, port, timeout_ms))
VOID_WRAPPER(PLAIN_ACCEPT, OBJECT, OBJECT_GIVEN)
WRAPPER(jint, PLAIN_READ,
        (JNIEnv * jni, jobject self, jobject fd, jbyteArray bytes, jint offset, jint count,
         jint timeout_ms),
        (jni, self, fd, bytes, offset, count, timeout_ms))
VOID_WRAPPER(PLAIN_WRITE,
             (JNIEnv * jni, jobject self, jobject fd, jbyteArray bytes, jint offset, jint count),
             (jni, self, fd, bytes, offset, count))
VOID_WRAPPER(PLAIN_RECEIVE, OBJECT, OBJECT_GIVEN)
VOID_WRAPPER(PLAIN_SEND, OBJECT, OBJECT_GIVEN)
WRAPPER(jint, PLAIN_PEEK, OBJECT, OBJECT_GIVEN)
WRAPPER(jint, PLAIN_PEEK_DATA, OBJECT, OBJECT_GIVEN)
WRAPPER(jobject, LOOK_UP, OBJECT, OBJECT_GIVEN)
WRAPPER(jobject, LOOK_UP_SOME, (JNIEnv * jni, jobject self, jstring host, jint kinds),
        (jni, self, host, kinds))
WRAPPER(jobject, LOOK_UP_IPV4, OBJECT, OBJECT_GIVEN)
WRAPPER(jobject, LOOK_UP_NAME, OBJECT, OBJECT_GIVEN)
WRAPPER(jobject, LOOK_UP_NAME_IPV4, OBJECT, OBJECT_GIVEN)
WRAPPER(jboolean, REACH,
        (JNIEnv * jni, jobject self, jbyteArray host, jint scope, jint timeout_ms,
         jbyteArray interface, jint hops, jint interface_scope),
        (jni, self, host, scope, timeout_ms, interface, hops, interface_scope))
WRAPPER(jboolean, REACH_IPV4,
        (JNIEnv * jni, jobject self, jbyteArray host, jint timeout_ms, jbyteArray interface,
         jint hops),
        (jni, self, host, timeout_ms, interface, hops))
WRAPPER(jint, WAIT_FOR_PROCESS, (JNIEnv * jni, jclass self, jlong pid, jboolean reap),
        (jni, self, pid, reap))
WRAPPER(jint, START_PROCESS,
        (JNIEnv * jni, jobject self, jint mode, jbyteArray helper, jbyteArray program,
         jbyteArray arguments, jint argument_count, jbyteArray variables, jint variable_count,
         jbyteArray folder, jintArray fds, jboolean merges_output),
        (jni, self, mode, helper, program, arguments, argument_count, variables, variable_count,
         folder, fds, merges_output))

static const uintptr_t wrappers[SLOTS] = {
    [OPEN_INPUT] = (uintptr_t)wrapper_of_OPEN_INPUT,
    [READ_INPUT_BYTE] = (uintptr_t)wrapper_of_READ_INPUT_BYTE,
    [READ_INPUT] = (uintptr_t)wrapper_of_READ_INPUT,
    [OPEN_OUTPUT] = (uintptr_t)wrapper_of_OPEN_OUTPUT,
    [WRITE_OUTPUT_BYTE] = (uintptr_t)wrapper_of_WRITE_OUTPUT_BYTE,
    [WRITE_OUTPUT] = (uintptr_t)wrapper_of_WRITE_OUTPUT,
    [OPEN_FILE] = (uintptr_t)wrapper_of_OPEN_FILE,
    [READ_FILE_BYTE] = (uintptr_t)wrapper_of_READ_FILE_BYTE,
    [READ_FILE] = (uintptr_t)wrapper_of_READ_FILE,
    [WRITE_FILE_BYTE] = (uintptr_t)wrapper_of_WRITE_FILE_BYTE,
    [WRITE_FILE] = (uintptr_t)wrapper_of_WRITE_FILE,
    [SET_FILE_LENGTH] = (uintptr_t)wrapper_of_SET_FILE_LENGTH,
    [SYNC_FILE] = (uintptr_t)wrapper_of_SYNC_FILE,
    [CLOSE_FILE] = (uintptr_t)wrapper_of_CLOSE_FILE,
    [OPEN_PATH] = (uintptr_t)wrapper_of_OPEN_PATH,
    [OPEN_PATH_AT] = (uintptr_t)wrapper_of_OPEN_PATH_AT,
    [OPEN_FOLDER] = (uintptr_t)wrapper_of_OPEN_FOLDER,
    [READ_FOLDER] = (uintptr_t)wrapper_of_READ_FOLDER,
    [READ_PATH] = (uintptr_t)wrapper_of_READ_PATH,
    [WRITE_PATH] = (uintptr_t)wrapper_of_WRITE_PATH,
    [LINK_PATH] = (uintptr_t)wrapper_of_LINK_PATH,
    [SYMLINK_PATH] = (uintptr_t)wrapper_of_SYMLINK_PATH,
    [RENAME_PATH] = (uintptr_t)wrapper_of_RENAME_PATH,
    [RENAME_PATH_AT] = (uintptr_t)wrapper_of_RENAME_PATH_AT,
    [UNLINK_PATH] = (uintptr_t)wrapper_of_UNLINK_PATH,
    [UNLINK_PATH_AT] = (uintptr_t)wrapper_of_UNLINK_PATH_AT,
    [MAKE_FOLDER] = (uintptr_t)wrapper_of_MAKE_FOLDER,
    [REMOVE_FOLDER] = (uintptr_t)wrapper_of_REMOVE_FOLDER,
    [FIND_USER] = (uintptr_t)wrapper_of_FIND_USER,
    [FIND_GROUP] = (uintptr_t)wrapper_of_FIND_GROUP,
    [FIND_USER_NAME] = (uintptr_t)wrapper_of_FIND_USER_NAME,
    [FIND_GROUP_NAME] = (uintptr_t)wrapper_of_FIND_GROUP_NAME,
    [CREATE_FILE] = (uintptr_t)wrapper_of_CREATE_FILE,
    [DELETE_FILE] = (uintptr_t)wrapper_of_DELETE_FILE,
    [RENAME_FILE] = (uintptr_t)wrapper_of_RENAME_FILE,
    [LIST_FILES] = (uintptr_t)wrapper_of_LIST_FILES,
    [CREATE_FOLDER] = (uintptr_t)wrapper_of_CREATE_FOLDER,
    [CHANNEL_READ] = (uintptr_t)wrapper_of_CHANNEL_READ,
    [CHANNEL_PREAD] = (uintptr_t)wrapper_of_CHANNEL_PREAD,
    [CHANNEL_READV] = (uintptr_t)wrapper_of_CHANNEL_READV,
    [CHANNEL_WRITE] = (uintptr_t)wrapper_of_CHANNEL_WRITE,
    [CHANNEL_PWRITE] = (uintptr_t)wrapper_of_CHANNEL_PWRITE,
    [CHANNEL_WRITEV] = (uintptr_t)wrapper_of_CHANNEL_WRITEV,
    [CHANNEL_FORCE] = (uintptr_t)wrapper_of_CHANNEL_FORCE,
    [CHANNEL_LOCK] = (uintptr_t)wrapper_of_CHANNEL_LOCK,
    [CHANNEL_TRUNCATE] = (uintptr_t)wrapper_of_CHANNEL_TRUNCATE,
    [CHANNEL_CLOSE] = (uintptr_t)wrapper_of_CHANNEL_CLOSE,
    [FORCE_MAPPED] = (uintptr_t)wrapper_of_FORCE_MAPPED,
    [TRANSFER_ON_17] = (uintptr_t)wrapper_of_TRANSFER_ON_17,
    [TRANSFER_TO] = (uintptr_t)wrapper_of_TRANSFER_TO,
    [TRANSFER_FROM] = (uintptr_t)wrapper_of_TRANSFER_FROM,
    [COPY_DIRECTLY] = (uintptr_t)wrapper_of_COPY_DIRECTLY,
    [COPY_BUFFERED] = (uintptr_t)wrapper_of_COPY_BUFFERED,
    [COPY_ON_17] = (uintptr_t)wrapper_of_COPY_ON_17,
    [WATCH] = (uintptr_t)wrapper_of_WATCH,
    [SOCKET_READ] = (uintptr_t)wrapper_of_SOCKET_READ,
    [SOCKET_READV] = (uintptr_t)wrapper_of_SOCKET_READV,
    [SOCKET_WRITE] = (uintptr_t)wrapper_of_SOCKET_WRITE,
    [SOCKET_WRITEV] = (uintptr_t)wrapper_of_SOCKET_WRITEV,
    [DATAGRAM_READ] = (uintptr_t)wrapper_of_DATAGRAM_READ,
    [DATAGRAM_READV] = (uintptr_t)wrapper_of_DATAGRAM_READV,
    [DATAGRAM_WRITE] = (uintptr_t)wrapper_of_DATAGRAM_WRITE,
    [DATAGRAM_WRITEV] = (uintptr_t)wrapper_of_DATAGRAM_WRITEV,
    [DATAGRAM_RECEIVE] = (uintptr_t)wrapper_of_DATAGRAM_RECEIVE,
    [DATAGRAM_SEND] = (uintptr_t)wrapper_of_DATAGRAM_SEND,
    [CONNECT] = (uintptr_t)wrapper_of_CONNECT,
    [POLL_CONNECT] = (uintptr_t)wrapper_of_POLL_CONNECT,
    [ACCEPT] = (uintptr_t)wrapper_of_ACCEPT,
    [POLL] = (uintptr_t)wrapper_of_POLL,
    [EPOLL_WAIT] = (uintptr_t)wrapper_of_EPOLL_WAIT,
    [POLL_SELECT] = (uintptr_t)wrapper_of_POLL_SELECT,
    [UNIX_CONNECT] = (uintptr_t)wrapper_of_UNIX_CONNECT,
    [UNIX_ACCEPT] = (uintptr_t)wrapper_of_UNIX_ACCEPT,
    [PLAIN_CONNECT] = (uintptr_t)wrapper_of_PLAIN_CONNECT,
    [PLAIN_ACCEPT] = (uintptr_t)wrapper_of_PLAIN_ACCEPT,
    [PLAIN_READ] = (uintptr_t)wrapper_of_PLAIN_READ,
    [PLAIN_WRITE] = (uintptr_t)wrapper_of_PLAIN_WRITE,
    [PLAIN_RECEIVE] = (uintptr_t)wrapper_of_PLAIN_RECEIVE,
    [PLAIN_SEND] = (uintptr_t)wrapper_of_PLAIN_SEND,
    [PLAIN_PEEK] = (uintptr_t)wrapper_of_PLAIN_PEEK,
    [PLAIN_PEEK_DATA] = (uintptr_t)wrapper_of_PLAIN_PEEK_DATA,
    [LOOK_UP] = (uintptr_t)wrapper_of_LOOK_UP,
    [LOOK_UP_SOME] = (uintptr_t)wrapper_of_LOOK_UP_SOME,
    [LOOK_UP_IPV4] = (uintptr_t)wrapper_of_LOOK_UP_IPV4,
    [LOOK_UP_NAME] = (uintptr_t)wrapper_of_LOOK_UP_NAME,
    [LOOK_UP_NAME_IPV4] = (uintptr_t)wrapper_of_LOOK_UP_NAME_IPV4,
    [REACH] = (uintptr_t)wrapper_of_REACH,
    [REACH_IPV4] = (uintptr_t)wrapper_of_REACH_IPV4,
    [WAIT_FOR_PROCESS] = (uintptr_t)wrapper_of_WAIT_FOR_PROCESS,
    [START_PROCESS] = (uintptr_t)wrapper_of_START_PROCESS,
};

static const uintptr_t stand_ins[SLOTS] = {[FORCE_MAPPED] = (uintptr_t)write_mapped};

#define FD            "Ljava/io/FileDescriptor;"
#define BUFFER_INT    "(" FD "JI)I"
#define BUFFER_LONG   "(" FD "JI)J"
#define BUFFER_AT_INT "(" FD "JIJ)I"

#define FILE_INPUT       "java/io/FileInputStream"
#define FILE_OUTPUT      "java/io/FileOutputStream"
#define RANDOM_FILE      "java/io/RandomAccessFile"
#define FILES_ON_17      "sun/nio/ch/FileDispatcherImpl"
#define FILES            "sun/nio/ch/UnixFileDispatcherImpl"
#define SOCKETS          "sun/nio/ch/SocketDispatcher"
#define DATAGRAMS        "sun/nio/ch/DatagramDispatcher"
#define DATAGRAM_CHANNEL "sun/nio/ch/DatagramChannelImpl"
#define NET              "sun/nio/ch/Net"
#define UNIX_SOCKETS     "sun/nio/ch/UnixDomainSockets"
#define MAPPED           "java/nio/MappedMemoryUtils"
#define PATHS            "sun/nio/fs/UnixNativeDispatcher"
#define OLD_FILES        "java/io/UnixFileSystem"
#define PLAIN_SOCKETS    "java/net/PlainSocketImpl"
#define PLAIN_DATAGRAMS  "java/net/PlainDatagramSocketImpl"
#define IPV4             "java/net/Inet4AddressImpl"
#define IPV6             "java/net/Inet6AddressImpl"

/* What JDK 17 and JDK 25 have. Those are left out that only look at files and folders (stat,
 * access, realpath): nearly always the kernel answers them from memory, and they are called very
 * often. */
static const struct io_native rows[] = {
    {OPEN_INPUT, FILE_INPUT, "open0", "(Ljava/lang/String;)V"},
    {READ_INPUT_BYTE, FILE_INPUT, "read0", "()I"},
    {READ_INPUT, FILE_INPUT, "readBytes", "([BII)I"},
    {OPEN_OUTPUT, FILE_OUTPUT, "open0", "(Ljava/lang/String;Z)V"},
    {WRITE_OUTPUT_BYTE, FILE_OUTPUT, "write", "(IZ)V"},
    {WRITE_OUTPUT, FILE_OUTPUT, "writeBytes", "([BIIZ)V"},
    {OPEN_FILE, RANDOM_FILE, "open0", "(Ljava/lang/String;I)V"},
    {READ_FILE_BYTE, RANDOM_FILE, "read0", "()I"},
    {READ_FILE, RANDOM_FILE, "readBytes", "([BII)I"},
    {READ_FILE, RANDOM_FILE, "readBytes0", "([BII)I"},
    {WRITE_FILE_BYTE, RANDOM_FILE, "write0", "(I)V"},
    {WRITE_FILE, RANDOM_FILE, "writeBytes", "([BII)V"},
    {WRITE_FILE, RANDOM_FILE, "writeBytes0", "([BII)V"},
    {SET_FILE_LENGTH, RANDOM_FILE, "setLength", "(J)V"},
    {SET_FILE_LENGTH, RANDOM_FILE, "setLength0", "(J)V"},
    {SYNC_FILE, "java/io/FileDescriptor", "sync", "()V"},
    {SYNC_FILE, "java/io/FileDescriptor", "sync0", "()V"},
    {CLOSE_FILE, "java/io/FileDescriptor", "close0", "()V"},
    {OPEN_PATH, PATHS, "open0", "(JII)I"},
    {OPEN_PATH_AT, PATHS, "openat0", "(IJII)I"},
    {OPEN_FOLDER, PATHS, "opendir0", "(J)J"},
    {READ_FOLDER, PATHS, "readdir", "(J)[B"},
    {READ_FOLDER, PATHS, "readdir0", "(J)[B"},
    {READ_PATH, PATHS, "read", "(IJI)I"},
    {READ_PATH, PATHS, "read0", "(IJI)I"},
    {WRITE_PATH, PATHS, "write", "(IJI)I"},
    {WRITE_PATH, PATHS, "write0", "(IJI)I"},
    {LINK_PATH, PATHS, "link0", "(JJ)V"},
    {SYMLINK_PATH, PATHS, "symlink0", "(JJ)V"},
    {RENAME_PATH, PATHS, "rename0", "(JJ)V"},
    {RENAME_PATH_AT, PATHS, "renameat0", "(IJIJ)V"},
    {UNLINK_PATH, PATHS, "unlink0", "(J)V"},
    {UNLINK_PATH_AT, PATHS, "unlinkat0", "(IJI)V"},
    {MAKE_FOLDER, PATHS, "mkdir0", "(JI)V"},
    {REMOVE_FOLDER, PATHS, "rmdir0", "(J)V"},
    {FIND_USER, PATHS, "getpwuid", "(I)[B"},
    {FIND_GROUP, PATHS, "getgrgid", "(I)[B"},
    {FIND_USER_NAME, PATHS, "getpwnam0", "(J)I"},
    {FIND_GROUP_NAME, PATHS, "getgrnam0", "(J)I"},
    {CREATE_FILE, OLD_FILES, "createFileExclusively", "(Ljava/lang/String;)Z"},
    {CREATE_FILE, OLD_FILES, "createFileExclusively0", "(Ljava/lang/String;)Z"},
    {DELETE_FILE, OLD_FILES, "delete0", "(Ljava/io/File;)Z"},
    {RENAME_FILE, OLD_FILES, "rename0", "(Ljava/io/File;Ljava/io/File;)Z"},
    {LIST_FILES, OLD_FILES, "list", "(Ljava/io/File;)[Ljava/lang/String;"},
    {LIST_FILES, OLD_FILES, "list0", "(Ljava/io/File;)[Ljava/lang/String;"},
    {CREATE_FOLDER, OLD_FILES, "createDirectory", "(Ljava/io/File;)Z"},
    {CREATE_FOLDER, OLD_FILES, "createDirectory0", "(Ljava/io/File;)Z"},
    {CHANNEL_READ, FILES_ON_17, "read0", BUFFER_INT},
    {CHANNEL_PREAD, FILES_ON_17, "pread0", BUFFER_AT_INT},
    {CHANNEL_READV, FILES_ON_17, "readv0", BUFFER_LONG},
    {CHANNEL_WRITE, FILES_ON_17, "write0", BUFFER_INT},
    {CHANNEL_PWRITE, FILES_ON_17, "pwrite0", BUFFER_AT_INT},
    {CHANNEL_WRITEV, FILES_ON_17, "writev0", BUFFER_LONG},
    {CHANNEL_FORCE, FILES_ON_17, "force0", "(" FD "Z)I"},
    {CHANNEL_LOCK, FILES_ON_17, "lock0", "(" FD "ZJJZ)I"},
    {CHANNEL_TRUNCATE, FILES_ON_17, "truncate0", "(" FD "J)I"},
    {CHANNEL_CLOSE, FILES_ON_17, "close0", "(" FD ")V"},
    {CHANNEL_READ, FILES, "read0", BUFFER_INT},
    {CHANNEL_PREAD, FILES, "pread0", BUFFER_AT_INT},
    {CHANNEL_READV, FILES, "readv0", BUFFER_LONG},
    {CHANNEL_WRITE, FILES, "write0", BUFFER_INT},
    {CHANNEL_PWRITE, FILES, "pwrite0", BUFFER_AT_INT},
    {CHANNEL_WRITEV, FILES, "writev0", BUFFER_LONG},
    {CHANNEL_FORCE, FILES, "force0", "(" FD "Z)I"},
    {CHANNEL_LOCK, FILES, "lock0", "(" FD "ZJJZ)I"},
    {CHANNEL_TRUNCATE, FILES, "truncate0", "(" FD "J)I"},
    {CHANNEL_CLOSE, "sun/nio/ch/UnixDispatcher", "close0", "(" FD ")V"},
    {FORCE_MAPPED, MAPPED, "force0", "(" FD "JJ)V"},
    {TRANSFER_ON_17, "sun/nio/ch/FileChannelImpl", "transferTo0", "(" FD "JJ" FD ")J"},
    {TRANSFER_TO, FILES_ON_17, "transferTo0", "(" FD "JJ" FD "Z)J"},
    {TRANSFER_FROM, FILES_ON_17, "transferFrom0", "(" FD FD "JJZ)J"},
    {COPY_DIRECTLY, "sun/nio/fs/LinuxNativeDispatcher", "directCopy0", "(IIJ)I"},
    {COPY_BUFFERED, "sun/nio/fs/UnixFileSystem", "bufferedCopy0", "(IIJIJ)V"},
    {COPY_ON_17, "sun/nio/fs/UnixCopyFile", "transfer", "(IIJ)V"},
    {WATCH, "sun/nio/fs/LinuxWatchService", "poll", "(II)I"},
    {SOCKET_READ, SOCKETS, "read0", BUFFER_INT},
    {SOCKET_READV, SOCKETS, "readv0", BUFFER_LONG},
    {SOCKET_WRITE, SOCKETS, "write0", BUFFER_INT},
    {SOCKET_WRITEV, SOCKETS, "writev0", BUFFER_LONG},
    {DATAGRAM_READ, DATAGRAMS, "read0", BUFFER_INT},
    {DATAGRAM_READV, DATAGRAMS, "readv0", BUFFER_LONG},
    {DATAGRAM_WRITE, DATAGRAMS, "write0", BUFFER_INT},
    {DATAGRAM_WRITEV, DATAGRAMS, "writev0", BUFFER_LONG},
    {DATAGRAM_RECEIVE, DATAGRAM_CHANNEL, "receive0", "(" FD "JIJZ)I"},
    {DATAGRAM_SEND, DATAGRAM_CHANNEL, "send0", "(" FD "JIJI)I"},
    {CONNECT, NET, "connect0", "(Z" FD "Ljava/net/InetAddress;I)I"},
    {POLL_CONNECT, NET, "pollConnect", "(" FD "J)Z"},
    {ACCEPT, NET, "accept", "(" FD FD "[Ljava/net/InetSocketAddress;)I"},
    {POLL, NET, "poll", "(" FD "IJ)I"},
    {EPOLL_WAIT, "sun/nio/ch/EPoll", "wait", "(IJII)I"},
    {POLL_SELECT, "sun/nio/ch/PollSelectorImpl", "poll", "(JII)I"},
    {UNIX_CONNECT, UNIX_SOCKETS, "connect0", "(" FD "[B)I"},
    {UNIX_ACCEPT, UNIX_SOCKETS, "accept0", "(" FD FD "[Ljava/lang/Object;)I"},
    {PLAIN_CONNECT, PLAIN_SOCKETS, "socketConnect", "(Ljava/net/InetAddress;II)V"},
    {PLAIN_ACCEPT, PLAIN_SOCKETS, "socketAccept", "(Ljava/net/SocketImpl;)V"},
    {PLAIN_READ, "java/net/SocketInputStream", "socketRead0", "(" FD "[BIII)I"},
    {PLAIN_WRITE, "java/net/SocketOutputStream", "socketWrite0", "(" FD "[BII)V"},
    {PLAIN_RECEIVE, PLAIN_DATAGRAMS, "receive0", "(Ljava/net/DatagramPacket;)V"},
    {PLAIN_SEND, PLAIN_DATAGRAMS, "send0", "(Ljava/net/DatagramPacket;)V"},
    {PLAIN_PEEK, PLAIN_DATAGRAMS, "peek", "(Ljava/net/InetAddress;)I"},
    {PLAIN_PEEK_DATA, PLAIN_DATAGRAMS, "peekData", "(Ljava/net/DatagramPacket;)I"},
    {LOOK_UP, IPV6, "lookupAllHostAddr", "(Ljava/lang/String;)[Ljava/net/InetAddress;"},
    {LOOK_UP_SOME, IPV6, "lookupAllHostAddr", "(Ljava/lang/String;I)[Ljava/net/InetAddress;"},
    {LOOK_UP_IPV4, IPV4, "lookupAllHostAddr", "(Ljava/lang/String;)[Ljava/net/InetAddress;"},
    {LOOK_UP_NAME, IPV6, "getHostByAddr", "([B)Ljava/lang/String;"},
    {LOOK_UP_NAME_IPV4, IPV4, "getHostByAddr", "([B)Ljava/lang/String;"},
    {REACH, IPV6, "isReachable0", "([BII[BII)Z"},
    {REACH_IPV4, IPV4, "isReachable0", "([BI[BI)Z"},
    {START_PROCESS, "java/lang/ProcessImpl", "forkAndExec", "(I[B[B[BI[BI[B[IZ)I"},
    {WAIT_FOR_PROCESS, "java/lang/ProcessHandleImpl", "waitForProcessExit0", "(JZ)I"},
};

_Static_assert(sizeof(rows) / sizeof(rows[0]) <= IO_NATIVES_MAX, "room for each");

const struct io_native_table io_wrappers__table = {.rows = rows,
                                                   .count = sizeof(rows) / sizeof(rows[0]),
                                                   .wrappers = wrappers,
                                                   .stand_ins = stand_ins};
