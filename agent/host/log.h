/* Lines on stderr, each prefixed `treadle: ` and written in one piece. Any thread; not in hooks. */
#ifndef TREADLE_LOG_H
#define TREADLE_LOG_H

enum log_level {
    LOG_ERROR,
    LOG_WARN,
    LOG_INFO,
    LOG_DEBUG,
};

void log__set_level(enum log_level level);
void log__line(enum log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Copies what the calling thread logs from here to the end to an existing file, of the user who
 * sent the request; NULL: no file. */
void log__begin_answer(const char *path);

/* Writes to that file only. */
void log__answer(const char *line);
void log__end_answer(void);

#endif
